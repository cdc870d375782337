"""Group MMBench-Video's questions by ability, duration, shots and question type; those of other sets only by type."""

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
"""question type -> its question words; the types are the paper's nine, the words are this project's"""
OTHER_TYPE = "other_type"
ANALYSED = (
    *LEAF_GROUPS.values(),
    *(range_.group for range_ in (*DURATIONS, *SHOTS)),
    *QUESTION_TYPES,
    OTHER_TYPE,
)
"""the groups of the analyses"""
TYPE_OF_WORD = {word: group for group, words in QUESTION_TYPES.items() for word in words}


def _groups_of_items(items: Sequence[Item], facts: Facts) -> Mapping[str, Sequence[str]]:
    """Return the groups of each question about a video: abilities, ranges of its clip, and question type."""
    groups_by_item = {}
    for item in items:
        if OWN_NAME in item.groups or SETS in item.groups:
            groups_by_item[item.item_id] = [question_type(item.texts["question"])]
        if OWN_NAME in item.groups:
            leaves = [LEAF_GROUPS[tag.text] for tag in item.tags if tag.name == LEAF]
            clip_facts = facts.get(item.clip_id, {})
            ranges = [*range_of(clip_facts.get("duration_s"), DURATIONS), *range_of(clip_facts.get("shots"), SHOTS)]
            groups_by_item[item.item_id] = [*leaves, *ranges, *groups_by_item[item.item_id]]
    return groups_by_item


def question_type(question: str) -> str:
    """Return the type of the first question word at any position; the paper does not define how it assigns types."""
    words = re.findall(r"[a-z]+", question.lower())
    return next((TYPE_OF_WORD[word] for word in words if word in TYPE_OF_WORD), OTHER_TYPE)


ANALYSES = Analyses(frozenset(ANALYSED), _groups_of_items, needs_facts=True)
