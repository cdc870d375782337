"""Groups of TemporalBench's analyses, which are ours: questions by the words of the right caption."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.analysing import Analyses, Facts, range_of
from reprise.benchmarks.rows import Item
from reprise.benchmarks.temporalbench.analysed import WORDS
from reprise.benchmarks.temporalbench.captions import caption_pair


def _of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    pairs = {item.item_id: caption_pair(item) for item in items if item.task == "short"}
    return {item_id: [*range_of(len(pair[0].split()), WORDS)] for item_id, pair in pairs.items() if pair is not None}


ANALYSES = Analyses(frozenset(one.group for one in WORDS), _of_items)
