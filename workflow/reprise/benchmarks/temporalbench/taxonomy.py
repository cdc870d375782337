"""Define TemporalBench's data sets, categories and groups."""

import polars as pl

from reprise.benchmarks.annotations import ALL_ITEMS, is_in_group

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
CENTRAL = "central"
"""task of the items with captions for both option sets"""
CHOICES = ("c", "n1_c")
"""captions of an option set whose shares are reported: the right one, and its first negative"""
GROUPS = (
    {OVERALL: ALL_ITEMS, LONG_FOUR: pl.any_horizontal(map(is_in_group, LONG_DATASETS))}
    | {name: is_in_group(name) for name in (*DATASETS, *CATEGORIES.values())}
    | dict.fromkeys(CHOICES, ALL_ITEMS)  # The share of each caption is computed over all items.
)
GROUPS_BY_TASK = {
    "short": (OVERALL, *DATASETS, *CATEGORIES.values()),
    "long": (OVERALL, LONG_FOUR, *DATASETS),
}
