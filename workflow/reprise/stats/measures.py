"""Compute a metric as a number with its interval and its counts, from rows of outcomes clustered by video."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reprise.stats.beta import ALPHA
from reprise.stats.intervals import BoundedMean, Difference, clustered_estimate

Ratios: TypeAlias = NDArray[np.float64]
"""Values of the ratios that a metric combines: one column per ratio, one row per set of values."""

LOST_LIMIT = 0.05
"""Two scores are not compared if their shares of lost (unparsed or failed) answers differ by this much or more."""


@dataclass(frozen=True)
class Measure:
    """One metric of one group, in percent or on its own scale, before it is assigned to a run and its conventions."""

    metric: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    requested: int
    """samples with a request"""
    scored: int
    """samples whose answer was parsed"""
    failed: int
    """samples whose request got no answer"""
    unparsed: int
    """samples from whose answer no option was extracted"""
    missing: int | None = None
    """samples without a request, if a sample is more than one item; if None, items are counted"""
    estimate: BoundedMean | Difference | None = None
    """estimate behind the interval, on a scale from 0 to 1"""

    def p_above(self, chance: float) -> float | None:
        """Return the one-sided p-value against a share of `chance`; None for a difference.

        It is below ALPHA exactly if the lower end of the 90 % interval is above `chance`. That end is the one-sided
        bound with error ALPHA.
        """
        return self.estimate.p_above(chance, 1 - 2 * ALPHA) if isinstance(self.estimate, BoundedMean) else None


def take_first(ratios: Ratios) -> Ratios:
    """Return the first ratio of each row, for a metric that is a single ratio."""
    return ratios[:, 0]


def subtract_second(ratios: Ratios) -> Ratios:
    """Return the first ratio minus the second."""
    return ratios[:, 0] - ratios[:, 1]


def average(ratios: Ratios) -> Ratios:
    """Return the mean of the ratios."""
    means: Ratios = ratios.mean(axis=1)
    return means


def compute_measure(
    metric: str,
    group: str,
    rows: pl.DataFrame,
    ratios: Sequence[tuple[pl.Series, pl.Series]],
    level: float,
    combine: Callable[[Ratios], Ratios] = take_first,
    scale: float = 100,
    limits: tuple[float, float] = (0, 1),
) -> Measure:
    """Compute a metric as a function of ratios of sums over rows; its value is None if a ratio is 0 / 0.

    Args:
        metric: Name of the metric.
        group: Name of the group.
        rows: One row per sample, with the columns `cluster`, `failed` and `unparsed`.
        ratios: Numerator and denominator of each ratio, row by row.
        level: Confidence level of the interval.
        combine: The function of the ratios.
        scale: Factor from the function's value to the metric.
        limits: Smallest and largest value of a ratio before scaling.
    """
    # numerator and denominator of the first ratio, of the second, and so on
    columns = [part.cast(pl.Float64).to_numpy() for ratio in ratios for part in ratio]
    totals = np.array([[column.sum() for column in columns]])
    is_defined = bool(rows.height) and bool((totals[:, 1::2] > 0).all())
    minimum, span = limits[0], limits[1] - limits[0]
    pairs = zip(columns[0::2], columns[1::2], strict=True)
    bounded_ratios = [((numerator - minimum * denominator) / span, denominator) for numerator, denominator in pairs]
    estimate = clustered_estimate(bounded_ratios, rows["cluster"].to_numpy(), combine) if is_defined else None
    interval = estimate.interval(level) if estimate else None
    offset = 0.0 if isinstance(estimate, Difference) else minimum
    failed = int(rows["failed"].sum())
    unparsed = int((rows["unparsed"] & ~rows["failed"]).sum())
    return Measure(
        metric,
        group,
        scale * float(combine(totals[:, 0::2] / totals[:, 1::2])[0]) if is_defined else None,
        scale * (offset + span * interval.low) if interval else None,
        scale * (offset + span * interval.high) if interval else None,
        requested=rows.height,
        scored=rows.height - failed - unparsed,
        failed=failed,
        unparsed=unparsed,
        estimate=estimate,
    )


def unit_weights(rows: pl.DataFrame) -> pl.Series:
    """Return a denominator that counts every row."""
    return pl.Series([1.0]).new_from_index(0, rows.height)
