"""Numbers of the data itself, such as how many videos a test has."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl


class Number(NamedTuple):
    """One number of the data; a metric `chance.<form>.<metric>` is the score of random guessing, in percent."""

    metric: str
    group: str
    value: float


@dataclass(frozen=True)
class DataStatistics:
    metrics: frozenset[str] = frozenset()
    """those that a table may show"""
    of_data: Callable[[pl.DataFrame, pl.DataFrame], list[Number]] = field(default=lambda items, clips: [])
    """items and clips -> numbers"""
    of_videos: Callable[[pl.DataFrame, pl.DataFrame], list[Number]] | None = None
    """items and facts of the clips -> numbers; None where nothing is counted in the videos themselves"""
