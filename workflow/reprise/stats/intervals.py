"""Confidence intervals and tests of means of bounded values whose rows come in clusters (videos, pairs).

Rows of a cluster resemble each other, so that n rows are worth fewer independent ones: n divided by the design effect.
The interval of a share is the exact binomial one (Clopper-Pearson) for that effective number of rows, widened by
Student's t for the few clusters from which the design effect is known (Korn and Graubard 1998). With one row a cluster
it is the exact binomial interval itself. Any mean of bounded values goes the same way: its effective number of rows is
the one that a share would need for the same variance.

A design effect that is estimated from the data is too small just where the data look too good: in 40 right answers no
two mistakes share a cluster. So each bound estimates it from the data and one more cluster, as heavy as those that make
the variance, which lies wholly beyond the bound: all wrong for the lower bound, all right for the upper one (Fay and
Feuer 1997 add one event to weighted counts in the same spirit). Where all is right, this leaves the number of clusters,
below which the effective number never falls: rows can do no worse than agree with their whole cluster.

The interval of a difference combines those of the two shares that it is made of (MOVER, Newcombe 1998). All of it is a
closed form: nothing is drawn at random. `docs/reference/statistics.md` says why this method,
`docs/reference/coverage.md` how well it holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.stats.beta import beta_cdf, beta_quantile, student_quantile

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Statistic = Callable[[FloatArray], FloatArray]
"""A function of ratios: a value for each line of an array of them."""

STEP = 1e-6  # of a numeric derivative, relative
TOLERANCE = 1e-6  # how far rounding may carry a mean beyond its limits
DECIMALS = 9  # that such a derivative has right where a function is linear
EXACT_SUMS = 2**53  # whole numbers up to here, and so their sums, are exact in any order


class Interval(NamedTuple):
    low: float
    high: float


class RowProducts(NamedTuple):
    """Sums over rows of a mean: the rows as if each were its own cluster."""

    squares: float
    """squared deviations"""
    mixed: float
    """deviations times weights"""
    weights: float
    """squared weights"""


@dataclass(frozen=True)
class BoundedMean:
    """A weighted mean of values from 0 to 1, and what its spread is known from."""

    value: float
    deviations: FloatArray
    """each cluster's share in the mean, less what it would be if the cluster were like all: they add up to 0"""
    weights: FloatArray
    """each cluster's share in the weights: they add up to 1"""
    rows: RowProducts

    def interval(self, level: float) -> Interval:
        """Both bounds; each of them misses in half of the cases that the level leaves."""
        return Interval(self.lower(level), 1.0 - self.mirrored().lower(level))

    def lower(self, level: float) -> float:
        if self.value <= 0:
            return 0.0
        return beta_quantile((1 - level) / 2, *self._beta(level))

    def p_above(self, chance: float, level: float) -> float:
        """One-sided p-value against a mean of `chance` or less: the error at which the lower bound is `chance`.

        The level is that of the interval, with which it shares the effective number of rows: the p-value is below half
        of what the level leaves exactly where the interval's lower end is above `chance`.
        """
        return 1.0 if self.value <= 0 else beta_cdf(chance, *self._beta(level))

    def mirrored(self) -> "BoundedMean":
        """The mean of 1 minus the values."""
        rows = self.rows._replace(mixed=-self.rows.mixed)
        return BoundedMean(1.0 - self.value, -self.deviations, self.weights, rows)

    def effective_rows(self, level: float) -> float:
        """How many independent rows of a share would leave the lower bound as uncertain as it is."""
        clusters = 1 / float(self.weights @ self.weights)
        rows = self.independent_rows()
        normal = NormalDist().inv_cdf((1 + level) / 2)
        widening = student_quantile((1 + level) / 2, max(1.0, clusters - 1)) / normal
        return max(rows / widening**2, min(rows, clusters))

    def _beta(self, level: float) -> tuple[float, float]:
        rows = self.effective_rows(level)
        return self.value * rows, (1 - self.value) * rows + 1

    def independent_rows(self) -> float:
        """A share's variance a row over the variance of this mean, both with one more cluster that is all 0."""
        added = float((self.weights**3).sum() / (self.weights @ self.weights))
        total = 1 + added
        value = self.value / total
        shift = self.value - value
        by_row = self.rows.squares + 2 * shift * self.rows.mixed + shift**2 * self.rows.weights
        by_row += added * self.rows.weights * value**2
        shifted = self.deviations + shift * self.weights
        by_cluster = float(shifted @ shifted) + (added * value) ** 2
        # Rows of a cluster do not repel each other: less variance than independent rows have is an accident.
        return value * (1 - value) * total / max(by_row, by_cluster)


@dataclass(frozen=True)
class Difference:
    """One mean minus another over the same clusters."""

    ahead: BoundedMean
    behind: BoundedMean

    def interval(self, level: float) -> Interval:
        """The distances to the bounds of both means, added like independent errors."""
        ahead, behind = self.ahead.interval(level), self.behind.interval(level)
        first, second = self.ahead.deviations, self.behind.deviations
        scale = sqrt(float(first @ first) * float(second @ second))
        # Over clusters, where it widens; a few clusters do not prove a correlation that would narrow.
        correlation = min(0.0, float(first @ second) / scale) if scale > 0 else 0.0

        def together(one: float, other: float) -> float:
            return sqrt(one**2 + other**2 - 2 * correlation * one * other)

        value = self.ahead.value - self.behind.value
        below = together(self.ahead.value - ahead.low, behind.high - self.behind.value)
        above = together(ahead.high - self.ahead.value, self.behind.value - behind.low)
        return Interval(max(-1.0, value - below), min(1.0, value + above))


# From rows in clusters to a mean, or a difference of two means


def clustered_estimate(
    ratios: Sequence[tuple[ArrayLike, ArrayLike]], clusters: ArrayLike, statistic: Statistic
) -> BoundedMean | Difference | None:
    """A function of ratios, each of what is added up above and below the line, row by row; its values are 0 to 1.

    None for fewer than two clusters, which say nothing about the spread between clusters, where a ratio is 0 / 0, and
    for a value beyond 0 and 1.
    A function that falls with a ratio is a difference and has to be linear; any other is taken as linear at the data.
    """
    columns = [finite_column(part, f"ratio {index}") for index, ratio in enumerate(ratios) for part in ratio]
    names, cluster_of_row = np.unique(np.asarray(clusters), return_inverse=True)
    totals = np.array([column.sum() for column in columns])
    if not (totals[1::2] > 0).all():
        return None
    found = totals[0::2] / totals[1::2]
    # The derivative by each ratio, none of which is taken below 0.
    forward = STEP * np.where(found > 0, found, 1.0)
    backward = np.where(found > 0, forward, 0.0)
    change = statistic(found + np.diag(forward)) - statistic(found - np.diag(backward))
    slopes: FloatArray = change / (forward + backward)
    if (slopes >= 0).all():
        value = float(statistic(found[np.newaxis])[0])
        return mean_of_ratios(columns, cluster_of_row, len(names), slopes, value)
    slopes = slopes.round(DECIMALS)
    sides = (raising(columns, side) for side in (slopes, -slopes))
    ahead, behind = (mean_of_ratios(side, cluster_of_row, len(names), weights) for side, weights in sides)
    return Difference(ahead, behind) if ahead and behind else None


def raising(columns: Sequence[FloatArray], slopes: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """The ratios that raise a difference, with their slopes: shares of rows that count for it more than against it.

    Ratios over the same denominators are taken together, so that a row that both count alike does not count.
    """
    together: dict[bytes, list[int]] = {}
    for index in range(len(slopes)):
        together.setdefault(columns[2 * index + 1].tobytes(), []).append(index)
    found: list[FloatArray] = []
    weights = []
    for members in together.values():
        weight = float(slopes[members].clip(min=0).sum())
        if weight > 0:
            net = np.array([columns[2 * index] for index in members]).T @ slopes[members] / weight
            found += [net.round(DECIMALS).clip(min=0), columns[2 * members[0] + 1]]
            weights.append(weight)
    return found, np.array(weights)


def mean_of_ratios(
    columns: Sequence[FloatArray],
    cluster_of_row: IntArray,
    clusters: int,
    slopes: FloatArray,
    value: float | None = None,
) -> BoundedMean | None:
    """A mean of ratios, weighted by slopes; its value is given where it is linear at the data only."""
    totals = np.array([column.sum() for column in columns])
    below = totals[1::2]
    ratios = totals[0::2] / below
    shares = (slopes if slopes.any() else np.ones_like(slopes)) / below
    in_deviation, in_weight = np.zeros(len(columns)), np.zeros(len(columns))
    in_deviation[0::2], in_deviation[1::2] = slopes / below, -slopes * ratios / below
    in_weight[1::2] = shares / (shares @ below)
    sums = np.column_stack([sums_in_fixed_order(column, cluster_of_row, clusters) for column in columns])
    weights = sums @ in_weight
    if np.count_nonzero(weights) < 2:
        return None
    value = float(slopes @ ratios) if value is None else value
    if not -TOLERANCE <= value <= 1 + TOLERANCE:  # a reader like the authors' may let a judge rate 5 of 3
        return None
    table = np.column_stack(columns)
    products = table.T @ table
    return BoundedMean(
        min(1.0, max(0.0, value)),
        sums @ in_deviation,
        weights,
        RowProducts(
            float(in_deviation @ products @ in_deviation),
            float(in_deviation @ products @ in_weight),
            float(in_weight @ products @ in_weight),
        ),
    )


def sums_in_fixed_order(column: FloatArray, cluster_of_row: IntArray, clusters: int) -> FloatArray:
    """Sums by cluster whose last bit does not depend on the order of the rows."""
    if not is_whole(column):
        order = np.lexsort((column, cluster_of_row))
        column, cluster_of_row = column[order], cluster_of_row[order]
    return np.bincount(cluster_of_row, weights=column, minlength=clusters).astype(np.float64)


def is_whole(values: FloatArray) -> bool:
    """Whether all values are whole numbers, so small that sums of them are exact in any order."""
    return bool((values == np.rint(values)).all() and np.abs(values).sum() < EXACT_SUMS)


def finite_column(values: ArrayLike, name: str) -> FloatArray:
    """The values as one column of floats; NaN and infinity are refused."""
    column = np.asarray(values, dtype=np.float64)
    if not np.isfinite(column).all():
        raise ValueError(f"{name}: NaN or infinity in row {int(np.flatnonzero(~np.isfinite(column))[0])}")
    return column
