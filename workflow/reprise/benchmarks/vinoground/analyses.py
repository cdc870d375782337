"""Groups of Vinoground's analyses, which are ours: pairs by their longer video, and by the black of the joined ones."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.rows import Item, grouped
from reprise.benchmarks.scoring import Analyses, Facts, Range, range_of

LENGTHS = (
    Range("length_to_5", 0, 5),
    Range("length_to_10", 5, 10),
    Range("length_to_20", 10, 20),
    Range("length_above_20", 20),
)
"""pairs by the seconds of the longer of their videos"""
BLACK = (Range("black_to_10", -1, 0.1), Range("black_to_20", 0.1, 0.2), Range("black_above_20", 0.2))
"""pairs by the share of black frames, in percent, of the two videos joined"""
ANALYSED = tuple(one.group for one in (*LENGTHS, *BLACK))


def _of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    """A pair is in a range once both of its videos, or the joined one, are measured; all its items name it."""
    found: dict[str, Sequence[str]] = {}
    for own in grouped(items, lambda item: item.unit).values():
        longest, largest = _largest(own, "text", facts, "duration_s"), _largest(own, "video", facts, "black_share")
        groups = [*range_of(longest, LENGTHS), *range_of(largest, BLACK)]
        found |= dict.fromkeys((item.item_id for item in own), groups)
    return found


def _largest(items: Sequence[Item], task: str, facts: Facts, fact: str) -> float | None:
    """Of the clips of one task; none where one of them is not measured."""
    clips = {item.clip_id for item in items if item.task == task}
    return max((facts[clip][fact] for clip in clips), default=None) if clips <= facts.keys() else None


ANALYSES = Analyses(frozenset(ANALYSED), _of_items, needs_facts=True)
