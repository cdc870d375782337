"""MMBench and MMStar: data sets of images, their categories and forms of question."""

from collections.abc import Mapping, Sequence

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
GROUPS = tuple(group for name in CATEGORIES for group in (*CATEGORIES[name].values(), OVERALL[name]))
# `circular`: right only if right under every rotation of the options; `choice`: asked once.
CIRCULAR, CHOICE = "circular", "choice"
FORM_OF = {MMBENCH: CIRCULAR, MMSTAR: CHOICE}
LETTERS = ("A", "B", "C", "D")
# MMBench's released tables hold every rotation as a row of its own, at this distance from the first.
# The group that says how many options a question has: as many as it has rotations.
OPTIONS = "options"
ROTATION_STEP = 1_000_000


def texts_of(item: Mapping[str, object]) -> dict[str, str]:
    texts: Sequence[Mapping[str, str]] = item["texts"]  # type: ignore[assignment]
    return {text["name"]: text["text"] for text in texts}


def option_texts(item: Mapping[str, object]) -> dict[str, str]:
    return {letter: text for letter, text in texts_of(item).items() if letter in LETTERS}


def groups_of(data_set: str) -> tuple[str, ...]:
    return (*CATEGORIES[data_set].values(), OVERALL[data_set])
