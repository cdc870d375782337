"""Groups of MMBench-Video's analyses: leaves, duration, shots and the type of the question; of other sets the type."""

import re
from collections.abc import Mapping, Sequence

from reprise.benchmarks.analysing import Analyses, Facts, range_of
from reprise.benchmarks.mmbench_video.analysed import (
    ANALYSED,
    DURATIONS,
    LEAF_GROUPS,
    OTHER_TYPE,
    QUESTION_TYPES,
    SHOTS,
)
from reprise.benchmarks.mmbench_video.taxonomy import LEAF, OWN_NAME, SETS
from reprise.benchmarks.rows import Item

TYPE_OF_WORD = {word: group for group, words in QUESTION_TYPES.items() for word in words}


def _of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    found = {item.item_id: _groups(item, facts.get(item.clip_id, {})) for item in items if OWN_NAME in item.groups}
    return found | {item.item_id: [question_type(item.texts["question"])] for item in items if SETS in item.groups}


def _groups(item: Item, facts: Mapping[str, float]) -> list[str]:
    leaves = [LEAF_GROUPS[tag.text] for tag in item.tags if tag.name == LEAF]
    ranges = [*range_of(facts.get("duration_s"), DURATIONS), *range_of(facts.get("shots"), SHOTS)]
    return [*leaves, *ranges, question_type(item.texts["question"])]


def question_type(question: str) -> str:
    """The type of the first word that asks, wherever it stands; the paper does not say how it tells types apart."""
    words = re.findall(r"[a-z]+", question.lower())
    return next((TYPE_OF_WORD[word] for word in words if word in TYPE_OF_WORD), OTHER_TYPE)


ANALYSES = Analyses(frozenset(ANALYSED), _of_items, needs_facts=True)
