"""Compute the numbers of Vinoground's data."""

import polars as pl

from reprise.benchmarks.counting import DataStatistics, Number
from reprise.benchmarks.vinoground.taxonomy import GROUPS


def _numbers(items: pl.DataFrame, clips: pl.DataFrame) -> list[Number]:
    """Count the pairs in each category and in all (Table 2)."""
    return [Number("pairs", group, items.filter(member)["unit"].n_unique()) for group, member in GROUPS.items()]


STATISTICS = DataStatistics(frozenset({"pairs"}), _numbers)
