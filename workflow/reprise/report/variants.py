"""Find the variants of an item's text, such as a pair's captions, and the words in which they differ."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

MIN_SHARED = 0.3  # Texts that share less are not variants of each other.
MAX_WORDS = 1000  # Longer texts get no marks, because the comparison takes quadratic time.
TOKEN = re.compile(r"[\w'’-]+|\s+|[^\w\s]")
# Texts that are not compared with others: a question contains its options, and subtitles are no variants.
NOT_COMPARED = ("question", "subtitles")
HALF_TAG = "half"  # names the caption of a pair that an item is about
POSITIVE = "positive"


class Segment(NamedTuple):
    """A part of a text, and whether other variants of the text have something else there."""

    text: str
    differs: bool


class Variant(NamedTuple):
    """A variant of an item's text in segments."""

    name: str
    segments: list[Segment]
    is_right: bool

    @property
    def is_marked(self) -> bool:
        return any(segment.differs for segment in self.segments)


def find_variants(
    texts: Iterable[Mapping[str, str]], answer: str, tags: Iterable[Mapping[str, str]] = ()
) -> list[Variant]:
    """Return the distinct variants of an item's text with their differences marked.

    The caption of the pair's half that the item is about comes first, then the right text.
    """
    names_by_text: dict[str, list[str]] = {}
    for entry in texts:
        names_by_text.setdefault(entry["text"], []).append(entry["name"])
    names_by_text = {text: names for text, names in names_by_text.items() if not set(names) & set(NOT_COMPARED)}
    halves = {tag["text"] for tag in tags if tag["name"] == HALF_TAG}
    variants = [
        Variant(
            names[0],
            mark_differences(text, [variant for variant in names_by_text if variant != text]),
            is_right=POSITIVE in names or answer.lower() in [name.lower() for name in names],
        )
        for text, names in names_by_text.items()
    ]
    is_asked = [bool(halves & set(names)) for names in names_by_text.values()]
    order = sorted(range(len(variants)), key=lambda position: (not is_asked[position], not variants[position].is_right))
    return [variants[position] for position in order]


def mark_differences(text: str, variants: Sequence[str]) -> list[Segment]:
    """Split a text into segments: parts that all variants share, and parts in which one of them differs."""
    tokens = TOKEN.findall(text)
    positions = [position for position, token in enumerate(tokens) if not token.isspace()]
    words = [tokens[position] for position in positions]
    marks = [False] * len(tokens)
    for variant in variants:
        other_words = [token for token in TOKEN.findall(variant) if not token.isspace()]
        if max(len(words), len(other_words)) > MAX_WORDS:
            continue
        unshared = {edit.src_pos for edit in LCSseq.editops(words, other_words) if edit.tag == "delete"}
        if len(words) - len(unshared) >= MIN_SHARED * max(len(words), len(other_words), 1):
            for word_position in unshared:
                marks[positions[word_position]] = True
    return _merge(tokens, marks)


def _merge(tokens: Sequence[str], marks: Sequence[bool]) -> list[Segment]:
    """Merge neighbouring tokens; the space between two marked words is marked too."""
    segments: list[Segment] = []
    for position, token in enumerate(tokens):
        differs = marks[position]
        if token.isspace():
            differs = 0 < position < len(tokens) - 1 and marks[position - 1] and marks[position + 1]
        if segments and segments[-1].differs == differs:
            segments[-1] = Segment(segments[-1].text + token, differs)
        else:
            segments.append(Segment(token, differs))
    return segments
