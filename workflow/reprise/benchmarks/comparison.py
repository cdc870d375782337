"""Compare two runs on their common samples: the benchmark's headline metric, and each metric by test."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.scoring import Scoring
from reprise.stats.paired import PairedComparison, compare_paired

# Permutations for a mean of tests, whose p-value is not exact. For VELOCITI's videos they take about 0.1 s.
PERMUTATIONS = 5000


class MetricComparison(NamedTuple):
    """A paired difference between two runs: of one metric on one test, or of the headline number."""

    metric: str
    test: str
    comparison: PairedComparison

    @property
    def subject(self) -> tuple[str, str]:
        """Return the metric and the test that are compared."""
        return self.metric, self.test


def compare_headline(
    scores: Scoring, first: Mapping[str, pl.DataFrame], second: Mapping[str, pl.DataFrame], level: float
) -> MetricComparison | None:
    """Compare two runs by the metric that the benchmark's tables lead with.

    Args:
        scores: The scoring of the form of question that both runs answered.
        first: Metric -> outcomes of the first run, one row per sample.
        second: The same for the second run.
        level: Confidence level of the interval.

    Returns:
        The first run minus the second, or None if one of them lacks the metric or they share no sample.
    """
    metric = scores.headline_metric
    if metric not in first or metric not in second:
        return None
    tests = first[metric]["task"].unique()
    if scores.averaged_tasks:
        first_rows, second_rows = (
            outcomes[metric].filter(pl.col("task").is_in(scores.averaged_tasks)) for outcomes in (first, second)
        )
        comparison = _paired(first_rows, second_rows, level, dict(first_rows.select("item_id", "task").iter_rows()))
    else:
        comparison = _paired(first[metric], second[metric], level)
    name = (
        f"average of {len(scores.averaged_tasks)}" if scores.averaged_tasks else tests[0] if len(tests) == 1 else "all"
    )
    return MetricComparison(metric, name, comparison) if comparison else None


def compare_by_test(metric: str, first: pl.DataFrame, second: pl.DataFrame, level: float) -> Iterator[MetricComparison]:
    """Compare two runs by one metric on each test separately; skip tests without common samples."""
    for task in first["task"].unique(maintain_order=True):
        comparison = _paired(first.filter(pl.col("task") == task), second.filter(pl.col("task") == task), level)
        if comparison is not None:
            yield MetricComparison(metric, task, comparison)


def _paired(
    first: pl.DataFrame, second: pl.DataFrame, level: float, tests: Mapping[str, str] | None = None
) -> PairedComparison | None:
    """Return the paired comparison of two tables of outcomes; None if they share no sample."""
    first_values, second_values = (
        dict(frame.select("item_id", pl.col("right").cast(pl.Float64)).iter_rows()) for frame in (first, second)
    )
    return compare_paired(
        first_values,
        second_values,
        dict(first.select("item_id", "cluster").iter_rows()),
        tests,
        level=level,
        draws=PERMUTATIONS,
    )
