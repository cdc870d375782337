"""Compute confidence intervals and tests of means of bounded values whose rows come in clusters (videos, pairs).

Rows of a cluster resemble each other, so n rows are worth fewer independent ones: n divided by the design effect. The
interval of a share is the exact binomial interval (Clopper-Pearson) for that effective number of rows. Student's t
widens it, because the design effect is estimated from few clusters (Korn and Graubard 1998). With one row per cluster
it is the exact binomial interval itself. Any mean of bounded values is treated alike: its effective number of rows is
the number that a share would need for the same variance.

A design effect estimated from the data is too small exactly when the data look too good: in 40 right answers, no two
mistakes share a cluster. Each bound therefore estimates it from the data and one more cluster. That cluster lies wholly
beyond the bound: all wrong for the lower bound, all right for the upper one. It is as heavy as the clusters that
determine the variance. Fay and Feuer (1997) similarly add one event to weighted counts. If all rows are right, the
effective number of rows is the number of clusters. It is never less, because rows can do no worse than agree with
their whole cluster.

The interval of a difference combines the intervals of its two means (MOVER, Newcombe 1998). Everything is in closed
form, without random sampling. `docs/reference/statistics.md` explains the choice of method, and
`docs/reference/coverage.md` reports its measured coverage.
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
"""A function of ratios, which returns one value for each row of an array of ratios."""

STEP = 1e-6  # relative step of a numeric derivative
TOLERANCE = 1e-6  # largest rounding error of a mean beyond its limits
DECIMALS = 9  # correct decimals of a numeric derivative of a linear function
EXACT_SUMS = 2**53  # Whole numbers up to this one, and their sums in any order, are exact.


class Interval(NamedTuple):
    """The two ends of a confidence interval."""

    low: float
    high: float


class RowProducts(NamedTuple):
    """Sums over the rows of a mean, as if each row were its own cluster."""

    squares: float
    """squared deviations"""
    mixed: float
    """deviations times weights"""
    weights: float
    """squared weights"""


@dataclass(frozen=True)
class BoundedMean:
    """A weighted mean of values from 0 to 1, with the data that determine its spread."""

    value: float
    deviations: FloatArray
    """each cluster's contribution to the mean, minus the contribution of an average cluster; the sum is 0"""
    weights: FloatArray
    """each cluster's share of the weights; the sum is 1"""
    rows: RowProducts

    def interval(self, level: float) -> Interval:
        """Return both bounds; each one errs with half of the probability that the level leaves."""
        return Interval(self.lower(level), 1.0 - self.complement().lower(level))

    def lower(self, level: float) -> float:
        """Return the lower bound of the interval."""
        if self.value <= 0:
            return 0.0
        return beta_quantile((1 - level) / 2, *self._beta(level))

    def p_above(self, chance: float, level: float) -> float:
        """Return the one-sided p-value against a mean of at most `chance`.

        It is the error probability at which the lower bound is `chance`. `level` is that of the interval, so that both
        use the same effective number of rows. The p-value is below (1 - level) / 2 exactly if the interval's lower end
        is above `chance`.
        """
        return 1.0 if self.value <= 0 else beta_cdf(chance, *self._beta(level))

    def complement(self) -> "BoundedMean":
        """Return the mean of 1 minus the values."""
        rows = self.rows._replace(mixed=-self.rows.mixed)
        return BoundedMean(1.0 - self.value, -self.deviations, self.weights, rows)

    def effective_rows(self, level: float) -> float:
        """Return the number of independent rows of a share whose lower bound would be as uncertain as this one."""
        clusters = 1 / float(self.weights @ self.weights)
        rows = self.independent_rows()
        normal = NormalDist().inv_cdf((1 + level) / 2)
        widening = student_quantile((1 + level) / 2, max(1.0, clusters - 1)) / normal
        return max(rows / widening**2, min(rows, clusters))

    def _beta(self, level: float) -> tuple[float, float]:
        """Return the parameters of the beta distribution of the lower bound."""
        rows = self.effective_rows(level)
        return self.value * rows, (1 - self.value) * rows + 1

    def independent_rows(self) -> float:
        """Return a share's variance per row over this mean's variance, both with one more cluster of zeros."""
        added_weight = float((self.weights**3).sum() / (self.weights @ self.weights))
        total = 1 + added_weight
        shrunk_value = self.value / total
        shift = self.value - shrunk_value
        by_row = self.rows.squares + 2 * shift * self.rows.mixed + shift**2 * self.rows.weights
        by_row += added_weight * self.rows.weights * shrunk_value**2
        shifted = self.deviations + shift * self.weights
        by_cluster = float(shifted @ shifted) + (added_weight * shrunk_value) ** 2
        # Rows of a cluster do not repel each other, so a variance below that of independent rows is an accident.
        return shrunk_value * (1 - shrunk_value) * total / max(by_row, by_cluster)


@dataclass(frozen=True)
class Difference:
    """One mean minus another over the same clusters."""

    first: BoundedMean
    second: BoundedMean

    def interval(self, level: float) -> Interval:
        """Combine the distances to the bounds of both means like independent errors.

        A negative correlation over clusters widens the interval.
        """
        first, second = self.first.interval(level), self.second.interval(level)
        first_deviations, second_deviations = self.first.deviations, self.second.deviations
        scale = sqrt(float(first_deviations @ first_deviations) * float(second_deviations @ second_deviations))
        # Only a correlation that widens the interval counts; a few clusters do not prove one that narrows it.
        correlation = min(0.0, float(first_deviations @ second_deviations) / scale) if scale > 0 else 0.0

        def combined(first_distance: float, second_distance: float) -> float:
            return sqrt(first_distance**2 + second_distance**2 - 2 * correlation * first_distance * second_distance)

        value = self.first.value - self.second.value
        lower_distance = combined(self.first.value - first.low, second.high - self.second.value)
        upper_distance = combined(first.high - self.first.value, self.second.value - second.low)
        return Interval(max(-1.0, value - lower_distance), min(1.0, value + upper_distance))


# Estimation of a mean, or of a difference of two means, from clustered rows


def clustered_estimate(
    ratios: Sequence[tuple[ArrayLike, ArrayLike]], clusters: ArrayLike, statistic: Statistic
) -> BoundedMean | Difference | None:
    """Estimate a function of ratios of sums over clustered rows, with values from 0 to 1.

    A function that decreases in a ratio is treated as a difference, and must be linear. Any other function is
    linearized at the data.

    Args:
        ratios: Numerator and denominator of each ratio, row by row.
        clusters: The cluster of each row.
        statistic: The function of the ratios.

    Returns:
        The estimate, or None if it is undefined: for fewer than two clusters, whose spread is unknown, for a ratio
        0 / 0, and for a value below 0 or above 1.
    """
    columns = [finite_column(part, f"ratio {index}") for index, ratio in enumerate(ratios) for part in ratio]
    names, cluster_of_row = np.unique(np.asarray(clusters), return_inverse=True)
    totals = np.array([column.sum() for column in columns])
    if not (totals[1::2] > 0).all():
        return None
    values = totals[0::2] / totals[1::2]
    # Derivative with respect to each ratio. A ratio of 0 has no backward step, because ratios are not negative.
    forward = STEP * np.where(values > 0, values, 1.0)
    backward = np.where(values > 0, forward, 0.0)
    # Row i of the statistic's argument changes ratio i only.
    change = statistic(values + np.diag(forward)) - statistic(values - np.diag(backward))
    slopes: FloatArray = change / (forward + backward)
    if (slopes >= 0).all():
        value = float(statistic(values[np.newaxis])[0])
        return mean_of_ratios(columns, cluster_of_row, len(names), slopes, value)
    slopes = slopes.round(DECIMALS)
    sides = (rising_ratios(columns, side) for side in (slopes, -slopes))
    first, second = (mean_of_ratios(side, cluster_of_row, len(names), weights) for side, weights in sides)
    return Difference(first, second) if first and second else None


def rising_ratios(columns: Sequence[FloatArray], slopes: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Return the ratios that increase a difference, with their slopes.

    Ratios with the same denominators are combined to their net values, so that a row that counts equally for and
    against the difference does not count.
    """
    groups: dict[bytes, list[int]] = {}
    for index in range(len(slopes)):
        groups.setdefault(columns[2 * index + 1].tobytes(), []).append(index)
    rising: list[FloatArray] = []
    weights = []
    for members in groups.values():
        total_slope = float(slopes[members].clip(min=0).sum())
        if total_slope > 0:
            net = np.array([columns[2 * index] for index in members]).T @ slopes[members] / total_slope
            rising += [net.round(DECIMALS).clip(min=0), columns[2 * members[0] + 1]]
            weights.append(total_slope)
    return rising, np.array(weights)


def mean_of_ratios(
    columns: Sequence[FloatArray],
    cluster_of_row: IntArray,
    clusters: int,
    slopes: FloatArray,
    value: float | None = None,
) -> BoundedMean | None:
    """Return a mean of ratios, weighted by slopes; pass `value` if the mean is linear only locally."""
    totals = np.array([column.sum() for column in columns])
    denominators = totals[1::2]
    ratios = totals[0::2] / denominators
    shares = (slopes if slopes.any() else np.ones_like(slopes)) / denominators
    # Coefficients of a cluster's sums of the columns, in the cluster's deviation and in its weight.
    in_deviation, in_weight = np.zeros(len(columns)), np.zeros(len(columns))
    in_deviation[0::2], in_deviation[1::2] = slopes / denominators, -slopes * ratios / denominators
    in_weight[1::2] = shares / (shares @ denominators)
    sums = np.column_stack([sums_in_fixed_order(column, cluster_of_row, clusters) for column in columns])
    weights = sums @ in_weight
    if np.count_nonzero(weights) < 2:
        return None
    value = float(slopes @ ratios) if value is None else value
    # Extraction as in the authors' code may accept a rating above the maximum, such as 5 of 3.
    if not -TOLERANCE <= value <= 1 + TOLERANCE:
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
    """Sum a column by cluster, with a result that is bitwise independent of the order of the rows."""
    if not is_whole(column):
        order = np.lexsort((column, cluster_of_row))
        column, cluster_of_row = column[order], cluster_of_row[order]
    return np.bincount(cluster_of_row, weights=column, minlength=clusters).astype(np.float64)


def is_whole(values: FloatArray) -> bool:
    """Return whether all values are whole numbers small enough for their sums to be exact in any order."""
    return bool((values == np.rint(values)).all() and np.abs(values).sum() < EXACT_SUMS)


def finite_column(values: ArrayLike, name: str) -> FloatArray:
    """Convert values to a column of floats.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    column = np.asarray(values, dtype=np.float64)
    if not np.isfinite(column).all():
        raise ValueError(f"{name}: NaN or infinity in row {int(np.flatnonzero(~np.isfinite(column))[0])}")
    return column
