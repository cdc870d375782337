"""Measures: values, intervals on their own scale, counts, and tests against chance."""

import random

import polars as pl
import pytest
from reprise.stats.binomial import ALPHA, binomial_p
from reprise.stats.clusters import clustered_interval
from reprise.stats.measures import Measure, difference, measure, ones

LEVEL = 0.95


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


def share(frame: pl.DataFrame, level: float = LEVEL, scale: float = 100) -> Measure:
    return measure("ba", "overall", frame, [(frame["right"], ones(frame))], level, scale=scale)


def test_the_interval_is_that_of_the_share_in_per_cent() -> None:
    found, frame = share(rows(1), 0.9), rows(1)
    expected = clustered_interval(frame["right"].cast(pl.Float64), frame["unit"], level=0.9)
    assert expected is not None
    assert (found.low, found.high) == pytest.approx((100 * expected.low, 100 * expected.high))


def test_ratings_keep_their_scale() -> None:
    frame = rows(2)
    ratings = pl.Series([random.Random(3).randrange(4) for _ in range(frame.height)])
    found = measure("mean", "all", frame, [(ratings, ones(frame))], LEVEL, scale=1, limits=(0, 3))
    expected = clustered_interval(ratings / 3, frame["unit"])
    assert expected is not None
    assert (found.low, found.high) == pytest.approx((3 * expected.low, 3 * expected.high))


def test_limits_below_zero() -> None:
    frame = rows(2)
    cosines = frame["right"].cast(pl.Float64) * 0.5 - 0.2
    found = measure("similarity", "all", frame, [(cosines, ones(frame))], LEVEL, limits=(-1, 1))
    expected = clustered_interval((cosines + 1) / 2, frame["unit"])
    assert expected is not None and found.value is not None
    assert found.value == pytest.approx(100 * cosines.mean())  # type: ignore[operator]
    assert (found.low, found.high) == pytest.approx((200 * expected.low - 100, 200 * expected.high - 100))


@pytest.mark.parametrize("videos", [3, 10, 30, 100])
@pytest.mark.parametrize("seed", range(3))
def test_a_number_is_above_chance_exactly_where_its_one_sided_bound_is(seed: int, videos: int) -> None:
    frame = rows(seed, videos=videos)
    bound = share(frame, 1 - 2 * ALPHA).low
    assert bound is not None
    assert share(frame).p_above(bound / 100 + 1e-6) > ALPHA > share(frame).p_above(bound / 100 - 1e-6)  # type: ignore[operator]


def test_what_is_above_chance_does_not_depend_on_the_level_of_the_intervals() -> None:
    assert share(rows(1), 0.99).p_above(0.5) == share(rows(1), 0.8).p_above(0.5)


@pytest.mark.parametrize("videos", [3, 10, 30])
def test_an_interval_above_chance_has_a_star(videos: int) -> None:
    found = share(rows(1, videos=videos))
    assert found.low is not None
    assert found.p_above(found.low / 100) < ALPHA  # type: ignore[operator]


def test_samples_alone_in_their_clusters_are_tested_by_the_exact_binomial_test() -> None:
    frame = rows(1).with_columns(unit=pl.int_range(pl.len()))
    assert share(frame).p_above(0.5) == pytest.approx(binomial_p(frame["right"].sum(), frame.height, 0.5))


def test_a_difference_is_not_tested_against_chance() -> None:
    frame = rows(1)
    both = [(frame["right"], ones(frame)), (frame["failed"], ones(frame))]
    assert measure("bias", "overall", frame, both, LEVEL, difference).p_above(0.5) is None


def test_counts_and_values() -> None:
    frame = pl.DataFrame(
        {
            "unit": ["a", "a", "b", "b"],
            "right": [True, False, True, True],
            "failed": [False, True, False, False],
            "unparsed": [False, True, True, False],
        }
    )
    found = share(frame, scale=3)
    assert found.value == 3 * 0.75
    assert (found.asked, found.scored, found.failed, found.unparsed) == (4, 2, 1, 1), "what failed is not unparsed too"
    bias = [(frame["right"], ones(frame)), (~frame["right"], ones(frame))]
    assert measure("bias", "overall", frame, bias, LEVEL, difference).value == 100 * (0.75 - 0.25)


@pytest.mark.parametrize("height", [0, 3])
def test_where_nothing_counts_there_is_no_value_and_no_interval(height: int) -> None:
    frame = rows(1).head(height)
    found = measure("ba", "overall", frame, [(frame["right"], 0 * ones(frame))], LEVEL)
    assert (found.value, found.low, found.high, found.asked) == (None, None, None, height)


def test_one_video_says_nothing_of_the_spread_between_videos() -> None:
    found = share(rows(1, videos=1))
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
    assert found.p_above(0.5) is None
