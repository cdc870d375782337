"""The groups of MMBench-Video's analyses; beside the taxonomy, so that annotations and requests do not hang on it."""

from reprise.benchmarks.analysing import Range
from reprise.benchmarks.mmbench_video.taxonomy import LEAVES

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
