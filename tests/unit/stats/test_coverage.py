"""A short form of `bench.coverage`: where the percentile bootstrap and tests over items failed, with 400 samples each."""

import pytest

from bench import worlds
from bench.coverage import covered_in, flipped_in, shares_in
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
    found = shares_in(world, draw, SAMPLES)
    assert found.covered >= LEAST
    assert found.starred <= MOST


@pytest.mark.parametrize(
    "draw", [worlds.conditional, worlds.ratings, worlds.average_of_tests, worlds.bias, worlds.corpus_score]
)
def test_intervals_of_other_measures_cover(draw: worlds.Draw) -> None:
    assert covered_in(World(20, "uneven", 0.9, 0.3), draw, SAMPLES // 4).covered >= 95 - 6.6


def test_clusters_matter_to_tests() -> None:
    world = World(20, "10", 0.8, 0.3)
    star, pair = shares_in(world, worlds.share, SAMPLES), flipped_in(world, world, SAMPLES)
    assert star.starred <= MOST < star.by_item
    assert pair.starred <= MOST < pair.by_item
    assert pair.covered >= LEAST
