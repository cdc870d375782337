"""Two models compared on the items that both were asked."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reprise.stats.binomial import binomial_p
from reprise.stats.clusters import (
    ENTRIES_AT_ONCE,
    FloatArray,
    cluster_sums,
    clustered_interval,
    finite_column,
)

ROUNDING = 1e-9  # two sums of the same differences in another order count as equal


@dataclass(frozen=True)
class PairedComparison:
    """First model minus second model on their common items."""

    n_items: int
    """Items that both models were asked."""
    n_clusters: int
    """Clusters that these items come from."""
    difference: float
    """Mean of the first minus mean of the second."""
    low: float | None
    """Clustered bootstrap interval of the difference; None for fewer than two clusters."""
    high: float | None
    p: float
    """Sign-flip permutation test over clusters, two-sided."""
    mcnemar: float | None
    """Exact McNemar test over items, which takes them as independent; None unless every value is 0 or 1."""


def compare_paired(
    first: Mapping[str, float],
    second: Mapping[str, float],
    clusters: Mapping[str, str],
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> PairedComparison | None:
    """Compare two models' values by item id; None when no item is common to both."""
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    homeless = [item for item in common if item not in clusters]
    if homeless:
        raise ValueError(f"item '{homeless[0]}' has no cluster")
    ours = finite_column([first[item] for item in common], "first")
    theirs = finite_column([second[item] for item in common], "second")
    cluster_of_item = [clusters[item] for item in common]
    differences = ours - theirs
    interval = clustered_interval(differences, cluster_of_item, level=level, draws=draws, seed=seed)
    binary = bool(np.isin(ours, (0, 1)).all() and np.isin(theirs, (0, 1)).all())
    return PairedComparison(
        n_items=len(common),
        n_clusters=len(set(cluster_of_item)),
        difference=float(differences.mean()),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        p=sign_flip_p(differences, cluster_of_item, draws=draws, seed=seed),
        mcnemar=mcnemar_p(ours, theirs) if binary else None,
    )


def mcnemar_p(first: ArrayLike, second: ArrayLike) -> float:
    """Exact two-sided McNemar p-value of two models' right/wrong answers to the same items, row by row."""
    ours, theirs = finite_column(first, "first"), finite_column(second, "second")
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} answers against {len(theirs)}")
    if not (np.isin(ours, (0, 1)).all() and np.isin(theirs, (0, 1)).all()):
        raise ValueError("McNemar's test needs answers that are 0 or 1")
    only_first = int(((ours == 1) & (theirs == 0)).sum())
    only_second = int(((ours == 0) & (theirs == 1)).sum())
    # Without a discordant pair nothing speaks against equality.
    p = binomial_p(only_first, only_first + only_second, 0.5, "two-sided")
    return 1.0 if p is None else p


def sign_flip_p(differences: ArrayLike, clusters: ArrayLike, *, draws: int = 2000, seed: int = 0) -> float:
    """Two-sided p-value of a mean difference of 0 when whole clusters swap the two models at random.

    All sign patterns are tried where they are no more than `draws`; otherwise `draws` seeded ones and the observed one.
    """
    rows = finite_column(differences, "differences")
    if not len(rows):
        raise ValueError("differences: no rows")
    sums = cluster_sums([rows], clusters)[:, 0]
    sums = sums[sums != 0]
    observed = abs(float(sums.sum()))
    threshold = observed - ROUNDING * float(np.abs(sums).sum())
    if 2 ** len(sums) <= draws:
        return float((np.abs(all_flips(sums)) >= threshold).mean())
    extreme = int((np.abs(random_flips(sums, draws=draws, seed=seed)) >= threshold).sum())
    return (1 + extreme) / (1 + draws)


def all_flips(sums: FloatArray) -> FloatArray:
    """Total of the clusters' sums under each pattern of signs."""
    patterns = np.arange(2 ** len(sums))[:, np.newaxis] >> np.arange(len(sums)) & 1
    totals: FloatArray = (1 - 2 * patterns) @ sums
    return totals


def random_flips(sums: FloatArray, *, draws: int, seed: int) -> FloatArray:
    """Total of the clusters' sums under `draws` random patterns of signs."""
    generator = np.random.default_rng(seed)
    at_once = max(1, ENTRIES_AT_ONCE // len(sums))
    sizes = [min(at_once, draws - start) for start in range(0, draws, at_once)]
    signs = (1.0 - 2.0 * generator.integers(2, size=(size, len(sums)), dtype=np.int8) for size in sizes)
    return np.concatenate([part @ sums for part in signs])
