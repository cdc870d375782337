"""A short form of `bench.coverage`: where the percentile bootstrap and tests over items failed, with 400 samples each."""

import pytest

from bench import worlds
from bench.coverage import measure_coverage, measure_pair, measure_share
from bench.worlds import World

SAMPLES = 400
# Three standard errors of 95 and of 5 per cent of so many samples.
LEAST, MOST = 95 - 3.3, 5 + 3.3


@pytest.mark.parametrize("world", [
    World(60, "1", 0.97, 0),
    World(3, "3", 0.8, 0.5),
    World(20, "half", 0.9, 1),
])  # fmt: skip
@pytest.mark.parametrize("draw", [worlds.share, worlds.all_or_nothing])
def test_intervals_of_shares_cover_and_stars_are_seldom_false(world: World, draw: worlds.Draw) -> None:
    found = measure_share(world, draw, SAMPLES)
    assert found.coverage >= LEAST
    assert found.false_stars <= MOST


@pytest.mark.parametrize(
    "draw", [worlds.conditional, worlds.ratings, worlds.average_of_tests, worlds.bias, worlds.corpus_score]
)
def test_intervals_of_other_measures_cover(draw: worlds.Draw) -> None:
    assert measure_coverage(World(20, "uneven", 0.9, 0.3), draw, SAMPLES // 4).coverage >= 95 - 6.6


def test_clusters_matter_to_tests() -> None:
    world = World(20, "10", 0.8, 0.3)
    star, pair = measure_share(world, worlds.share, SAMPLES), measure_pair(world, world, SAMPLES)
    assert star.false_stars <= MOST < star.binomial_false_stars
    assert pair.false_stars <= MOST < pair.binomial_false_stars
    assert pair.coverage >= LEAST
