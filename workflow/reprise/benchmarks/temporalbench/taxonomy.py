"""TemporalBench's data sets and categories."""

import polars as pl

DATASETS = ("activitynet", "charades", "finegym", "movie_description", "oops", "coin", "egoexo4d")
# The paper's Table 7 has four of the five data sets that the released long videos come from.
LONG_DATASETS = ("activitynet", "charades", "finegym", "coin")
CATEGORIES = {
    "Action Order": "action_order",
    "Action Frequency": "action_frequency",
    "Action Type": "action_type",
    "Motion Magnitude": "motion_magnitude",
    "Motion Direction/Orientation": "motion_direction",
    "Action Effector": "action_effector",
    "Event Order": "event_order",
    "Others": "others",
}
OVERALL, LONG_FOUR = "overall", "long_four"
CHOICES = ("c", "n1_c")
GROUPS = (OVERALL, LONG_FOUR, *DATASETS, *CATEGORIES.values(), *CHOICES)
# Form of question -> the task whose questions it asks by two similarities.
BY_SIMILARITY = {"short_similarity": "short", "long_similarity": "long"}


def groups_of(form: str) -> tuple[str, ...]:
    return (OVERALL, *DATASETS, *CATEGORIES.values()) if form == "short" else (OVERALL, LONG_FOUR, *DATASETS)


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The items that a group's numbers are about."""
    if group in (OVERALL, *CHOICES):
        return items
    kind, names = ("category", [group]) if group in CATEGORIES.values() else ("dataset", [group])
    if group == LONG_FOUR:
        names = list(LONG_DATASETS)
    named = pl.col(kind) if kind in items.columns else group_of(kind)
    return items.filter(named.is_in(names))


def group_of(kind: str) -> pl.Expr:
    """An item's category or data set; null where it is of none."""
    entry = pl.element()
    of_kind = entry.struct.field("text").filter(entry.struct.field("name") == kind)
    return pl.col("groups").list.eval(of_kind).list.first()
