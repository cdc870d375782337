"""Estimate paired differences between two conditions with Student's t over clusters.

The interval and the two-sided p-value come from the same statistic, so they always agree. One more cluster as extreme
as the most extreme one is added to the variance. Without it, intervals are too narrow when few clusters differ, and
have no width when none does (compare Agresti and Min 2005, who add discordant pairs). Below `MIN_CLUSTERS` effective
clusters the approximation is not used.
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from reprise.stats.beta import beta_cdf, student_quantile
from reprise.stats.intervals import finite_column, sums_in_fixed_order

MIN_CLUSTERS = 40  # Below it, comparisons are `too few to tell`.
ROUNDING = 1e-18  # Squared deviations up to this size come from rounding only.


@dataclass(frozen=True)
class ClusterT:
    """A mean difference, with its standard error and its degrees of freedom."""

    value: float
    standard_error: float
    freedom: float  # degrees of freedom of Student's t

    @property
    def effective_clusters(self) -> float:
        """Return the number of clusters of equal weight that would determine the mean equally well."""
        return round(self.freedom + 1, 6)  # 40 equal clusters are 40, whatever the rounding of their weights

    def shifted(self, shift: float) -> "ClusterT":
        """Return the estimate with a constant added to its value."""
        return replace(self, value=self.value + shift)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the confidence interval."""
        half_width = student_quantile((1 + level) / 2, self.freedom) * self.standard_error
        return self.value - half_width, self.value + half_width

    @property
    def p(self) -> float:
        """Return the two-sided p-value of a true difference of 0."""
        squared = (self.value / self.standard_error) ** 2
        return beta_cdf(self.freedom / (self.freedom + squared), self.freedom / 2, 0.5)


def estimate_difference(differences: ArrayLike, clusters: ArrayLike, tests: ArrayLike) -> ClusterT | None:
    """Estimate the unweighted mean over tests of the mean differences of their samples.

    Args:
        differences: The first condition minus the second, sample by sample, from -1 to 1.
        clusters: The cluster of each sample.
        tests: The test of each sample, such as one of VELOCITI's seven; all tests count equally.

    Returns:
        The estimate, or None for fewer than two clusters, whose spread is unknown.
    """
    values = finite_column(differences, "differences")
    cluster_names, cluster_of_sample = np.unique(np.asarray(clusters), return_inverse=True)
    test_names, test_of_sample = np.unique(np.asarray(tests), return_inverse=True)
    if len(cluster_names) < 2:
        return None
    sizes = np.bincount(test_of_sample)
    test_means = np.bincount(test_of_sample, weights=values) / sizes
    sample_weights = 1 / (len(test_names) * sizes[test_of_sample])
    deviations = (values - test_means[test_of_sample]) * sample_weights
    cluster_deviations = sums_in_fixed_order(deviations, cluster_of_sample, len(cluster_names))
    cluster_weights = np.bincount(cluster_of_sample, weights=sample_weights)
    concentration = float(cluster_weights @ cluster_weights)  # 1 / G for G clusters of equal weight
    squares = cluster_deviations**2
    largest = float(squares.max())
    # Without any spread, the added cluster has average weight (1 / G), and its samples differ from the mean by 1.
    added = largest if largest > ROUNDING else concentration**2
    variance = (float(squares.sum()) + added) / (1 - concentration)
    return ClusterT(float(test_means.mean()), sqrt(variance), 1 / concentration - 1)
