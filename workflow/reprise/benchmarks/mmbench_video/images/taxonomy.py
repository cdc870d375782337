"""MMBench and MMStar: data sets of images, and their categories."""

from reprise.benchmarks.rows import Item

MMBENCH, MMSTAR = "mmbench", "mmstar"
# What the released tables call a category -> its group in Table 4.
MMBENCH_CATEGORIES = {
    "finegrained_perception (instance-level)": "mmbench_fp_s",
    "finegrained_perception (cross-instance)": "mmbench_fp_c",
    "coarse_perception": "mmbench_cp",
    "logic_reasoning": "mmbench_lr",
    "attribute_reasoning": "mmbench_ar",
    "relation_reasoning": "mmbench_rr",
}
MMSTAR_CATEGORIES = {
    "coarse perception": "mmstar_cp",
    "fine-grained perception": "mmstar_fp",
    "instance reasoning": "mmstar_ir",
    "logical reasoning": "mmstar_lr",
    "math": "mmstar_math",
    "science & technology": "mmstar_st",
}
CATEGORIES = {MMBENCH: MMBENCH_CATEGORIES, MMSTAR: MMSTAR_CATEGORIES}
OVERALL = {MMBENCH: "mmbench_overall", MMSTAR: "mmstar_overall"}
GROUPS_OF = {name: (*CATEGORIES[name].values(), OVERALL[name]) for name in CATEGORIES}
GROUPS = tuple(group for groups in GROUPS_OF.values() for group in groups)
LETTERS = ("A", "B", "C", "D")
OPTIONS = "options"
"""tag that says how many options a question has: as many as it has rotations"""
# MMBench's released tables hold every rotation as a row of its own, at this distance from the first.
ROTATION_STEP = 1_000_000


def option_texts(item: Item) -> dict[str, str]:
    """Letter -> option."""
    return {letter: text for letter, text in item.texts.items() if letter in LETTERS}
