"""Simulate answers to questions in clusters with a known truth, for the coverage of intervals in `bench.coverage`."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from reprise.stats.caption_scores import bleu
from reprise.stats.measures import Ratios, average, subtract_second, take_first

Numbers = NDArray[np.float64]
Ratio = tuple[Numbers, Numbers]

SIZES = {"1": (1,), "3": (3,), "10": (10,), "uneven": (1, 2, 3, 5, 14), "half": (5,)}
"""items per cluster, repeated in turn; in `half` the first cluster has as many as all others together"""
TEST_COUNT = 7  # the number of tests that VELOCITI averages
BEST_RATING = 3  # the highest rating of MMBench-Video's scale


class World(NamedTuple):
    """The number and sizes of clusters, the rate of right answers, and the intraclass correlation."""

    clusters: int
    items: str
    rate: float
    icc: float

    def cluster_of_item(self) -> NDArray[np.int64]:
        """Return the number of the cluster of each item."""
        sizes = np.resize(SIZES[self.items], self.clusters)
        if self.items == "half":
            sizes[0] = sizes[1:].sum()
        return np.repeat(np.arange(self.clusters), sizes)

    def rates(self, generator: np.random.Generator, rate: float | None = None) -> Numbers:
        """Draw the rate of each cluster from a beta distribution; with a correlation of 1 it is 0 or 1."""
        rate = self.rate if rate is None else rate
        if self.icc in (0, 1):
            constant = np.full(self.clusters, rate)
            return bernoulli(generator, constant) if self.icc else constant
        concentration = 1 / self.icc - 1
        return generator.beta(rate * concentration, (1 - rate) * concentration, self.clusters)

    def right(self, generator: np.random.Generator, rate: float | None = None) -> Numbers:
        """Draw right and wrong answers, item by item."""
        return bernoulli(generator, self.rates(generator, rate)[self.cluster_of_item()])


class Sample(NamedTuple):
    """The data of a measure: ratios by item, clusters, and the function that combines the ratios."""

    ratios: Sequence[Ratio]
    clusters: NDArray[np.int64]
    combine: Callable[[Ratios], Ratios]


Draw = Callable[[World, np.random.Generator], Sample]
"""World and random generator -> a random sample of a measure."""


def bernoulli(generator: np.random.Generator, rates: Numbers) -> Numbers:
    """Draw 1 with each of these probabilities, else 0."""
    return (generator.random(len(rates)) < rates).astype(np.float64)


def share(world: World, generator: np.random.Generator) -> Sample:
    """Sample the share of right answers."""
    right = world.right(generator)
    return Sample([(right, np.ones_like(right))], world.cluster_of_item(), take_first)


def all_or_nothing(world: World, generator: np.random.Generator) -> Sample:
    """Sample clusters of which some give one answer to all their items, while the others answer item by item."""
    clusters = world.cluster_of_item()
    is_uniform = generator.random(world.clusters) < world.icc
    answer = bernoulli(generator, np.full(world.clusters, world.rate))
    right = np.where(is_uniform[clusters], answer[clusters], bernoulli(generator, np.full(len(clusters), world.rate)))
    return Sample([(right, np.ones_like(right))], clusters, take_first)


def conditional(world: World, generator: np.random.Generator) -> Sample:
    """Sample the share among the items whose first answer was right: a random denominator."""
    eligible = world.right(generator, 0.6)
    return Sample([(world.right(generator) * eligible, eligible)], world.cluster_of_item(), take_first)


def ratings(world: World, generator: np.random.Generator) -> Sample:
    """Sample a mean of ratings from 0 to 3, as a share of the best."""
    clusters = world.cluster_of_item()
    ratings_share = generator.binomial(BEST_RATING, world.rates(generator)[clusters]) / BEST_RATING
    return Sample([(ratings_share, np.ones_like(ratings_share))], clusters, take_first)


def average_of_tests(world: World, generator: np.random.Generator) -> Sample:
    """Sample the unweighted mean of seven shares over the same clusters, with unequal numbers of items."""
    test, clusters, rates = _tests(world, generator, world.rate)
    right = bernoulli(generator, rates)
    return Sample(
        [(right * (test == number), (test == number) * 1.0) for number in range(TEST_COUNT)], clusters, average
    )


def bias(world: World, generator: np.random.Generator) -> Sample:
    """Sample the share right in one order of the options minus that in the other, over the same items."""
    first_order, second_order = world.right(generator), world.right(generator, world.rate - 0.2)
    ones = np.ones_like(first_order)
    return Sample([(first_order, ones), (second_order, ones)], world.cluster_of_item(), subtract_second)


def average_bias(world: World, generator: np.random.Generator) -> Sample:
    """Sample the mean over seven tests of the differences of `bias`."""
    test, clusters, rates = _tests(world, generator, world.rate)
    first_order, second_order = bernoulli(generator, rates), bernoulli(generator, rates - 0.2 * rates)
    masks = [(test == number) * 1.0 for number in range(TEST_COUNT)]
    ratios = [(answers * mask, mask) for mask in masks for answers in (first_order, second_order)]
    return Sample(ratios, clusters, lambda shares: average(shares[:, 0::2] - shares[:, 1::2]))


def corpus_score(world: World, generator: np.random.Generator) -> Sample:
    """Sample BLEU up to four words of captions whose words are right at their cluster's rate."""
    clusters = world.cluster_of_item()
    words, reference_words = (10 + generator.poisson(expected_extra, len(clusters)) for expected_extra in (20, 22))
    rates = world.rates(generator)[clusters]
    grams = [words - order for order in range(4)]  # A text of n words has n - 1 pairs of adjacent words, and so on.
    orders = [(generator.binomial(count, rates ** (1 + order)), count) for order, count in enumerate(grams)]
    columns = [(numerator * 1.0, denominator * 1.0) for numerator, denominator in [*orders, (words, reference_words)]]
    return Sample(columns, clusters, bleu(4))


def _tests(
    world: World, generator: np.random.Generator, rate: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
    """Draw items of seven tests whose rates are shared within a cluster; return test, cluster and rate of each item."""
    clusters = world.cluster_of_item()
    test = np.repeat(np.arange(TEST_COUNT), len(clusters))
    is_included = generator.random(len(test)) < np.linspace(0.3, 1, TEST_COUNT)[test]
    item_clusters = np.tile(clusters, TEST_COUNT)[is_included]
    return test[is_included], item_clusters, world.rates(generator, rate)[item_clusters]


def truth(draw: Draw, world: World) -> float:
    """Return the true value of a measure, estimated from so many clusters that random error is negligible."""
    return _truth(draw, world._replace(clusters=30_000, items="3"))


@cache
def _truth(draw: Draw, world: World) -> float:
    sample = draw(world, np.random.default_rng(0))
    ratios = np.array([[numerator.sum() / denominator.sum() for numerator, denominator in sample.ratios]])
    return float(sample.combine(ratios)[0])
