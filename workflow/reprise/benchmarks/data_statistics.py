"""Define the numbers of a benchmark's data itself, such as how many videos a test has."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl


class Statistic(NamedTuple):
    """One number of the data. The metric `chance.<form>.<metric>` is the score of random guessing, in percent."""

    metric: str
    group: str
    value: float


@dataclass(frozen=True)
class DataStatistics:
    """The functions that compute a benchmark's data statistics."""

    metrics: frozenset[str] = frozenset()
    """metrics that a table may show"""
    compute_from_items: Callable[[pl.DataFrame, pl.DataFrame], list[Statistic]] = field(default=lambda items, clips: [])
    """items and clips -> numbers"""
    compute_from_metadata: Callable[[pl.DataFrame, pl.DataFrame], list[Statistic]] | None = None
    """items and clip metadata -> numbers; None if the benchmark counts nothing in the videos themselves"""
