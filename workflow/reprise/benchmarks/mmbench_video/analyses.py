"""Group MMBench-Video's questions by ability, duration, shots and question type.

Questions about other sets of videos are grouped by question type only.
"""

import re
from collections.abc import Mapping, Sequence

from reprise.benchmarks.annotations import Item
from reprise.benchmarks.mmbench_video.taxonomy import BENCHMARK_NAME, LEAF_TAG, LEAVES_BY_L2, OTHER_SETS_GROUP
from reprise.benchmarks.scoring import AnalysisGroups, MetadataByClip, Range, find_range_group

LEAF_GROUPS = {
    leaf: leaf.lower().replace(" ", "_").replace("-", "_") for leaves in LEAVES_BY_L2.values() for leaf in leaves
}
"""leaf ability -> its group"""
DURATION_RANGES = (
    Range("seconds_to_60", 0, 60),
    Range("seconds_to_120", 60, 120),
    Range("seconds_to_180", 120, 180),
    Range("seconds_to_240", 180, 240),
    Range("seconds_above_240", 240),
)
SHOT_RANGES = (
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
"""question type -> its question words; the paper defines the nine types, but not the words"""
OTHER_TYPE = "other_type"
ANALYSIS_GROUPS = (
    *LEAF_GROUPS.values(),
    *(range_.group for range_ in (*DURATION_RANGES, *SHOT_RANGES)),
    *QUESTION_TYPES,
    OTHER_TYPE,
)
"""the groups of the analyses"""
TYPE_BY_WORD = {word: group for group, words in QUESTION_TYPES.items() for word in words}


def _assign_groups(items: Sequence[Item], clip_metadata: MetadataByClip) -> Mapping[str, Sequence[str]]:
    """Return the groups of each question about a video.

    For MMBench-Video, they are its abilities, the ranges of the clip's metadata, and the question type.
    """
    groups_by_item = {}
    for item in items:
        if BENCHMARK_NAME in item.groups or OTHER_SETS_GROUP in item.groups:
            groups_by_item[item.item_id] = [classify_question(item.texts["question"])]
        if BENCHMARK_NAME in item.groups:
            leaves = [LEAF_GROUPS[tag.text] for tag in item.tags if tag.name == LEAF_TAG]
            metadata = clip_metadata.get(item.clip_id, {})
            ranges = [
                *find_range_group(metadata.get("duration_s"), DURATION_RANGES),
                *find_range_group(metadata.get("shots"), SHOT_RANGES),
            ]
            groups_by_item[item.item_id] = [*leaves, *ranges, *groups_by_item[item.item_id]]
    return groups_by_item


def classify_question(question: str) -> str:
    """Return the type of the first question word in a question; the paper does not define how it assigns types."""
    words = re.findall(r"[a-z]+", question.lower())
    return next((TYPE_BY_WORD[word] for word in words if word in TYPE_BY_WORD), OTHER_TYPE)


ANALYSES = AnalysisGroups(frozenset(ANALYSIS_GROUPS), _assign_groups, needs_clip_metadata=True)
