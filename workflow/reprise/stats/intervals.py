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

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reprise.stats.beta import beta_cdf, beta_quantile, student_quantile

FloatArray = NDArray[np.float64]


class Interval(NamedTuple):
    """Both ends of a confidence interval."""

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
        """The lower end of the interval."""
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
