"""Define statistics of a benchmark's data, such as the number of videos of a task."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl


class Statistic(NamedTuple):
    """One statistic of the data. The metric `chance.<form>.<metric>` is the score of random guessing, in percent."""

    metric: str
    group: str
    value: float


@dataclass(frozen=True)
class DataStatistics:
    """The functions that compute a benchmark's data statistics."""

    metrics: frozenset[str] = frozenset()
    """metrics that a table may show"""
    compute_from_items: Callable[[pl.DataFrame, pl.DataFrame], list[Statistic]] = field(default=lambda items, clips: [])
    """items and clips -> statistics"""
    compute_from_metadata: Callable[[pl.DataFrame, pl.DataFrame], list[Statistic]] | None = None
    """items and clip metadata -> statistics; None if the benchmark measures nothing in the videos themselves"""
