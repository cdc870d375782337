"""A metric as a number with its interval and its counts, from rows of right and wrong, clustered by video."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reprise import stats

Ratios = NDArray[np.float64]


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
    right: float | None = None
    """how many samples were right, where the metric is a plain share of samples"""
    missing: int | None = None
    """samples that were never asked, where a sample is more than one item; else the items are counted"""


@dataclass(frozen=True)
class Resampling:
    """How intervals are drawn."""

    draws: int
    level: float
    seed: int


def first(ratios: Ratios) -> Ratios:
    """The one ratio there is."""
    return ratios[:, 0]


def difference(ratios: Ratios) -> Ratios:
    """The first ratio minus the second."""
    return ratios[:, 0] - ratios[:, 1]


def mean(ratios: Ratios) -> Ratios:
    """The unweighted mean of all ratios."""
    return np.asarray(ratios.mean(axis=1))


def measure(
    metric: str,
    group: str,
    rows: pl.DataFrame,
    ratios: Sequence[tuple[pl.Series, pl.Series]],
    resampling: Resampling,
    combine: Callable[[Ratios], Ratios] = first,
    scale: float = 100,
) -> Measure:
    """A function of ratios of sums over rows (`unit`, `failed`, `unparsed`); undefined where a ratio is 0 / 0."""
    columns = [part.cast(pl.Float64).to_numpy() for ratio in ratios for part in ratio]

    def statistic(sums: Ratios) -> Ratios:
        return combine(sums[:, 0::2] / sums[:, 1::2])

    totals = np.array([[column.sum() for column in columns]])
    is_defined = bool(rows.height) and bool((totals[:, 1::2] > 0).all())
    interval = (
        stats.clustered_statistic_interval(
            columns,
            rows["unit"].to_numpy(),
            statistic,
            draws=resampling.draws,
            level=resampling.level,
            seed=resampling.seed,
        )
        if is_defined
        else None
    )
    failed = int(rows["failed"].sum())
    unparsed = int((rows["unparsed"] & ~rows["failed"]).sum())
    return Measure(
        metric,
        group,
        scale * float(statistic(totals)[0]) if is_defined else None,
        scale * interval.low if interval else None,
        scale * interval.high if interval else None,
        asked=rows.height,
        scored=rows.height - failed - unparsed,
        failed=failed,
        unparsed=unparsed,
        right=float(totals[0, 0]) if len(ratios) == 1 and totals[0, 1] == rows.height else None,
    )


def ones(rows: pl.DataFrame) -> pl.Series:
    """A denominator that counts every row."""
    return pl.Series([1.0]).new_from_index(0, rows.height)
