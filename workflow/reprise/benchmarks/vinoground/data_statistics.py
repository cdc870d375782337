"""Numbers of Vinoground's data."""

import polars as pl

from reprise.benchmarks.vinoground.taxonomy import GROUPS, in_group

STATISTICS = frozenset({"pairs"})


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Pairs in each category and in all (Table 2)."""
    return [("pairs", group, float(in_group(items, group)["unit"].n_unique())) for group in GROUPS]
