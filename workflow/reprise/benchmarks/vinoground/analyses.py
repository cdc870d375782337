"""Group Vinoground's pairs by the longer video and by the share of black frames. The paper has no such groups."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.rows import Item, grouped
from reprise.benchmarks.scoring import Analyses, Facts, Range, range_of

LENGTHS = (
    Range("length_to_5", 0, 5),
    Range("length_to_10", 5, 10),
    Range("length_to_20", 10, 20),
    Range("length_above_20", 20),
)
"""pairs by the duration of their longer video, in seconds"""
BLACK = (Range("black_to_10", -1, 0.1), Range("black_to_20", 0.1, 0.2), Range("black_above_20", 0.2))
"""pairs by the share of black frames in the concatenation of both videos; names of groups are in percent"""
ANALYSED = tuple(range_.group for range_ in (*LENGTHS, *BLACK))


def _groups_of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    """Return the groups of each item: the ranges of its pair.

    A range needs measurements of both videos of a pair, or of their concatenation.
    """
    groups_by_item: dict[str, Sequence[str]] = {}
    for pair_items in grouped(items, lambda item: item.unit).values():
        longest, largest = (
            _largest(pair_items, "text", facts, "duration_s"),
            _largest(pair_items, "video", facts, "black_share"),
        )
        groups = [*range_of(longest, LENGTHS), *range_of(largest, BLACK)]
        groups_by_item |= dict.fromkeys((item.item_id for item in pair_items), groups)
    return groups_by_item


def _largest(items: Sequence[Item], task: str, facts: Facts, fact: str) -> float | None:
    """Return the largest measurement over the clips of one task; None if one of them is not measured."""
    clips = {item.clip_id for item in items if item.task == task}
    return max((facts[clip][fact] for clip in clips), default=None) if clips <= facts.keys() else None


ANALYSES = Analyses(frozenset(ANALYSED), _groups_of_items, needs_facts=True)
