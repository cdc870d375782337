"""Measure the agreement of two judges: on the same answers, and on the order of the models."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import polars as pl


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two judges' labels; None if both judges give the same single label to everything."""
    if not first:
        return None
    count = len(first)
    first_counts, second_counts = Counter(first), Counter(second)
    observed = sum(left == right for left, right in zip(first, second, strict=True)) / count
    expected = sum(first_counts[label] * second_counts[label] for label in first_counts) / count**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def weighted_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights, by which a difference of 2 counts four times as much as one of 1.

    It is 1 minus the ratio of two mean squared differences: the observed one, and the one over all combinations of
    one judge's ratings with the other's.
    """
    if not first:
        return None
    first_ratings, second_ratings = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    expected = first_ratings.var() + second_ratings.var() + (first_ratings.mean() - second_ratings.mean()) ** 2
    return None if expected == 0 else float(1 - ((first_ratings - second_ratings) ** 2).mean() / expected)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's correlation; None for fewer than three values, or if all values of a judge are equal.

    Equal values get the mean of their ranks.
    """
    if len(first) < 3:
        return None
    ranks = (pl.Series(values, dtype=pl.Float64).rank().to_numpy() for values in (first, second))
    first_ranks, second_ranks = (series_ranks - series_ranks.mean() for series_ranks in ranks)
    spread = float(np.sqrt((first_ranks @ first_ranks) * (second_ranks @ second_ranks)))
    return float(first_ranks @ second_ranks) / spread if spread else None
