"""A metric as a number with its interval and its counts, from rows of right and wrong, clustered by video."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reprise.stats.beta import ALPHA
from reprise.stats.intervals import BoundedMean, Difference, clustered_estimate

Ratios: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """One metric of one group, in percent or on its own scale, before it is given a run, a reader and a convention."""

    metric: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    asked: int
    scored: int
    failed: int
    unparsed: int
    missing: int | None = None
    """samples that were never asked, where a sample is more than one item; else the items are counted"""
    estimate: BoundedMean | Difference | None = None
    """what the interval comes from, on a scale from 0 to 1"""

    def p_above(self, chance: float) -> float | None:
        """One-sided p-value against a share of `chance`; none of a difference.

        It is below ALPHA exactly where the one-sided bound of that error, the lower end of the 90 % interval, is above.
        """
        return self.estimate.p_above(chance, 1 - 2 * ALPHA) if isinstance(self.estimate, BoundedMean) else None


def first(ratios: Ratios) -> Ratios:
    return ratios[:, 0]


def difference(ratios: Ratios) -> Ratios:
    return ratios[:, 0] - ratios[:, 1]


def mean(ratios: Ratios) -> Ratios:
    means: Ratios = ratios.mean(axis=1)
    return means


def measure(
    metric: str,
    group: str,
    rows: pl.DataFrame,
    ratios: Sequence[tuple[pl.Series, pl.Series]],
    level: float,
    combine: Callable[[Ratios], Ratios] = first,
    scale: float = 100,
    limits: tuple[float, float] = (0, 1),
) -> Measure:
    """A function of ratios of sums over rows (`unit`, `failed`, `unparsed`); undefined where a ratio is 0 / 0.

    `level` is that of the interval; `limits` are the least and the largest value that a ratio can take, before it is
    scaled.
    """
    columns = [part.cast(pl.Float64).to_numpy() for ratio in ratios for part in ratio]
    totals = np.array([[column.sum() for column in columns]])
    is_defined = bool(rows.height) and bool((totals[:, 1::2] > 0).all())
    least, span = limits[0], limits[1] - limits[0]
    pairs = zip(columns[0::2], columns[1::2], strict=True)
    within = [((above - least * below) / span, below) for above, below in pairs]
    estimate = clustered_estimate(within, rows["unit"].to_numpy(), combine) if is_defined else None
    interval = estimate.interval(level) if estimate else None
    start = 0.0 if isinstance(estimate, Difference) else least
    failed = int(rows["failed"].sum())
    unparsed = int((rows["unparsed"] & ~rows["failed"]).sum())
    return Measure(
        metric,
        group,
        scale * float(combine(totals[:, 0::2] / totals[:, 1::2])[0]) if is_defined else None,
        scale * (start + span * interval.low) if interval else None,
        scale * (start + span * interval.high) if interval else None,
        asked=rows.height,
        scored=rows.height - failed - unparsed,
        failed=failed,
        unparsed=unparsed,
        estimate=estimate,
    )


def ones(rows: pl.DataFrame) -> pl.Series:
    """A denominator that counts every row."""
    return pl.Series([1.0]).new_from_index(0, rows.height)
