"""How often intervals cover and tests err, on simulated answers of known rates: `docs/reference/coverage.md`.

`python -m bench.coverage > docs/reference/coverage.md` makes that page anew, in about a quarter of an hour on one core.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import partial
from itertools import product
from statistics import NormalDist, median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from reprise.stats.beta import ALPHA, binomial_p
from reprise.stats.intervals import BoundedMean, clustered_estimate
from reprise.stats.measures import difference
from reprise.stats.paired import sign_flip_p

from bench import worlds
from bench.worlds import Draw, Numbers, World

DRAWS, CLOSER = 400, 5
"""samples of each world, and how many times as many there are of a world whose numbers are near their bounds"""
NEAR_COVERED, NEAR_STARRED = 97.0, 4.5
LEVEL = 0.95
CLUSTERS = (3, 5, 10, 20, 50, 100)
ITEMS = ("1", "10", "uneven", "half")
RATES = (0.5, 0.8, 0.9, 0.97, 0.99)
ICCS = (0.0, 0.1, 0.3, 0.5, 1.0)
PAIRED = ("1", "10", "uneven")
CONSERVATIVE = 98.0  # per cent, of intervals that should cover 95
OTHERS: dict[str, Draw] = {
    "share among the items whose first answer was right": worlds.conditional,
    "mean of ratings from 0 to 3": worlds.ratings,
    "unweighted mean of seven shares": worlds.average_of_tests,
    "difference of two shares of the same items": worlds.bias,
    "mean of seven differences": worlds.average_bias,
    "corpus BLEU-4": worlds.corpus_score,
}


class Covered(NamedTuple):
    """What was found on the samples of one world, in per cent of them."""

    world: World
    covered: float
    """the interval holds the true value"""
    starred: float = 0.0
    """the share of right answers, or of wrong ones, is called larger than it is"""
    by_item: float = 0.0
    """the same by the exact binomial test, which takes items as independent"""
    wide: float = 1.0
    """mean width of the interval over the width that follows from the true variance"""


class Judged(NamedTuple):
    """One sample."""

    covers: bool
    right_starred: bool
    wrong_starred: bool
    right_by_item: bool
    wrong_by_item: bool
    width: float


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description="Measure coverage; prints docs/reference/coverage.md.")
    parser.add_argument("--samples", type=int, default=DRAWS, help="of each world")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draws, seed = args.samples, args.seed
    shares = [settled(partial(shares_in, world, worlds.share), draws, seed) for world in grid()]
    clustered = grid(items=("10", "uneven", "half"), iccs=ICCS[1:-1])
    split = [settled(partial(shares_in, world, worlds.all_or_nothing), draws, seed) for world in clustered]
    few = list(grid((3, 5, 20, 100), ("uneven", "half"), (0.5, 0.9, 0.97), (0.0, 0.3, 1.0)))
    others = {
        name: [settled(partial(covered_in, world, draw), draws // 2, seed) for world in few]
        for name, draw in OTHERS.items()
    }
    asked = list(grid(items=PAIRED, rates=(0.5, 0.8, 0.97), iccs=(0.0, 0.3, 0.5)))
    pairs = [settled(partial(flipped_in, world, world), draws, seed) for world in asked]
    unlike = [settled(partial(flipped_in, world, world._replace(icc=0)), draws, seed) for world in asked if world.icc]
    print("\n\n".join(page(draws, seed, shares, split, others, pairs, unlike)))


def settled(measured: Callable[[int, int], Covered], draws: int, seed: int) -> Covered:
    """What is found in some samples of a world or, where that is near a bound, in many others."""
    found = measured(draws, seed)
    is_far = found.covered > NEAR_COVERED and found.starred < NEAR_STARRED
    return found if is_far else measured(CLOSER * draws, seed + 1)


def grid(
    clusters: Iterable[int] = CLUSTERS,
    items: Iterable[str] = ITEMS,
    rates: Iterable[float] = RATES,
    iccs: Iterable[float] = ICCS,
) -> Iterator[World]:
    """Every combination; items alone in their clusters resemble no other."""
    worlds_of_all = (World(*one) for one in product(clusters, items, rates, iccs))
    return (world for world in worlds_of_all if world.items != "1" or world.icc == 0)


def shares_in(world: World, draw: Draw, draws: int, seed: int = 0) -> Covered:
    """A share's interval and star; samples that differ in the names of clusters only are measured once."""
    generator, clusters = np.random.default_rng(seed), world.cluster_of_item()
    sizes = np.bincount(clusters)
    seen: dict[bytes, Judged] = {}
    found = []
    for _ in range(draws):
        right = draw(world, generator).ratios[0][0]
        counts = np.bincount(clusters, weights=right)
        name = counts[np.lexsort((counts, sizes))].tobytes()
        if name not in seen:
            seen[name] = judged(right, clusters, world.rate)
        found.append(seen[name])
    covers, *starred, width = np.mean(found, axis=0).tolist()
    variance = world.rate * (1 - world.rate) * (sizes + world.icc * sizes * (sizes - 1)).sum() / sizes.sum() ** 2
    wide = width / (2 * NormalDist().inv_cdf((1 + LEVEL) / 2) * variance**0.5)
    return Covered(world, 100 * covers, 100 * max(starred[:2]), 100 * max(starred[2:]), wide)


def judged(right: Numbers, clusters: NDArray[np.int64], rate: float) -> Judged:
    """Whether the interval covers the rate, and whether either test calls the share of right or wrong too large."""
    estimate = clustered_estimate([(right, np.ones_like(right))], clusters, worlds.first)
    assert isinstance(estimate, BoundedMean)
    low, high = estimate.interval(LEVEL)
    sides = ((estimate, rate), (estimate.mirrored(), 1 - rate))
    starred = (one.p_above(chance, 1 - 2 * ALPHA) < ALPHA for one, chance in sides)
    by_item = [binomial_p(int(right.sum()), len(right), rate, side) for side in ("greater", "less")]
    return Judged(low <= rate <= high, *starred, *(p is not None and p < ALPHA for p in by_item), high - low)


def covered_in(world: World, draw: Draw, draws: int, seed: int = 0) -> Covered:
    """Any measure's interval."""
    generator, wanted = np.random.default_rng(seed), worlds.truth(draw, world)
    covered = []
    for _ in range(draws):
        estimate = clustered_estimate(*draw(world, generator))
        if estimate is not None:
            low, high = estimate.interval(LEVEL)
            covered.append(low <= wanted <= high)
    return Covered(world, 100 * float(np.mean(covered)))


def flipped_in(first: World, second: World, draws: int, seed: int = 0) -> Covered:
    """Two models of one rate: how often `compare` calls them different, its interval holds 0, McNemar's test errs."""
    generator, clusters = np.random.default_rng(seed), first.cluster_of_item()
    ones, found = np.ones(len(clusters)), []
    for _ in range(draws):
        ours, theirs = first.right(generator), second.right(generator)
        estimate = clustered_estimate([(ours, ones), (theirs, ones)], clusters, difference)
        assert estimate is not None
        low, high = estimate.interval(LEVEL)
        one, other = int((ours > theirs).sum()), int((ours < theirs).sum())
        by_item = binomial_p(max(one, other), one + other, 0.5)
        is_called = sign_flip_p(ours - theirs, clusters) <= ALPHA
        found.append((low <= 0 <= high, is_called, by_item is not None and 2 * by_item <= ALPHA))
    covers, flipped, mcnemar = (100 * np.mean(found, axis=0)).tolist()
    return Covered(first, covers, flipped, mcnemar)


def page(
    draws: int,
    seed: int,
    shares: list[Covered],
    split: list[Covered],
    others: dict[str, list[Covered]],
    pairs: list[Covered],
    unlike: list[Covered],
) -> Iterator[str]:
    """The page's paragraphs."""
    every = [*shares, *split, *(one for found in others.values() for one in found), *pairs, *unlike]
    worst = min(every, key=lambda one: one.covered)
    wide = sum(one.covered > CONSERVATIVE for one in every)
    yield "# Coverage of intervals, errors of tests"
    yield (
        f"Made by `python -m bench.coverage --samples {draws} --seed {seed}` on {date.today()}; "
        "[statistics](statistics.md) says what is measured. Answers are drawn at a known rate of 0.5 or more (below, "
        "swap right and wrong; at 1 all is right, and every such interval ends at 1)."
    )
    yield (
        f"Each number is a per cent of {draws} samples ({draws // 2} for other measures). Where coverage was found at "
        f"{NEAR_COVERED:g} or below, or errors of a test at {NEAR_STARRED:g} or above, it is one of {CLOSER} times as "
        f"many new samples, and 95 or 5 is uncertain by {_error(CLOSER * draws):.1f} "
        f"({_error(CLOSER * draws // 2):.1f}); the largest of many such numbers lies two to three of these beyond the "
        "true one."
    )
    yield (
        f"Over all {len(every)} worlds the 95 % interval covers in at least **{worst.covered:.1f} %** (wanted: 93.5); "
        f"in {wide} of them it is conservative, above {CONSERVATIVE:g} %."
    )
    yield "## A share, by clusters, items of a cluster and rate"
    yield (
        "Least and largest coverage over intraclass correlations of 0, 0.1, 0.3, 0.5 and 1 (beta-binomial); (c): "
        "conservative for all of them. Uneven clusters have 1, 2, 3, 5 and 14 items in turns; `half`: the first "
        "cluster has half of all items, the others have 5 each."
    )
    yield table(("clusters", "items", *map(str, RATES)), by_rate(shares))
    yield "## The same where a cluster answers all its items alike or each on its own"
    yield "With the probability of the intraclass correlation (0.1, 0.3, 0.5) all items of a cluster get one answer."
    yield table(("clusters", "items", *map(str, RATES)), by_rate(split))
    yield "## A star where chance is the true rate"
    yield (
        f"Largest share of false stars (one-sided, alpha {ALPHA:g}) over rates and correlations of both tables, for "
        "right answers and for wrong ones (rates from 0.01 on), by items of a cluster; in brackets by the exact "
        "binomial test, which takes items as independent."
    )
    yield table(("clusters", *ITEMS), by_items([*shares, *split]))
    yield "## What it costs"
    yield (
        "Mean width of the interval over the width that the true variance would give, if it were known: medians over "
        "rates up to 0.9 and correlations up to 0.3, by items of a cluster."
    )
    yield table(("clusters", *ITEMS), by_width(shares))
    yield "## Other measures"
    yield "Clusters (3, 5, 20, 100) that are uneven or `half`, rates 0.5, 0.9, 0.97, intraclass correlations 0, 0.3, 1."
    header = ("measure", "least", "there", "largest", "conservative")
    yield table(header, (by_measure(name, found) for name, found in others.items()))
    yield "## Two models of the same rate"
    yield (
        f"Largest share of pairs that `compare` calls different (two-sided, alpha {ALPHA:g}) over rates of 0.5, 0.8 "
        "and 0.97 and correlations of 0, 0.3 and 0.5; in brackets by McNemar's test over items."
    )
    yield table(("clusters", *PAIRED), by_items(pairs))
    yield "The same where the answers of the second model do not cluster. Then the two cannot be swapped:"
    yield table(("clusters", *PAIRED[1:]), by_items(unlike))
    yield "The interval of the difference holds in both cases:"
    header = ("second model", "least", "there", "largest", "conservative")
    yield table(header, [by_measure("clusters alike", pairs), by_measure("does not cluster", unlike)])


def by_measure(name: str, found: list[Covered]) -> tuple[str, ...]:
    """A measure's least and largest coverage, and where it is least."""
    ordered = sorted(found, key=lambda one: one.covered)
    worst = ordered[0].world
    there = f"{worst.clusters} clusters, rate {worst.rate:g}, correlation {worst.icc:g}"
    wide = sum(one.covered > CONSERVATIVE for one in found)
    there += f", {worst.items} items"
    return name, f"{ordered[0].covered:.1f}", there, f"{ordered[-1].covered:.1f}", f"{wide} of {len(found)}"


def by_rate(found: list[Covered]) -> Iterator[tuple[str, ...]]:
    """A line for each number of clusters and items, with the coverage at each rate."""
    for clusters, items in dict.fromkeys((one.world.clusters, one.world.items) for one in found):
        cells = []
        for rate in RATES:
            covered = [one.covered for one in found if one.world[:3] == (clusters, items, rate)]
            both = dict.fromkeys(f"{value:.1f}" for value in (min(covered), max(covered)))
            cells.append("–".join(both) + " (c)" * (min(covered) > CONSERVATIVE))
        yield str(clusters), items, *cells


def by_items(found: list[Covered]) -> Iterator[tuple[str, ...]]:
    """A line for each number of clusters, with the most errors by items of a cluster."""
    for clusters in CLUSTERS:
        cells = []
        for items in dict.fromkeys(one.world.items for one in found):
            mine = [one for one in found if one.world[:2] == (clusters, items)]
            cells.append(f"{max(one.starred for one in mine):.1f} ({max(one.by_item for one in mine):.1f})")
        yield str(clusters), *cells


def by_width(found: list[Covered]) -> Iterator[tuple[str, ...]]:
    """A line for each number of clusters, with the median width by items of a cluster."""
    typical = [one for one in found if one.world.rate <= 0.9 and one.world.icc <= 0.3]
    for clusters in CLUSTERS:
        widths = ([one.wide for one in typical if one.world[:2] == (clusters, items)] for items in ITEMS)
        yield str(clusters), *(f"{median(values):.2f}" for values in widths)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(header)
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["--:"] * len(head), *rows])


def _error(draws: int) -> float:
    """Standard error of a share of 95 per cent."""
    return float(100 * (0.95 * 0.05 / draws) ** 0.5)


if __name__ == "__main__":
    main()
