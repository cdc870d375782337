"""Group Vinoground's pairs by duration and by the share of black frames. The paper has no such groups."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.annotations import Item, group_by_key
from reprise.benchmarks.scoring import AnalysisGroups, MetadataByClip, Range, find_range_group

LENGTH_RANGES = (
    Range("length_to_5", 0, 5),
    Range("length_to_10", 5, 10),
    Range("length_to_20", 10, 20),
    Range("length_above_20", 20),
)
"""pairs by the duration of their longer video, in seconds"""
BLACK_SHARE_RANGES = (Range("black_to_10", -1, 0.1), Range("black_to_20", 0.1, 0.2), Range("black_above_20", 0.2))
"""pairs by the share of black frames in the concatenation of both videos; group names are in percent. A range excludes
its lower end, so the first begins below 0."""
ANALYSIS_GROUPS = tuple(range_.group for range_ in (*LENGTH_RANGES, *BLACK_SHARE_RANGES))


def _assign_groups(items: Sequence[Item], clip_metadata: MetadataByClip) -> Mapping[str, Sequence[str]]:
    """Return the groups of each item: the ranges of its pair.

    A range needs measurements of both videos of a pair, or of their concatenation.
    """
    groups_by_item: dict[str, Sequence[str]] = {}
    for pair_items in group_by_key(items, lambda item: item.pair).values():
        duration = _find_largest(pair_items, "text", clip_metadata, "duration_s")
        black_share = _find_largest(pair_items, "video", clip_metadata, "black_share")
        groups = [*find_range_group(duration, LENGTH_RANGES), *find_range_group(black_share, BLACK_SHARE_RANGES)]
        groups_by_item |= dict.fromkeys((item.item_id for item in pair_items), groups)
    return groups_by_item


def _find_largest(items: Sequence[Item], task: str, clip_metadata: MetadataByClip, column: str) -> float | None:
    """Return the largest measurement over the clips of one task; None if one of them is not measured."""
    clips = {item.clip_id for item in items if item.task == task}
    if not clips <= clip_metadata.keys():
        return None
    return max((clip_metadata[clip][column] for clip in clips), default=None)


ANALYSES = AnalysisGroups(frozenset(ANALYSIS_GROUPS), _assign_groups, needs_clip_metadata=True)
