"""Two models compared on the items that both were asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reprise.stats.intervals import FloatArray, clustered_estimate, finite_column, is_whole, sums_in_fixed_order

ENTRIES_AT_ONCE = 1_000_000  # signs that are drawn together, about 8 MB
STEPS_AT_MOST = 10**9  # of the exact distribution of whole numbers: clusters times the largest total
ROUNDING = 1e-9  # two sums of the same differences in another order count as equal


@dataclass(frozen=True)
class PairedComparison:
    """First model minus second model on their common items."""

    n_items: int
    n_clusters: int
    difference: float
    low: float | None
    """None for fewer than two clusters"""
    high: float | None
    p: float
    """Sign-flip permutation test over clusters, two-sided; with one item a cluster the exact McNemar test."""


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
    """Compare two models' values from 0 to 1 by item id; None when no item is common to both.

    With `tests`, item -> test, what is compared is the mean of the tests' means.
    """
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    ours = finite_column([first[item] for item in common], "first")
    theirs = finite_column([second[item] for item in common], "second")
    names, test_of_item = np.unique([tests[item] if tests else "" for item in common], return_inverse=True)
    inside = [(test_of_item == number).astype(np.float64) for number in range(len(names))]
    cluster_of_item = [clusters[item] for item in common]
    ratios = [(values * members, members) for members in inside for values in (ours, theirs)]
    estimate = clustered_estimate(
        ratios, cluster_of_item, lambda shares: (shares[:, 0::2] - shares[:, 1::2]).mean(axis=1)
    )
    interval = estimate.interval(level) if estimate else None
    # An item counts by how few there are of its test; all count alike where there is one test.
    weights = len(common) / (len(names) * np.bincount(test_of_item))[test_of_item]
    differences = (ours - theirs) * weights
    return PairedComparison(
        n_items=len(common),
        n_clusters=len(set(cluster_of_item)),
        difference=float(differences.mean()),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p=sign_flip_p(differences, cluster_of_item, draws=draws, seed=seed),
    )


def sign_flip_p(differences: ArrayLike, clusters: ArrayLike, *, draws: int = 2000, seed: int = 0) -> float:
    """Two-sided p-value of a mean difference of 0 when whole clusters swap the two models at random.

    Exact where the clusters' sums are whole numbers (right and wrong answers), or where all patterns of signs are no
    more than `draws`; otherwise from `draws` seeded patterns and the observed one.
    """
    rows = finite_column(differences, "differences")
    names, cluster_of_row = np.unique(np.asarray(clusters), return_inverse=True)
    sums = sums_in_fixed_order(rows, cluster_of_row, len(names))
    sums = sums[sums != 0]
    if is_whole(sums) and len(sums) * np.abs(sums).sum() <= STEPS_AT_MOST:
        return whole_flips_p(sums)
    observed = abs(float(sums.sum()))
    threshold = observed - ROUNDING * float(np.abs(sums).sum())
    if 2 ** len(sums) <= draws:
        patterns = np.arange(2 ** len(sums))[:, np.newaxis] >> np.arange(len(sums)) & 1
        return float((np.abs((1 - 2 * patterns) @ sums) >= threshold).mean())
    generator = np.random.default_rng(seed)
    at_once, extreme = max(1, ENTRIES_AT_ONCE // len(sums)), 0
    for start in range(0, draws, at_once):
        size = (min(at_once, draws - start), len(sums))
        totals = (1.0 - 2.0 * generator.integers(2, size=size, dtype=np.int8)) @ sums
        extreme += int((np.abs(totals) >= threshold).sum())
    return (1 + extreme) / (1 + draws)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjustment of p-values for their number: each may be held against alpha as if it were the only one."""
    adjusted, largest = [0.0] * len(ps), 0.0
    for before, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - before) * ps[place]))
        adjusted[place] = largest
    return adjusted


def whole_flips_p(sums: FloatArray) -> float:
    """Probability that random signs take whole numbers as far from 0 as they are, by adding one number at a time."""
    likely = np.ones(1)  # of the totals from minus to plus the largest, in steps of 1
    for size in np.abs(sums).astype(np.int64):
        either = np.zeros(len(likely) + 2 * size)
        either[: len(likely)] = likely / 2
        either[2 * size :] += likely / 2
        likely = either
    totals = np.arange(len(likely)) - len(likely) // 2
    return min(1.0, float(likely[np.abs(totals) >= abs(sums.sum())].sum()))
