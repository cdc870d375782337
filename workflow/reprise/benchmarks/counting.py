"""Define the numbers of a benchmark's data itself, such as how many videos a test has."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl


class Number(NamedTuple):
    """One number of the data. The metric `chance.<form>.<metric>` is the score of random guessing, in percent."""

    metric: str
    group: str
    value: float


@dataclass(frozen=True)
class DataStatistics:
    """The functions that compute a benchmark's data statistics."""

    metrics: frozenset[str] = frozenset()
    """metrics that a table may show"""
    of_data: Callable[[pl.DataFrame, pl.DataFrame], list[Number]] = field(default=lambda items, clips: [])
    """items and clips -> numbers"""
    of_videos: Callable[[pl.DataFrame, pl.DataFrame], list[Number]] | None = None
    """items and clip metadata -> numbers; None if the benchmark counts nothing in the videos themselves"""
