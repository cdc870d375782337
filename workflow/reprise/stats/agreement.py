"""How far two judges agree: on the same answers, and on the order of the models."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import polars as pl


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa of two judges' labels; None where both give one and the same label to all."""
    if not first:
        return None
    count = len(first)
    of_first, of_second = Counter(first), Counter(second)
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) / count
    by_chance = sum(of_first[label] * of_second[label] for label in of_first) / count**2
    return None if by_chance == 1 else (agreed - by_chance) / (1 - by_chance)


def weighted_kappa(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Cohen's kappa with quadratic weights: a difference of two ratings counts four times one of one.

    It is 1 - (mean squared difference) / (the same, were each rating of one judge paired with each of the other).
    """
    if not first:
        return None
    ours, theirs = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    by_chance = ours.var() + theirs.var() + (ours.mean() - theirs.mean()) ** 2
    return None if by_chance == 0 else float(1 - ((ours - theirs) ** 2).mean() / by_chance)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's correlation, equal values with the mean of their ranks; None of fewer than three, or of equal ones."""
    if len(first) < 3:
        return None
    ranks = (pl.Series(values, dtype=pl.Float64).rank().to_numpy() for values in (first, second))
    ours, theirs = (places - places.mean() for places in ranks)
    spread = float(np.sqrt((ours @ ours) * (theirs @ theirs)))
    return float(ours @ theirs) / spread if spread else None
