"""Group TemporalBench's questions by the length of the right caption in words. The paper has no such groups."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.rows import Item
from reprise.benchmarks.scoring import Analyses, Facts, Range, range_of
from reprise.benchmarks.temporalbench.option_sets import caption_pair

WORDS = (
    Range("words_to_20", 0, 20),
    Range("words_to_40", 20, 40),
    Range("words_to_60", 40, 60),
    Range("words_to_80", 60, 80),
    Range("words_above_80", 80),
)
ANALYSED = tuple(range_.group for range_ in WORDS)


def _groups_of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    """Return, for each question about a short video, its group by the number of words of the right caption."""
    pairs = {item.item_id: caption_pair(item) for item in items if item.task == "short"}
    return {item_id: [*range_of(len(pair[0].split()), WORDS)] for item_id, pair in pairs.items() if pair is not None}


ANALYSES = Analyses(frozenset(ANALYSED), _groups_of_items)
