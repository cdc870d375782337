"""Compute the numbers of VELOCITI's data."""

import polars as pl

from reprise.benchmarks.counting import DataStatistics, Number
from reprise.benchmarks.rows import chosen_items
from reprise.benchmarks.velociti.taxonomy import CONTROL, SUBSET, TESTS


def _numbers(items: pl.DataFrame, clips: pl.DataFrame) -> list[Number]:
    """Count the videos, samples and subset samples of each test (Table 11)."""
    numbers = []
    for test in (CONTROL, *TESTS):
        rows = items.filter(pl.col("task") == test)
        numbers += [
            Number("videos", test, rows["clip_id"].n_unique()),
            Number("samples", test, rows.height),
            Number("subset", test, chosen_items(rows, SUBSET).height),
        ]
    return numbers


STATISTICS = DataStatistics(frozenset({"videos", "samples", "subset"}), _numbers)
