"""Cluster-t estimates of paired differences: by hand, against scipy, and by simulation with known truth."""

from math import sqrt

import numpy as np
import pytest
from reprise.stats.cluster_t import ClusterT, estimate_difference
from scipy.stats import t as student


def test_worked_example() -> None:
    """Five clusters of one sample: four do not differ, one differs by 1.

    The mean is 0.2. The deviations from it, divided by 5, are four times -0.04 and once 0.16; their squares sum to
    0.032, and the largest is 0.0256. It is added once more: 0.0576. The variance is this sum divided by 1 - 1/5, the
    correction for five clusters: 0.0576 / 0.8 = 0.072.
    """
    estimate = estimate_difference([0, 0, 0, 0, 1], list("abcde"), ["all"] * 5)
    assert estimate == ClusterT(pytest.approx(0.2), pytest.approx(sqrt(0.072)), pytest.approx(4))


def test_tests_count_equally_and_clusters_may_share_tests() -> None:
    differences, tests = [1, 1, 0, 0, 0, 0], ["a", "a", "b", "b", "b", "b"]
    estimate = estimate_difference(differences, list("uvuvwx"), tests)
    assert estimate is not None
    assert estimate.value == pytest.approx(0.5), "the mean of 1 and 0, not of six samples"


@pytest.mark.parametrize("freedom", [1.5, 39, 499])
@pytest.mark.parametrize("value", [0.0, 0.3, -1.9])
def test_interval_and_p_are_those_of_student_s_t(freedom: float, value: float) -> None:
    estimate = ClusterT(value, 0.7, freedom)
    half_width = student.ppf(0.975, freedom) * 0.7
    assert estimate.interval(0.95) == pytest.approx((value - half_width, value + half_width))
    assert estimate.p == pytest.approx(2 * student.sf(abs(value) / 0.7, freedom))


def test_equal_answers_have_an_interval_with_a_width() -> None:
    estimate = estimate_difference(np.zeros(40), np.arange(40), np.zeros(40))
    assert estimate is not None and estimate.p == 1
    assert estimate.interval(0.95) == pytest.approx((-0.0512, 0.0512), abs=1e-4)


def test_one_cluster_gives_no_estimate() -> None:
    assert estimate_difference([0.0, 1.0], ["a", "a"], ["all"] * 2) is None


@pytest.mark.parametrize(("lost", "gained"), [(0.05, 0.05), (0.2, 0.2), (0.2, 0.1)])
@pytest.mark.parametrize(("clusters", "per_cluster"), [(40, 1), (40, 4), (200, 3)])
def test_simulated_coverage_and_size(lost: float, gained: float, clusters: int, per_cluster: int) -> None:
    """Samples of a cluster share a third of their draws."""
    generator, simulations = np.random.default_rng(0), 600
    covered = rejected = 0
    for _ in range(simulations):
        own = generator.random((clusters, per_cluster))
        draws = np.where(generator.random((clusters, 1)) < 1 / 3, own[:, :1], own)
        differences = np.where(draws < lost, 1.0, np.where(draws > 1 - gained, -1.0, 0.0)).ravel()
        estimate = estimate_difference(
            differences, np.repeat(np.arange(clusters), per_cluster), ["all"] * differences.size
        )
        assert estimate is not None
        low, high = estimate.interval(0.95)
        covered += low <= lost - gained <= high
        rejected += estimate.p < 0.05
    assert covered / simulations > 0.93
    if lost == gained:
        assert rejected / simulations < 0.07
