"""Compute the statistics of Vinoground's data."""

import polars as pl

from reprise.benchmarks.data_statistics import DataStatistics, Statistic
from reprise.benchmarks.vinoground.taxonomy import GROUPS


def _compute_item_statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[Statistic]:
    """Count the pairs of each category, and all pairs (Table 2)."""
    return [Statistic("pairs", group, items.filter(member)["pair"].n_unique()) for group, member in GROUPS.items()]


STATISTICS = DataStatistics(frozenset({"pairs"}), _compute_item_statistics)
