"""Compare two runs on their common samples: the benchmark's headline metric, and each metric by task."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.scoring import Scoring
from reprise.core.notation import describe_difference
from reprise.stats.paired import PairedComparison, compare_paired

# The p-value of a mean over tasks is estimated with this many permutations, in about 0.1 s for VELOCITI's videos.
PERMUTATIONS = 5000


class MetricComparison(NamedTuple):
    """A paired difference between two runs in one metric on one task, or in the headline number."""

    metric: str
    task: str
    """name of the task; `all`, or `average of <number>` for a mean over tasks"""
    comparison: PairedComparison
    """difference in points of the metric's own scale, such as percentage points"""
    decimals: int

    @property
    def subject(self) -> tuple[str, str]:
        """Return the metric and the task that are compared."""
        return self.metric, self.task

    def describe(self, level: float) -> str:
        """Return the difference, its interval, its p-value and its samples as a sentence."""
        estimate = self.comparison
        difference = describe_difference(
            estimate.difference, estimate.low, estimate.high, estimate.p, self.decimals, level
        )
        return (
            f"{self.metric}, {self.task}: {difference}; samples: {estimate.n_items:,}; "
            f"sign flips over videos: {estimate.n_clusters:,}."
        )


def compare_headline(
    scoring: Scoring,
    first_outcomes: Mapping[str, pl.DataFrame],
    second_outcomes: Mapping[str, pl.DataFrame],
    level: float,
) -> MetricComparison | None:
    """Compare two runs by the headline metric of the benchmark's tables.

    Args:
        scoring: The scoring of the form of question that both runs answered.
        first_outcomes: Metric -> outcomes of the first run, one row per sample.
        second_outcomes: Metric -> outcomes of the second run.
        level: Confidence level of the interval.

    Returns:
        The first run minus the second in points of the metric. None if one of them lacks the metric, or if they share
        no sample.
    """
    metric = scoring.headline_metric
    if metric not in first_outcomes or metric not in second_outcomes:
        return None
    if scoring.averaged_tasks:
        is_averaged = pl.col("task").is_in(scoring.averaged_tasks)
        first_averaged, second_averaged = (
            outcomes[metric].filter(is_averaged) for outcomes in (first_outcomes, second_outcomes)
        )
        task_by_item = dict(first_averaged.select("item_id", "task").iter_rows())
        comparison = _compare_outcomes(first_averaged, second_averaged, level, task_by_item)
        task = f"average of {len(scoring.averaged_tasks)}"
    else:
        comparison = _compare_outcomes(first_outcomes[metric], second_outcomes[metric], level)
        tasks = first_outcomes[metric]["task"].unique()
        task = tasks[0] if len(tasks) == 1 else "all"
    return MetricComparison(metric, task, comparison.scale(scoring.max_score), scoring.decimals) if comparison else None


def compare_by_task(
    scoring: Scoring, metric: str, first_outcomes: pl.DataFrame, second_outcomes: pl.DataFrame, level: float
) -> Iterator[MetricComparison]:
    """Compare two runs by one metric on each task separately; skip tasks without common samples."""
    for task in first_outcomes["task"].unique(maintain_order=True):
        comparison = _compare_outcomes(
            first_outcomes.filter(pl.col("task") == task), second_outcomes.filter(pl.col("task") == task), level
        )
        if comparison is not None:
            yield MetricComparison(metric, task, comparison.scale(scoring.max_score), scoring.decimals)


def _compare_outcomes(
    first_outcomes: pl.DataFrame,
    second_outcomes: pl.DataFrame,
    level: float,
    task_by_item: Mapping[str, str] | None = None,
) -> PairedComparison | None:
    """Return the paired comparison of two tables of outcomes; None if they share no sample."""
    first_values, second_values = (
        dict(frame.select("item_id", pl.col("right").cast(pl.Float64)).iter_rows())
        for frame in (first_outcomes, second_outcomes)
    )
    return compare_paired(
        first_values,
        second_values,
        dict(first_outcomes.select("item_id", "cluster").iter_rows()),
        task_by_item,
        level=level,
        draws=PERMUTATIONS,
    )
