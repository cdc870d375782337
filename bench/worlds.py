"""Simulated answers to questions in clusters, with a known truth: what `bench.coverage` measures intervals on."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from reprise.stats.caption_scores import bleu
from reprise.stats.measures import Ratios, difference, first, mean

Numbers = NDArray[np.float64]
Ratio = tuple[Numbers, Numbers]

SIZES = {"1": (1,), "3": (3,), "10": (10,), "uneven": (1, 2, 3, 5, 14), "half": (5,)}
"""items of one cluster after the other, over and over; in `half` the first has as many as all others together"""
TESTS = 7  # as VELOCITI averages
BEST = 3  # rating


class World(NamedTuple):
    """How many clusters of what size, how often an answer is right, and how alike the answers of a cluster are."""

    clusters: int
    items: str
    rate: float
    icc: float

    def cluster_of_item(self) -> NDArray[np.int64]:
        sizes = np.resize(SIZES[self.items], self.clusters)
        if self.items == "half":
            sizes[0] = sizes[1:].sum()
        return np.repeat(np.arange(self.clusters), sizes)

    def rates(self, generator: np.random.Generator, rate: float | None = None) -> Numbers:
        """The rate of each cluster, by a beta distribution; where answers are all alike, 0 or 1."""
        rate = self.rate if rate is None else rate
        if self.icc in (0, 1):
            same = np.full(self.clusters, rate)
            return chosen(generator, same) if self.icc else same
        both = 1 / self.icc - 1
        return generator.beta(rate * both, (1 - rate) * both, self.clusters)

    def right(self, generator: np.random.Generator, rate: float | None = None) -> Numbers:
        """Right and wrong answers, item by item."""
        return chosen(generator, self.rates(generator, rate)[self.cluster_of_item()])


class Sample(NamedTuple):
    """What a measure is made of."""

    ratios: Sequence[Ratio]
    clusters: NDArray[np.int64]
    combine: Callable[[Ratios], Ratios]


Draw = Callable[[World, np.random.Generator], Sample]


def chosen(generator: np.random.Generator, rates: Numbers) -> Numbers:
    """1 with each of these probabilities, else 0."""
    return (generator.random(len(rates)) < rates).astype(np.float64)


def share(world: World, generator: np.random.Generator) -> Sample:
    """The share of right answers."""
    right = world.right(generator)
    return Sample([(right, np.ones_like(right))], world.cluster_of_item(), first)


def all_or_nothing(world: World, generator: np.random.Generator) -> Sample:
    """Some clusters give one answer to all their items, the others answer item by item."""
    clusters = world.cluster_of_item()
    as_one = generator.random(world.clusters) < world.icc
    answer = chosen(generator, np.full(world.clusters, world.rate))
    right = np.where(as_one[clusters], answer[clusters], chosen(generator, np.full(len(clusters), world.rate)))
    return Sample([(right, np.ones_like(right))], clusters, first)


def conditional(world: World, generator: np.random.Generator) -> Sample:
    """The share among the items whose first answer was right: a random denominator."""
    among = world.right(generator, 0.6)
    return Sample([(world.right(generator) * among, among)], world.cluster_of_item(), first)


def ratings(world: World, generator: np.random.Generator) -> Sample:
    """A mean of ratings from 0 to 3, as a share of the best."""
    clusters = world.cluster_of_item()
    given = generator.binomial(BEST, world.rates(generator)[clusters]) / BEST
    return Sample([(given, np.ones_like(given))], clusters, first)


def average_of_tests(world: World, generator: np.random.Generator) -> Sample:
    """The unweighted mean of seven shares over the same clusters, of unequal numbers of items."""
    test, clusters, rates = _tests(world, generator, world.rate)
    right = chosen(generator, rates)
    return Sample([(right * (test == one), (test == one) * 1.0) for one in range(TESTS)], clusters, mean)


def bias(world: World, generator: np.random.Generator) -> Sample:
    """The share right in one order of the options minus that in the other, the items the same."""
    one, other = world.right(generator), world.right(generator, world.rate - 0.2)
    ones = np.ones_like(one)
    return Sample([(one, ones), (other, ones)], world.cluster_of_item(), difference)


def average_bias(world: World, generator: np.random.Generator) -> Sample:
    """The mean of seven such differences."""
    test, clusters, rates = _tests(world, generator, world.rate)
    one, other = chosen(generator, rates), chosen(generator, rates - 0.2 * rates)
    inside = [(test == number) * 1.0 for number in range(TESTS)]
    ratios = [(answers * rows, rows) for rows in inside for answers in (one, other)]
    return Sample(ratios, clusters, lambda found: mean(found[:, 0::2] - found[:, 1::2]))


def corpus_score(world: World, generator: np.random.Generator) -> Sample:
    """BLEU up to four words of captions whose words are right at their cluster's rate."""
    clusters = world.cluster_of_item()
    words, wanted = (10 + generator.poisson(more, len(clusters)) for more in (20, 22))
    rates = world.rates(generator)[clusters]
    grams = [words - order for order in range(4)]
    orders = [(generator.binomial(many, rates ** (1 + order)), many) for order, many in enumerate(grams)]
    columns = [(above * 1.0, below * 1.0) for above, below in [*orders, (words, wanted)]]
    return Sample(columns, clusters, bleu(4))


def _tests(
    world: World, generator: np.random.Generator, rate: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
    """Items of seven tests over the same clusters, which a cluster answers alike: test, cluster and rate of each."""
    clusters = world.cluster_of_item()
    test = np.repeat(np.arange(TESTS), len(clusters))
    asked = generator.random(len(test)) < np.linspace(0.3, 1, TESTS)[test]
    everywhere = np.tile(clusters, TESTS)[asked]
    return test[asked], everywhere, world.rates(generator, rate)[everywhere]


def truth(draw: Draw, world: World) -> float:
    """The value, which does not depend on the clusters, at so many that what is left of chance does not count."""
    return _truth(draw, world._replace(clusters=30_000, items="3"))


@cache
def _truth(draw: Draw, world: World) -> float:
    many = draw(world, np.random.default_rng(0))
    ratios = np.array([[above.sum() / below.sum() for above, below in many.ratios]])
    return float(many.combine(ratios)[0])
