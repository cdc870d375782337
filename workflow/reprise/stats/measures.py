"""A metric as a number with its interval and its counts, from rows of right and wrong, clustered by video."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:  # numpy takes half as long to import as all else: stages that measure nothing do without
    import numpy as np
    from numpy.typing import NDArray

    from reprise.stats.clusters import Estimate, Interval

Ratios: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True)
class Resampling:
    """How intervals are drawn, and those that wait to be drawn: all of them see the same draws, which are made once."""

    draws: int
    level: float
    seed: int
    waiting: "list[PendingInterval]" = field(default_factory=list, compare=False, repr=False)

    def draw(self) -> None:
        """Draw the intervals of all that wait."""
        from reprise.stats.clusters import clustered_intervals

        estimates = [one.estimate for one in self.waiting]
        found = clustered_intervals(estimates, level=self.level, draws=self.draws, seed=self.seed)
        for one, interval in zip(self.waiting, found, strict=True):
            one.drawn = interval
        self.waiting.clear()


@dataclass(eq=False)
class PendingInterval:
    """An interval that is drawn when somebody looks at it; none where one cannot be drawn."""

    estimate: "Estimate"
    resampling: Resampling
    drawn: "Interval | None" = None

    def __post_init__(self) -> None:
        self.resampling.waiting.append(self)

    @property
    def interval(self) -> "Interval | None":
        if self.resampling.waiting:
            self.resampling.draw()
        return self.drawn


@dataclass(frozen=True)
class Measure:
    """One metric of one group, in percent or on its own scale, before it is given a run, a reader and a convention."""

    metric: str
    group: str
    value: float | None
    pending: PendingInterval | None
    scale: float
    asked: int
    scored: int
    failed: int
    unparsed: int
    right: float | None = None
    """how many samples were right, where the metric is a plain share of samples"""
    missing: int | None = None
    """samples that were never asked, where a sample is more than one item; else the items are counted"""

    @property
    def low(self) -> float | None:
        """Lower end of the interval, if there is one."""
        interval = self.pending.interval if self.pending else None
        return self.scale * interval.low if interval else None

    @property
    def high(self) -> float | None:
        """Upper end of the interval, if there is one."""
        interval = self.pending.interval if self.pending else None
        return self.scale * interval.high if interval else None


def first(ratios: Ratios) -> Ratios:
    """The one ratio there is."""
    return ratios[:, 0]


def difference(ratios: Ratios) -> Ratios:
    """The first ratio minus the second."""
    return ratios[:, 0] - ratios[:, 1]


def mean(ratios: Ratios) -> Ratios:
    """The unweighted mean of all ratios."""
    means: Ratios = ratios.mean(axis=1)
    return means


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
    import numpy as np

    from reprise.stats.clusters import Estimate, cluster_sums

    columns = [part.cast(pl.Float64).to_numpy() for ratio in ratios for part in ratio]

    def statistic(sums: Ratios) -> Ratios:
        return combine(sums[:, 0::2] / sums[:, 1::2])

    totals = [[column.sum() for column in columns]]
    is_defined = bool(rows.height) and all(below > 0 for below in totals[0][1::2])
    estimate = Estimate(cluster_sums(columns, rows["unit"].to_numpy()), statistic) if is_defined else None
    failed = int(rows["failed"].sum())
    unparsed = int((rows["unparsed"] & ~rows["failed"]).sum())
    return Measure(
        metric,
        group,
        scale * float(statistic(np.array(totals))[0]) if is_defined else None,
        PendingInterval(estimate, resampling) if estimate else None,
        scale,
        asked=rows.height,
        scored=rows.height - failed - unparsed,
        failed=failed,
        unparsed=unparsed,
        right=float(totals[0][0]) if len(ratios) == 1 and totals[0][1] == rows.height else None,
    )


def ones(rows: pl.DataFrame) -> pl.Series:
    """A denominator that counts every row."""
    return pl.Series([1.0]).new_from_index(0, rows.height)
