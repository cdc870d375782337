"""Options among which the right caption is, or is not, the one that the others resemble (TemporalBench, section 3.3).

The paper's negatives of a negative are not released. Here they are joined from released ones: two negatives that alter
a caption at different places make a text altered at both.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import pairwise, permutations
from typing import NamedTuple

from reprise.benchmarks.rows import Item

LETTERS = ("A", "B", "C", "D")
# The caption that all others resemble: the right caption itself, or one of its negatives.
OPTION_SETS = {
    "centralized": ("c", "n1_c", "n2_c", "n3_c"),
    "decentralized": ("c", "n1_c", "n2_n1_c", "n3_n1_c"),
}
SET_NAMES = ("c", "n1_c", "n2_c", "n3_c", "n2_n1_c", "n3_n1_c")
ORDERS = tuple(permutations(range(len(LETTERS))))


def caption_pair(item: Item) -> tuple[str, str] | None:
    """The positive and the negative caption, if the question's text and its answer show them."""
    if item.answer not in ("A", "B") or "A" not in item.texts:
        return None
    return item.texts[item.answer], item.texts["B" if item.answer == "A" else "A"]


class Edit(NamedTuple):
    """Words [start, end) of a caption and their replacement."""

    start: int
    end: int
    words: tuple[str, ...]


def edits(caption: str, negative: str) -> list[Edit]:
    """The edits, word by word, that turn a caption into its negative."""
    old, new = caption.split(), negative.split()
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Edit(i, j, tuple(new[k:m])) for tag, i, j, k, m in codes if tag != "equal"]


def joined(caption: str, first: str, second: str) -> str | None:
    """The caption with both negatives' edits; none where these touch or overlap."""
    both = sorted([*edits(caption, first), *edits(caption, second)])
    if any(left.end >= right.start for left, right in pairwise(both)):
        return None
    words = caption.split()
    for edit in reversed(both):
        words[edit.start : edit.end] = edit.words
    return " ".join(words)


def captions_of(caption: str, negatives: Sequence[str]) -> dict[str, str] | None:
    """The texts of both option sets, from the first negatives that allow it; None if none do."""
    for first in negatives:
        partners = [(other, both) for other in negatives if (both := joined(caption, first, other)) is not None]
        if len(partners) >= 2:
            (second, second_of_first), (third, third_of_first) = partners[:2]
            texts = (caption, first, second, third, second_of_first, third_of_first)
            if len(set(texts)) == len(texts):
                return dict(zip(SET_NAMES, texts, strict=True))
    return None


def lettered(item_id: str, form: str) -> dict[str, str]:
    """Letter -> the name of its text, in an order drawn from the item's id."""
    draw = int(sha256(f"{form} {item_id}".encode()).hexdigest()[:15], 16)
    names = OPTION_SETS[form]
    return {letter: names[place] for letter, place in zip(LETTERS, ORDERS[draw % len(ORDERS)], strict=True)}
