"""Groups of Vinoground's analyses, which are ours: pairs by their longer video, and by the black of the joined ones."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.rows import Item
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
    clips: dict[str, dict[str, set[str]]] = {}
    for item in items:
        clips.setdefault(item.unit, {"text": set(), "video": set()}).setdefault(item.task, set()).add(item.clip_id)
    groups = {}
    for unit, of in clips.items():
        lengths = [facts[clip]["duration_s"] for clip in of["text"] if clip in facts]
        shares = [facts[clip]["black_share"] for clip in of["video"] if clip in facts]
        longest = max(lengths) if len(lengths) == len(of["text"]) > 0 else None
        largest = max(shares) if len(shares) == len(of["video"]) > 0 else None
        groups[unit] = [*range_of(longest, LENGTHS), *range_of(largest, BLACK)]
    return {item.item_id: groups[item.unit] for item in items}


ANALYSES = Analyses(frozenset(ANALYSED), _of_items, needs_facts=True)
