"""Define MMBench-Video's taxonomy of abilities, and the other data sets of videos and images in its tables."""

import polars as pl

from reprise.benchmarks.annotations import ALL_ITEMS, Item, is_in_group, select_items

# Group of all questions about other sets of videos. Each set also has a group with its own name.
OTHER_SETS_GROUP = "sets"
GROUP_BY_SCORING = {"0 to 3": "sets_0_to_3", "0 to 5": "sets_0_to_5", "accuracy": "sets_accuracy"}
"""scoring of a set of other videos -> group of all questions with this scoring, for protocols"""

SET_OPTION_LETTERS = ("A", "B", "C", "D", "E")
"""option letters of questions about other sets of videos that are scored by accuracy"""

# The taxonomy of abilities has three levels: L1 (perception and reasoning), L2, and leaves. The L2 abilities are coarse
# perception, fine-grained perception of a single instance and across instances, hallucination, and logic, attribute,
# relation, commonsense and temporal reasoning.
LEAVES_BY_L2 = {
    "cp": ("Video Topic", "Video Emotion", "Video Scene", "Video Style"),
    "fp_s": (
        "OCR",
        "Object Recognition",
        "Attribute Recognition",
        "Event Recognition",
        "Human Motion",
        "Counting",
    ),
    "fp_c": ("Spatial Relationship", "Human-object Interaction", "Human Interaction"),
    "hl": ("Hallucination",),
    "lr": ("Structuralized Image-Text Understanding", "Mathematical Calculation"),
    "ar": ("Physical Property", "Function Reasoning", "Identity Reasoning"),
    "rr": ("Natural Relation", "Physical Relation", "Social Relation"),
    "csr": ("Common Sense Reasoning",),
    "tr": ("Counterfactual Reasoning", "Causal Reasoning", "Future Prediction"),
}
# L1 ability -> its L2 abilities.
L1_GROUPS = {"perception": ("cp", "fp_s", "fp_c", "hl"), "reasoning": ("lr", "ar", "rr", "csr", "tr")}
L2_BY_LEAF = {leaf: l2 for l2, leaves in LEAVES_BY_L2.items() for leaf in leaves}
OVERALL = "overall"
"""group of all questions of a run, for scores"""
ALL = "all"
"""group of all questions of MMBench-Video, for data statistics"""
BENCHMARK_NAME = "mmbench_video"
SCORING_BY_SET = dict.fromkeys(("msvd", "tgif", "msrvtt", "activitynet"), "0 to 5") | dict.fromkeys(
    ("egoschema", "video_mme", "next_gqa"), "accuracy"
)
"""set of videos in Tables 1 and 2 -> its scoring in the paper; tables show published numbers if it has no manifest"""
SUBTITLED = "subtitled"
"""group of questions about videos with subtitles"""
LEAF_TAG = "leaf"
"""tag of an ability that a question tests; a question may have several"""

MMBENCH, MMSTAR = "mmbench", "mmstar"
# Data set of images -> category in its released table -> group in Table 4.
GROUP_BY_CATEGORY = {
    MMBENCH: {
        "finegrained_perception (instance-level)": "mmbench_fp_s",
        "finegrained_perception (cross-instance)": "mmbench_fp_c",
        "coarse_perception": "mmbench_cp",
        "logic_reasoning": "mmbench_lr",
        "attribute_reasoning": "mmbench_ar",
        "relation_reasoning": "mmbench_rr",
    },
    MMSTAR: {
        "coarse perception": "mmstar_cp",
        "fine-grained perception": "mmstar_fp",
        "instance reasoning": "mmstar_ir",
        "logical reasoning": "mmstar_lr",
        "math": "mmstar_math",
        "science & technology": "mmstar_st",
    },
}
GROUPS_BY_DATA_SET = {name: (*groups.values(), f"{name}_overall") for name, groups in GROUP_BY_CATEGORY.items()}
"""data set of images -> its groups; the last group contains all of its questions"""
IMAGE_OPTION_LETTERS = ("A", "B", "C", "D")
OPTION_COUNT_TAG = "options"
"""tag with the number of options of a question about an image, which is also its number of rotations"""
# MMBench's released tables have one row per rotation. Indices of consecutive rotations differ by this number.
ROTATION_STEP = 1_000_000

GROUPS = (
    {name: is_in_group(name) for name in (*L1_GROUPS["perception"], "perception", *L1_GROUPS["reasoning"], "reasoning")}
    | {OVERALL: ALL_ITEMS, ALL: ALL_ITEMS}
    | {
        name: is_in_group(name)
        for name in (BENCHMARK_NAME, *SCORING_BY_SET, *GROUPS_BY_DATA_SET[MMBENCH], *GROUPS_BY_DATA_SET[MMSTAR])
    }
)
# Names that no set of other videos can have.
RESERVED_GROUPS = tuple(
    sorted({*GROUPS, OTHER_SETS_GROUP, *GROUP_BY_SCORING.values(), SUBTITLED} - set(SCORING_BY_SET))
)


def is_complete(item: Item) -> bool:
    """Return whether an item has both a question and an answer, so that it can be queried and judged."""
    return bool(item.texts["question"].strip() and item.answer.strip())


def list_other_sets(items: pl.DataFrame) -> list[str]:
    """Return the names of the other sets of videos among the items."""
    return select_items(items, OTHER_SETS_GROUP)["task"].unique(maintain_order=True).to_list()


def options_by_letter(item: Item) -> dict[str, str]:
    """Map each letter to the option of a question about an image."""
    return {letter: text for letter, text in item.texts.items() if letter in IMAGE_OPTION_LETTERS}
