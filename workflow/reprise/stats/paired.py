"""Compare two models on the items that both have answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from reprise.stats.intervals import FloatArray, clustered_estimate, finite_column, is_whole, sums_in_fixed_order

CHUNK_ENTRIES = 1_000_000  # signs that are sampled together, about 8 MB
MAX_EXACT_STEPS = 10**9  # for the exact distribution of whole numbers: clusters times the largest total
ROUNDING = 1e-9  # Sums of the same differences in another order count as equal.


@dataclass(frozen=True)
class PairedComparison:
    """The first model minus the second on their common items."""

    n_items: int
    n_clusters: int
    difference: float
    low: float | None
    """None for fewer than two clusters"""
    high: float | None
    p: float
    """Two-sided p-value of a sign-flip permutation test over clusters; with one item per cluster, the exact McNemar
    test."""

    def scale(self, best: float) -> "PairedComparison":
        """Return the comparison in points of a score that is `best` if all values are 1."""
        low, high = (None if end is None else best * end for end in (self.low, self.high))
        return replace(self, difference=best * self.difference, low=low, high=high)


def compare_paired(
    first: Mapping[str, float],
    second: Mapping[str, float],
    clusters: Mapping[str, str],
    tests: Mapping[str, str] | None = None,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> PairedComparison | None:
    """Compare two models on their common items.

    Args:
        first: Item id -> value of the first model, from 0 to 1.
        second: The same for the second model.
        clusters: Item id -> cluster.
        tests: Item id -> test. If given, the mean of the tests' means is compared.
        level: Confidence level of the interval.
        draws: Number of sampled sign patterns if the p-value is not exact.
        seed: Seed of the sampled patterns.

    Returns:
        The comparison, or None if no item is common to both models.
    """
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    first_values = finite_column([first[item] for item in common], "first")
    second_values = finite_column([second[item] for item in common], "second")
    names, test_of_item = np.unique([tests[item] if tests else "" for item in common], return_inverse=True)
    indicators = [(test_of_item == number).astype(np.float64) for number in range(len(names))]
    cluster_of_item = [clusters[item] for item in common]
    ratios = [(values * members, members) for members in indicators for values in (first_values, second_values)]
    estimate = clustered_estimate(
        ratios, cluster_of_item, lambda shares: (shares[:, 0::2] - shares[:, 1::2]).mean(axis=1)
    )
    interval = estimate.interval(level) if estimate else None
    # An item's weight is inverse to the size of its test, so that all tests count equally.
    weights = len(common) / (len(names) * np.bincount(test_of_item))[test_of_item]
    differences = (first_values - second_values) * weights
    return PairedComparison(
        n_items=len(common),
        n_clusters=len(set(cluster_of_item)),
        difference=float(differences.mean()),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p=sign_flip_p(differences, cluster_of_item, draws=draws, seed=seed),
    )


def sign_flip_p(differences: ArrayLike, clusters: ArrayLike, *, draws: int = 2000, seed: int = 0) -> float:
    """Return the two-sided p-value of a mean difference of 0 when whole clusters swap the two models at random.

    It is exact if the clusters' sums are whole numbers (right and wrong answers), or if there are no more than `draws`
    patterns of signs. Otherwise it is estimated from `draws` seeded patterns and the observed one.
    """
    rows = finite_column(differences, "differences")
    names, cluster_of_row = np.unique(np.asarray(clusters), return_inverse=True)
    sums = sums_in_fixed_order(rows, cluster_of_row, len(names))
    sums = sums[sums != 0]
    if is_whole(sums) and len(sums) * np.abs(sums).sum() <= MAX_EXACT_STEPS:
        return exact_integer_p(sums)
    observed = abs(float(sums.sum()))
    threshold = observed - ROUNDING * float(np.abs(sums).sum())
    if 2 ** len(sums) <= draws:
        # One row per pattern: the binary digits of its number.
        patterns = np.arange(2 ** len(sums))[:, np.newaxis] >> np.arange(len(sums)) & 1
        return float((np.abs((1 - 2 * patterns) @ sums) >= threshold).mean())
    generator = np.random.default_rng(seed)
    chunk_size, extreme = max(1, CHUNK_ENTRIES // len(sums)), 0
    for start in range(0, draws, chunk_size):
        size = (min(chunk_size, draws - start), len(sums))
        totals = (1.0 - 2.0 * generator.integers(2, size=size, dtype=np.int8)) @ sums
        extreme += int((np.abs(totals) >= threshold).sum())
    return (1 + extreme) / (1 + draws)


def share_p(value: float, low: float, high: float, reference: float, level: float) -> float:
    """Return the two-sided p-value of a share against a fixed reference, from the share's interval.

    The interval's end on the side of the reference gives the standard error. The p-value is `1 - level` exactly if that
    end equals the reference.
    """
    distance = abs(reference - value)
    half_interval = value - low if reference < value else high - value
    if distance == 0:
        return 1.0
    if half_interval <= 0:
        return 0.0
    normal = NormalDist()
    return 2 * (1 - normal.cdf(normal.inv_cdf((1 + level) / 2) * distance / half_interval))


def adjust_holm(ps: Sequence[float]) -> list[float]:
    """Adjust p-values for their number by Holm's method, so that each can be compared with alpha on its own."""
    adjusted, largest = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted


def exact_integer_p(sums: FloatArray) -> float:
    """Return the probability that whole numbers with random signs have a total at least as far from 0 as `sums` has.

    The distribution of the total is built by adding one number at a time.
    """
    probabilities = np.ones(1)  # one per total, from minus to plus the largest total in steps of 1
    for size in np.abs(sums).astype(np.int64):
        next_probabilities = np.zeros(len(probabilities) + 2 * size)
        next_probabilities[: len(probabilities)] = probabilities / 2
        next_probabilities[2 * size :] += probabilities / 2
        probabilities = next_probabilities
    totals = np.arange(len(probabilities)) - len(probabilities) // 2
    return min(1.0, float(probabilities[np.abs(totals) >= abs(sums.sum())].sum()))
