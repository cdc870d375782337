"""Measures: values, intervals on their own scale, counts, and tests against chance."""

import random

import polars as pl
import pytest
from reprise.stats.beta import ALPHA
from reprise.stats.intervals import clustered_estimate
from reprise.stats.measures import Measure, difference, first, measure, ones

LEVEL = 0.95


def rows(seed: int, height: int = 200, videos: int = 30) -> pl.DataFrame:
    draw = random.Random(seed)
    shares = {"right": 0.6, "failed": 0.1, "unparsed": 0.1}
    units = [f"v{draw.randrange(videos)}" for _ in range(height)]
    return pl.DataFrame(
        {"unit": units} | {name: [draw.random() < p for _ in range(height)] for name, p in shares.items()}
    )


def share(frame: pl.DataFrame, level: float = LEVEL, scale: float = 100) -> Measure:
    return measure("ba", "overall", frame, [(frame["right"], ones(frame))], level, scale=scale)


@pytest.mark.parametrize(("least", "most", "scale"), [(0, 1, 100), (0, 3, 1), (-1, 1, 100)])
def test_the_interval_is_on_the_scale_of_the_values(least: float, most: float, scale: float) -> None:
    frame = rows(2)
    values = least + (most - least) * pl.Series([random.Random(3).randrange(4) / 3 for _ in range(frame.height)])
    found = measure("m", "all", frame, [(values, ones(frame))], LEVEL, scale=scale, limits=(least, most))
    expected = clustered_estimate([((values - least) / (most - least), ones(frame))], frame["unit"], first)
    assert expected is not None and found.value == pytest.approx(scale * values.mean())  # type: ignore[operator]
    ends = [scale * (least + (most - least) * end) for end in expected.interval(LEVEL)]
    assert (found.low, found.high) == pytest.approx(tuple(ends))


@pytest.mark.parametrize("videos", [3, 10, 30, 100])
@pytest.mark.parametrize("seed", range(3))
def test_a_number_is_above_chance_exactly_where_its_one_sided_bound_is(seed: int, videos: int) -> None:
    frame = rows(seed, videos=videos)
    bound, low = share(frame, 1 - 2 * ALPHA).low, share(frame).low
    assert bound is not None and low is not None
    assert share(frame, 0.99).p_above(0.5) == share(frame, 0.8).p_above(0.5), "whatever the level of intervals"
    assert share(frame).p_above(low / 100) < ALPHA, "an interval above chance has a star"  # type: ignore[operator]
    assert share(frame).p_above(bound / 100 + 1e-6) > ALPHA > share(frame).p_above(bound / 100 - 1e-6)  # type: ignore[operator]


def test_counts_and_values() -> None:
    right, failed, unparsed = [True, False, True, True], [False, True, False, False], [False, True, True, False]
    frame = pl.DataFrame({"unit": [*"aabb"], "right": right, "failed": failed, "unparsed": unparsed})
    found = share(frame, scale=3)
    assert found.value == 3 * 0.75
    assert (found.asked, found.scored, found.failed, found.unparsed) == (4, 2, 1, 1), "what failed is not unparsed too"
    bias = [(frame["right"], ones(frame)), (~frame["right"], ones(frame))]
    apart = measure("bias", "overall", frame, bias, LEVEL, difference)
    assert (apart.value, apart.p_above(0.5)) == (100 * (0.75 - 0.25), None), "a difference has no chance"


@pytest.mark.parametrize("height", [0, 3])
def test_where_nothing_counts_there_is_no_value_and_no_interval(height: int) -> None:
    frame = rows(1).head(height)
    found = measure("ba", "overall", frame, [(frame["right"], 0 * ones(frame))], LEVEL)
    assert (found.value, found.low, found.high, found.asked) == (None, None, None, height)
