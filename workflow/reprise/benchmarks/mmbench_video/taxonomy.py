"""MMBench-Video's taxonomy of abilities, and the other data sets that its tables show."""

import polars as pl

from reprise.benchmarks.mmbench_video.images.taxonomy import GROUPS as IMAGE_GROUPS
from reprise.core.schemas import in_group_named

# Every question of every set of other videos, for protocols; a set's own group has its name.
SETS = "sets"


LEAVES = {
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
HALVES = {"perception": ("cp", "fp_s", "fp_c", "hl"), "reasoning": ("lr", "ar", "rr", "csr", "tr")}
L2_OF = {leaf: l2 for l2, leaves in LEAVES.items() for leaf in leaves}
OVERALL = "overall"
ALL = "all"
OWN_NAME = "mmbench_video"
# Tables 1 and 2 print other sets of videos beside this one; where no manifest gives them, as published.
OTHER_VIDEO_SETS = ("msvd", "tgif", "msrvtt", "activitynet", "egoschema", "video_mme", "next_gqa")
GROUPS = (
    *HALVES["perception"],
    "perception",
    *HALVES["reasoning"],
    "reasoning",
    OVERALL,
    ALL,
    OWN_NAME,
    *OTHER_VIDEO_SETS,
    *IMAGE_GROUPS,
)
BEST = 3
# Names that mean something else than a set of other videos.
GROUPS_TAKEN = tuple(sorted({*GROUPS, SETS, "subtitled"} - set(OTHER_VIDEO_SETS)))


def other_sets(items: pl.DataFrame) -> list[str]:
    """The sets of other videos that these questions are about."""
    return items.filter(in_group_named(SETS))["task"].unique(maintain_order=True).to_list()


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The questions of an ability or a data set; one with several abilities counts once in each, and once in all."""
    return items if group in (OVERALL, ALL) else items.filter(in_group_named(group))
