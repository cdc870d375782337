"""Numbers of VELOCITI's data."""

import polars as pl

from reprise.benchmarks.counting import DataStatistics, Number
from reprise.benchmarks.rows import chosen_items
from reprise.benchmarks.velociti.taxonomy import CONTROL, SUBSET, TESTS


def _of_tests(items: pl.DataFrame, clips: pl.DataFrame) -> list[Number]:
    """Videos, samples and subset size of each test (Table 11)."""
    found = []
    for test in (CONTROL, *TESTS):
        rows = items.filter(pl.col("task") == test)
        found += [
            Number("videos", test, rows["clip_id"].n_unique()),
            Number("samples", test, rows.height),
            Number("subset", test, chosen_items(rows, SUBSET).height),
        ]
    return found


STATISTICS = DataStatistics(frozenset({"videos", "samples", "subset"}), _of_tests)
