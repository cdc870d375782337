"""Measures: their intervals wait for each other and come out as if each had been drawn alone."""

import random

import polars as pl
import pytest
from reprise.stats.clusters import clustered_interval
from reprise.stats.measures import Measure, Resampling, difference, measure, ones


def rows(seed: int, height: int = 200, videos: int = 30) -> pl.DataFrame:
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "unit": [f"v{draw.randrange(videos)}" for _ in range(height)],
            "right": [draw.random() < 0.6 for _ in range(height)],
            "failed": [draw.random() < 0.1 for _ in range(height)],
            "unparsed": [draw.random() < 0.1 for _ in range(height)],
        }
    )


def share(frame: pl.DataFrame, resampling: Resampling, scale: float = 100) -> Measure:
    return measure("ba", "overall", frame, [(frame["right"], ones(frame))], resampling, scale=scale)


def test_intervals_are_drawn_together_when_one_is_looked_at() -> None:
    resampling = Resampling(300, 0.9, 1)
    frames = [rows(seed) for seed in range(3)]
    measures = [share(frame, resampling) for frame in frames]
    assert len(resampling.waiting) == 3
    assert measures[1].low is not None
    assert resampling.waiting == []
    for one, frame in zip(measures, frames, strict=True):
        alone = clustered_interval(frame["right"], frame["unit"], level=0.9, draws=300, seed=1)
        assert alone is not None
        assert (one.low, one.high) == (100 * alone.low, 100 * alone.high)


def test_one_that_comes_later_is_drawn_later() -> None:
    resampling, frame = Resampling(300, 0.95, 0), rows(1)
    first = share(frame, resampling)
    seen = (first.low, first.high)
    second = share(frame, resampling)
    assert (second.low, second.high) == (first.low, first.high) == seen


def test_counts_and_values() -> None:
    frame = pl.DataFrame(
        {
            "unit": ["a", "a", "b", "b"],
            "right": [True, False, True, True],
            "failed": [False, True, False, False],
            "unparsed": [False, True, True, False],
        }
    )
    found = share(frame, Resampling(100, 0.95, 0), scale=3)
    assert (found.value, found.right) == (3 * 0.75, 3)
    assert (found.asked, found.scored, found.failed, found.unparsed) == (4, 2, 1, 1), "what failed is not unparsed too"
    assert (found.low, found.high) == (3 * 0.5, 3 * 1.0), "both videos may be drawn twice"
    bias = [(frame["right"], ones(frame)), (~frame["right"], ones(frame))]
    assert measure("bias", "overall", frame, bias, Resampling(100, 0.95, 0), difference).value == 100 * (0.75 - 0.25)


@pytest.mark.parametrize("height", [0, 3])
def test_where_nothing_counts_there_is_no_value_and_no_interval(height: int) -> None:
    frame = rows(1).head(height)
    resampling = Resampling(100, 0.95, 0)
    found = measure("ba", "overall", frame, [(frame["right"], 0 * ones(frame))], resampling)
    assert (found.value, found.low, found.high, found.asked) == (None, None, None, height)
    assert resampling.waiting == []


def test_one_video_says_nothing_of_the_spread_between_videos() -> None:
    found = share(rows(1, videos=1), Resampling(100, 0.95, 0))
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
