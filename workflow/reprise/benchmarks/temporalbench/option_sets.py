"""Build option sets of four captions whose wrong captions edit the right caption, or one of its negatives.

Section 3.3 of the paper uses both kinds, but its negatives of a negative are not released. They are built from released
negatives: two negatives that edit a caption at different places combine to a text with both edits.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import pairwise, permutations
from typing import NamedTuple

from reprise.benchmarks.annotations import Item

LETTERS = ("A", "B", "C", "D")
# `c` is the right caption, `n1_c` its first negative, and `n2_n1_c` a negative of this negative. In the centralized set
# all wrong captions edit `c`; in the decentralized set all other captions edit `n1_c`.
CAPTION_NAMES_BY_SET = {
    "centralized": ("c", "n1_c", "n2_c", "n3_c"),
    "decentralized": ("c", "n1_c", "n2_n1_c", "n3_n1_c"),
}
CAPTION_NAMES = ("c", "n1_c", "n2_c", "n3_c", "n2_n1_c", "n3_n1_c")
ORDERS = tuple(permutations(range(len(LETTERS))))


def caption_pair(item: Item) -> tuple[str, str] | None:
    """Return the right and the wrong caption; None if the question lists no captions or has no valid answer."""
    if item.answer not in ("A", "B") or "A" not in item.texts:
        return None
    return item.texts[item.answer], item.texts["B" if item.answer == "A" else "A"]


class Edit(NamedTuple):
    """The replacement of the words [start, end) of a caption."""

    start: int
    end: int
    words: tuple[str, ...]


def find_edits(caption: str, negative: str) -> list[Edit]:
    """Return the word-level edits that turn a caption into its negative."""
    caption_words, negative_words = caption.split(), negative.split()
    codes = SequenceMatcher(None, caption_words, negative_words, autojunk=False).get_opcodes()
    return [
        Edit(old_start, old_end, tuple(negative_words[new_start:new_end]))
        for tag, old_start, old_end, new_start, new_end in codes
        if tag != "equal"
    ]


def combine_edits(caption: str, first_negative: str, second_negative: str) -> str | None:
    """Apply the edits of two negatives to their caption; return None if the edits touch or overlap."""
    all_edits = sorted([*find_edits(caption, first_negative), *find_edits(caption, second_negative)])
    if any(left.end >= right.start for left, right in pairwise(all_edits)):
        return None
    words = caption.split()
    for edit in reversed(all_edits):
        words[edit.start : edit.end] = edit.words
    return " ".join(words)


def build_set_captions(caption: str, negatives: Sequence[str]) -> dict[str, str] | None:
    """Return the captions of both option sets, from the first negatives that combine; None if no negatives combine."""
    for first_negative in negatives:
        combinations = [
            (partner, combination)
            for partner in negatives
            if (combination := combine_edits(caption, first_negative, partner)) is not None
        ]
        if len(combinations) >= 2:
            (second, second_of_first), (third, third_of_first) = combinations[:2]
            texts = (caption, first_negative, second, third, second_of_first, third_of_first)
            if len(set(texts)) == len(texts):
                return dict(zip(CAPTION_NAMES, texts, strict=True))
    return None


def assign_letters(item_id: str, form: str) -> dict[str, str]:
    """Map each option letter to the name of its caption, in an order derived from a hash of the item's id."""
    hash_number = int(sha256(f"{form} {item_id}".encode()).hexdigest()[:15], 16)
    caption_names = CAPTION_NAMES_BY_SET[form]
    return {
        letter: caption_names[position]
        for letter, position in zip(LETTERS, ORDERS[hash_number % len(ORDERS)], strict=True)
    }
