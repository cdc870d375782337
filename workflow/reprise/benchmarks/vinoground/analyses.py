"""Groups of Vinoground's analyses, which are ours: pairs by their longer video, and by the black of the joined ones."""

from collections.abc import Mapping, Sequence

from reprise.benchmarks.analysing import Analyses, Facts, range_of
from reprise.benchmarks.rows import Item
from reprise.benchmarks.vinoground.analysed import ANALYSED, BLACK, LENGTHS


def _of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    """A pair is in a range once both of its videos, or the joined one, are measured; all its items name it."""
    clips: dict[str, dict[str, set[str]]] = {}
    for item in items:
        clips.setdefault(item.unit, {"text": set(), "video": set()}).setdefault(item.task, set()).add(item.clip_id)
    groups = {unit: _of_pair(of["text"], of["video"], facts) for unit, of in clips.items()}
    return {item.item_id: groups[item.unit] for item in items}


def _of_pair(videos: set[str], joined: set[str], facts: Facts) -> list[str]:
    lengths = [facts[clip]["duration_s"] for clip in videos if clip in facts]
    shares = [facts[clip]["black_share"] for clip in joined if clip in facts]
    longest = max(lengths) if len(lengths) == len(videos) > 0 else None
    largest = max(shares) if len(shares) == len(joined) > 0 else None
    return [*range_of(longest, LENGTHS), *range_of(largest, BLACK)]


ANALYSES = Analyses(frozenset(ANALYSED), _of_items, needs_facts=True)
