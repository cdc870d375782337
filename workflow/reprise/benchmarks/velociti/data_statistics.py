"""Compute the statistics of VELOCITI's data."""

import polars as pl

from reprise.benchmarks.annotations import select_items
from reprise.benchmarks.data_statistics import DataStatistics, Statistic
from reprise.benchmarks.velociti.taxonomy import CONTROL, SUBSET, TESTS


def _compute_item_statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[Statistic]:
    """Count the videos, samples and subset samples of each test (Table 11)."""
    statistics = []
    for test in (CONTROL, *TESTS):
        rows = items.filter(pl.col("task") == test)
        statistics += [
            Statistic("videos", test, rows["clip_id"].n_unique()),
            Statistic("samples", test, rows.height),
            Statistic("subset", test, select_items(rows, SUBSET).height),
        ]
    return statistics


STATISTICS = DataStatistics(frozenset({"videos", "samples", "subset"}), _compute_item_statistics)
