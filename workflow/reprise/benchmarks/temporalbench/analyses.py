"""Group TemporalBench's questions by the length of the right caption in words. The paper has no such groups."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.annotations import Item
from reprise.benchmarks.scoring import AnalysisGroups, MetadataByClip, Range, find_range_group
from reprise.benchmarks.temporalbench.option_sets import caption_pair

WORD_COUNT_RANGES = (
    Range("words_to_20", 0, 20),
    Range("words_to_40", 20, 40),
    Range("words_to_60", 40, 60),
    Range("words_to_80", 60, 80),
    Range("words_above_80", 80),
)
ANALYSIS_GROUPS = tuple(range_.group for range_ in WORD_COUNT_RANGES)


def _assign_groups(items: Sequence[Item], clip_metadata: MetadataByClip) -> Mapping[str, Sequence[str]]:
    """Return, for each question about a short video, its group by the number of words of the right caption."""
    pair_by_item = {item.item_id: caption_pair(item) for item in items if item.task == "short"}
    return {
        item_id: list(find_range_group(len(pair[0].split()), WORD_COUNT_RANGES))
        for item_id, pair in pair_by_item.items()
        if pair is not None
    }


ANALYSES = AnalysisGroups(frozenset(ANALYSIS_GROUPS), _assign_groups)
