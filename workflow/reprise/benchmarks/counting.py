"""Numbers of the data itself, such as how many videos a test has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl


class Number(NamedTuple):
    """One number of the data; a metric `chance.<form>.<metric>` is the score of random guessing, in percent."""

    metric: str
    group: str
    value: float


def no_numbers(items: pl.DataFrame, clips: pl.DataFrame) -> list[Number]:
    """For benchmarks whose tables show no numbers of the data."""
    return []


@dataclass(frozen=True)
class DataStatistics:
    """What is counted in a benchmark's data."""

    metrics: frozenset[str] = frozenset()
    """those that a table may show"""
    of_data: Callable[[pl.DataFrame, pl.DataFrame], list[Number]] = no_numbers
    """items and clips -> numbers"""
    of_videos: Callable[[pl.DataFrame, pl.DataFrame], list[Number]] | None = None
    """items and facts of the clips -> numbers; None where nothing is counted in the videos themselves"""
