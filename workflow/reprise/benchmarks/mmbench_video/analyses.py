"""Groups of MMBench-Video's analyses: leaves, duration, shots and the type of the question; of other sets the type."""

import re
from collections.abc import Mapping, Sequence

from reprise.benchmarks.mmbench_video.taxonomy import LEAF, LEAVES, OWN_NAME, SETS
from reprise.benchmarks.rows import Item
from reprise.benchmarks.scoring import Analyses, Facts, Range, range_of

LEAF_GROUPS = {leaf: leaf.lower().replace(" ", "_").replace("-", "_") for leaves in LEAVES.values() for leaf in leaves}
"""leaf ability -> its group"""
DURATIONS = (
    Range("seconds_to_60", 0, 60),
    Range("seconds_to_120", 60, 120),
    Range("seconds_to_180", 120, 180),
    Range("seconds_to_240", 180, 240),
    Range("seconds_above_240", 240),
)
SHOTS = (
    Range("shots_to_10", 0, 10),
    Range("shots_to_20", 10, 20),
    Range("shots_to_30", 20, 30),
    Range("shots_to_50", 30, 50),
    Range("shots_above_50", 50),
)
QUESTION_TYPES = {
    **{word: (word,) for word in ("what", "who", "how", "when", "where", "why", "which")},
    "is_are": ("is", "are", "was", "were"),
    "does_do": ("does", "do", "did"),
}
"""type of a question -> the words that ask so; the paper's nine, and how we tell them apart"""
OTHER_TYPE = "other_type"
ANALYSED = (
    *LEAF_GROUPS.values(),
    *(one.group for one in (*DURATIONS, *SHOTS)),
    *QUESTION_TYPES,
    OTHER_TYPE,
)
"""the groups of the analyses"""
TYPE_OF_WORD = {word: group for group, words in QUESTION_TYPES.items() for word in words}


def _of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    found = {}
    for item in items:
        if OWN_NAME in item.groups or SETS in item.groups:
            found[item.item_id] = [question_type(item.texts["question"])]
        if OWN_NAME in item.groups:
            leaves = [LEAF_GROUPS[tag.text] for tag in item.tags if tag.name == LEAF]
            known = facts.get(item.clip_id, {})
            ranges = [*range_of(known.get("duration_s"), DURATIONS), *range_of(known.get("shots"), SHOTS)]
            found[item.item_id] = [*leaves, *ranges, *found[item.item_id]]
    return found


def question_type(question: str) -> str:
    """The type of the first word that asks, wherever it stands; the paper does not say how it tells types apart."""
    words = re.findall(r"[a-z]+", question.lower())
    return next((TYPE_OF_WORD[word] for word in words if word in TYPE_OF_WORD), OTHER_TYPE)


ANALYSES = Analyses(frozenset(ANALYSED), _of_items, needs_facts=True)
