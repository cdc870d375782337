"""From rows in clusters to a mean, or a difference of two means, that has an interval."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reprise.stats.intervals import BoundedMean, Difference, FloatArray, RowProducts

IntArray = NDArray[np.int64]
Statistic = Callable[[FloatArray], FloatArray]
"""A function of ratios: a value for each line of an array of them."""

STEP = 1e-6  # of a numeric derivative, relative
TOLERANCE = 1e-6  # how far rounding may carry a mean beyond its limits
DECIMALS = 9  # that such a derivative has right where a function is linear
EXACT_SUMS = 2**53  # whole numbers up to here, and so their sums, are exact in any order


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
