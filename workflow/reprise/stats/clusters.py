"""Percentile bootstrap intervals that resample whole clusters (source videos, counterfactual pairs).

One core serves every statistic: add up each column within each cluster, draw clusters with replacement, add up the
drawn clusters, and compute the statistic from those sums. A mean is a ratio of two sums, a mean of group means is a
function of two sums a group, so all of them see the same draws.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Statistic = Callable[[FloatArray], FloatArray]

CountArray = NDArray[np.unsignedinteger]

ENTRIES_AT_ONCE = 1_000_000  # draws x clusters that are multiplied together, about 8 MB
PICKS_AT_ONCE = 20_000  # picks that are counted together: what a processor's cache holds
EXACT_IN_SINGLE = 2**24  # whole numbers up to here, and so their sums, are exact in single precision


class Interval(NamedTuple):
    """Both ends of a confidence interval."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A function of columns' sums, and these sums within each cluster: (clusters, columns)."""

    sums: FloatArray
    statistic: Statistic


class Ratio(NamedTuple):
    """What is added up above and below the line, row by row."""

    numerators: ArrayLike
    denominators: ArrayLike


def clustered_interval(
    values: ArrayLike, clusters: ArrayLike, *, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> Interval | None:
    """Interval of the mean over all rows."""
    rows = finite_column(values, "values")
    return clustered_ratio_interval(rows, np.ones_like(rows), clusters, level=level, draws=draws, seed=seed)


def clustered_ratio_interval(
    numerators: ArrayLike,
    denominators: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """Interval of sum(numerators) / sum(denominators)."""

    def ratio(sums: FloatArray) -> FloatArray:
        return sums[:, 0] / sums[:, 1]

    columns = [numerators, denominators]
    return clustered_statistic_interval(columns, clusters, ratio, level=level, draws=draws, seed=seed)


def clustered_difference_interval(
    first: Ratio,
    second: Ratio,
    clusters: ArrayLike,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """Interval of the first ratio minus the second, both over the same rows and the same draws."""

    def difference(sums: FloatArray) -> FloatArray:
        return sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]

    return clustered_statistic_interval([*first, *second], clusters, difference, level=level, draws=draws, seed=seed)


def clustered_mean_of_groups_interval(
    values: ArrayLike,
    clusters: ArrayLike,
    groups: ArrayLike,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """Interval of the unweighted mean of the groups' means; a cluster is drawn with its rows of every group."""
    rows = finite_column(values, "values")
    if not len(rows):
        return None
    names, group_of_row = np.unique(np.asarray(groups), return_inverse=True)
    check_length(group_of_row, rows, "groups")
    member = [(group_of_row == index).astype(np.float64) for index in range(len(names))]

    def mean_of_means(sums: FloatArray) -> FloatArray:
        means: FloatArray = sums[:, : len(names)] / sums[:, len(names) :]
        total: FloatArray = means.sum(axis=1)
        return total / len(names)

    columns = [*(rows * inside for inside in member), *member]
    return clustered_statistic_interval(columns, clusters, mean_of_means, level=level, draws=draws, seed=seed)


def clustered_statistic_interval(
    columns: Sequence[ArrayLike],
    clusters: ArrayLike,
    statistic: Statistic,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """Interval of any function of the columns' sums, independent of the order of the rows.

    `statistic` maps an array (draws, columns) of sums to one value a draw. None for fewer than two clusters, which
    say nothing about the spread between clusters, and where the statistic of the data itself is undefined (0 / 0).
    Draws in which it is undefined are left out.
    """
    estimate = Estimate(cluster_sums(columns, clusters), statistic)
    return clustered_intervals([estimate], level=level, draws=draws, seed=seed)[0]


def clustered_intervals(
    estimates: Sequence[Estimate], *, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> list[Interval | None]:
    """The interval of each estimate. Estimates from equally many clusters see the same draws, made once."""
    check_settings(level, draws)
    found: list[Interval | None] = [None] * len(estimates)
    places: dict[int, list[int]] = {}
    for place, estimate in enumerate(estimates):
        if len(estimate.sums) > 1 and is_defined(estimate):
            places.setdefault(len(estimate.sums), []).append(place)
    for together in places.values():
        sums = np.column_stack([estimates[place].sums for place in together])
        drawn, end = resampled_sums(sums, draws=draws, seed=seed), 0
        for place in together:
            start, end = end, end + estimates[place].sums.shape[1]
            found[place] = percentile_interval(drawn[:, start:end], estimates[place].statistic, level)
    return found


def is_defined(estimate: Estimate) -> bool:
    """Whether the statistic of the data itself is a number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return bool(np.isfinite(estimate.statistic(estimate.sums.sum(axis=0, keepdims=True))[0]))


def percentile_interval(sums: FloatArray, statistic: Statistic, level: float) -> Interval | None:
    """Interval of a statistic from its sums in every draw; draws in which it is undefined are left out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = statistic(sums)
    defined = drawn[np.isfinite(drawn)]
    if not len(defined):
        return None
    defined.sort()
    return Interval(quantile(defined, (1 - level) / 2), quantile(defined, (1 + level) / 2))


def quantile(ordered: FloatArray, share: float) -> float:
    """`numpy.quantile` of sorted values to the last bit, without the import of `numpy.ma` that its first call costs."""
    place = share * (len(ordered) - 1)
    below = int(place)
    left, right = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    beyond = place - below
    return left + (right - left) * beyond if beyond < 0.5 else right - (right - left) * (1 - beyond)


def cluster_sums(columns: Sequence[ArrayLike], clusters: ArrayLike) -> FloatArray:
    """Sum of each column within each cluster: (clusters in sorted order, columns)."""
    names, cluster_of_row = np.unique(np.asarray(clusters), return_inverse=True)
    rows = [finite_column(column, f"column {index}") for index, column in enumerate(columns)]
    for index, column in enumerate(rows):
        check_length(cluster_of_row, column, f"clusters (against column {index})")
    return np.column_stack([sums_in_fixed_order(column, cluster_of_row, len(names)) for column in rows])


def sums_in_fixed_order(column: FloatArray, cluster_of_row: IntArray, clusters: int) -> FloatArray:
    """Sums by cluster whose last bit does not depend on the order of the rows."""
    if not is_whole(column):
        order = np.lexsort((column, cluster_of_row))
        column, cluster_of_row = column[order], cluster_of_row[order]
    return np.bincount(cluster_of_row, weights=column, minlength=clusters).astype(np.float64)


def is_whole(values: FloatArray) -> bool:
    """Whether all values are whole numbers, so small that sums of them are exact in any order."""
    return bool((values == np.rint(values)).all() and np.abs(values).sum() < EXACT_IN_SINGLE)


def resampled_sums(sums: FloatArray, *, draws: int, seed: int) -> FloatArray:
    """Column sums of `draws` samples of clusters with replacement: (draws, columns)."""
    # Single precision halves the work and loses nothing where no sum can leave the exact whole numbers.
    is_exact = is_whole(sums) and len(sums) * np.abs(sums).max() < EXACT_IN_SINGLE
    kind = np.float32 if is_exact else np.float64
    factor = sums.astype(kind)
    generator = np.random.default_rng(seed)
    at_once = max(1, ENTRIES_AT_ONCE // len(sums))
    sizes = [min(at_once, draws - start) for start in range(0, draws, at_once)]
    blocks = [np.dot(times_drawn(generator, size, len(sums)).astype(kind), factor) for size in sizes]
    return np.concatenate(blocks).astype(np.float64)


def times_drawn(generator: np.random.Generator, draws: int, clusters: int) -> CountArray:
    """How often each cluster occurs in each draw: (draws, clusters)."""
    counts = np.empty((draws, clusters), dtype=np.min_scalar_type(clusters))
    at_once = max(1, PICKS_AT_ONCE // clusters)
    own_range = np.arange(at_once)[:, np.newaxis] * clusters
    for start in range(0, draws, at_once):
        part = counts[start : start + at_once]
        picks = generator.integers(clusters, size=part.shape)
        picks += own_range[: len(part)]
        part[:] = np.bincount(picks.ravel(), minlength=part.size).reshape(part.shape)
    return counts


def finite_column(values: ArrayLike, name: str) -> FloatArray:
    """The values as one column of floats; NaN and infinity are refused."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got {column.ndim}")
    if not np.isfinite(column).all():
        raise ValueError(f"{name}: NaN or infinity in row {int(np.flatnonzero(~np.isfinite(column))[0])}")
    return column


def check_length(labels: IntArray, column: FloatArray, name: str) -> None:
    """Refuse labels that do not go with the rows one by one."""
    if len(labels) != len(column):
        raise ValueError(f"{name}: {len(labels)} labels for {len(column)} rows")


def check_settings(level: float, draws: int) -> None:
    """Refuse a level outside (0, 1) and fewer than one draw."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
