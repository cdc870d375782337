"""Numbers of VELOCITI's data."""

import polars as pl

from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.schemas import in_group_named

STATISTICS = frozenset({"videos", "samples", "subset"})


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Videos, samples and subset size of each test (Table 11)."""
    found = []
    for test in (CONTROL, *TESTS):
        rows = items.filter(pl.col("task") == test)
        in_subset = rows.filter(in_group_named("subset"))
        found += [
            ("videos", test, float(rows["clip_id"].n_unique())),
            ("samples", test, float(rows.height)),
            ("subset", test, float(in_subset.height)),
        ]
    return found
