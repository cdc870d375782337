"""Measure on simulated answers of known rates how often intervals cover and tests err: `docs/reference/coverage.md`.

`python -m bench.coverage > docs/reference/coverage.md` rewrites that page, in about a quarter of an hour on one core.
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
from reprise.stats.measures import subtract_second
from reprise.stats.paired import sign_flip_p

from bench import worlds
from bench.worlds import Draw, Numbers, World

SAMPLES, PRECISE_FACTOR = 400, 5
"""samples of each world, and the factor for a world whose results are near their bounds"""
NEAR_COVERAGE_BOUND, NEAR_ERROR_BOUND = 97.0, 4.5
"""in per cent: a world with a lower coverage or a higher error rate is measured with more samples"""
LEVEL = 0.95
# Parameters of the worlds: numbers of clusters, numbers of items per cluster (`worlds.SIZES`), rates of right answers,
# and intraclass correlations.
CLUSTERS = (3, 5, 10, 20, 50, 100)
ITEMS = ("1", "10", "uneven", "half")
RATES = (0.5, 0.8, 0.9, 0.97, 0.99)
ICCS = (0.0, 0.1, 0.3, 0.5, 1.0)
PAIRED_ITEMS = ("1", "10", "uneven")
CONSERVATIVE = 98.0  # per cent, of intervals that should cover 95
MEASURES: dict[str, Draw] = {
    "share among the items whose first answer was right": worlds.conditional,
    "mean of ratings from 0 to 3": worlds.ratings,
    "unweighted mean of seven shares": worlds.average_of_tests,
    "difference of two shares of the same items": worlds.bias,
    "mean of seven differences": worlds.average_bias,
    "corpus BLEU-4": worlds.corpus_score,
}
"""name of a measure -> function that draws a sample of it"""


class WorldResult(NamedTuple):
    """The results over the samples of one world, in per cent of the samples."""

    world: World
    coverage: float
    """share of samples whose interval contains the true value"""
    false_stars: float = 0.0
    """share of false positives, for right or for wrong answers, whichever is larger"""
    binomial_false_stars: float = 0.0
    """the same by the exact binomial test, which treats items as independent"""
    relative_width: float = 1.0
    """mean width of the interval relative to the width from the true variance"""


class SampleResult(NamedTuple):
    """The results of one sample; a star marks a share as significantly above chance."""

    covers: bool
    """whether the interval contains the true rate"""
    right_starred: bool
    """whether the share of right answers has a star, although the true rate is the chance level"""
    wrong_starred: bool
    """the same for the share of wrong answers"""
    right_by_item: bool
    """whether the exact binomial test, which treats items as independent, finds too many right answers"""
    wrong_by_item: bool
    width: float


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description="Measure coverage; prints docs/reference/coverage.md.")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of each world")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    samples, seed = args.samples, args.seed
    share_results = [measure_precisely(partial(measure_share, world, worlds.share), samples, seed) for world in grid()]
    clustered = grid(items=("10", "uneven", "half"), iccs=ICCS[1:-1])
    all_or_nothing_results = [
        measure_precisely(partial(measure_share, world, worlds.all_or_nothing), samples, seed) for world in clustered
    ]
    selected_worlds = list(grid((3, 5, 20, 100), ("uneven", "half"), (0.5, 0.9, 0.97), (0.0, 0.3, 1.0)))
    results_by_measure = {
        name: [
            measure_precisely(partial(measure_coverage, world, draw), samples // 2, seed) for world in selected_worlds
        ]
        for name, draw in MEASURES.items()
    }
    paired_worlds = list(grid(items=PAIRED_ITEMS, rates=(0.5, 0.8, 0.97), iccs=(0.0, 0.3, 0.5)))
    pair_results = [measure_precisely(partial(measure_pair, world, world), samples, seed) for world in paired_worlds]
    unlike_results = [
        measure_precisely(partial(measure_pair, world, world._replace(icc=0)), samples, seed)
        for world in paired_worlds
        if world.icc
    ]
    print(
        "\n\n".join(
            page(samples, seed, share_results, all_or_nothing_results, results_by_measure, pair_results, unlike_results)
        )
    )


def measure_precisely(measure: Callable[[int, int], WorldResult], samples: int, seed: int) -> WorldResult:
    """Measure a world, and measure it again with more samples if a result is near its bound."""
    result = measure(samples, seed)
    is_far = result.coverage > NEAR_COVERAGE_BOUND and result.false_stars < NEAR_ERROR_BOUND
    return result if is_far else measure(PRECISE_FACTOR * samples, seed + 1)


def grid(
    clusters: Iterable[int] = CLUSTERS,
    items: Iterable[str] = ITEMS,
    rates: Iterable[float] = RATES,
    iccs: Iterable[float] = ICCS,
) -> Iterator[World]:
    """Return the worlds of all combinations; with one item per cluster only a correlation of 0 is possible."""
    combinations = (World(*values) for values in product(clusters, items, rates, iccs))
    return (world for world in combinations if world.items != "1" or world.icc == 0)


def measure_share(world: World, draw: Draw, samples: int, seed: int = 0) -> WorldResult:
    """Measure the interval and the star of a share; samples that differ only in names of clusters are computed once."""
    generator, clusters = np.random.default_rng(seed), world.cluster_of_item()
    sizes = np.bincount(clusters)
    cache: dict[bytes, SampleResult] = {}
    results = []
    for _ in range(samples):
        right = draw(world, generator).ratios[0][0]
        counts = np.bincount(clusters, weights=right)
        cache_key = counts[np.lexsort((counts, sizes))].tobytes()
        if cache_key not in cache:
            cache[cache_key] = evaluate_sample(right, clusters, world.rate)
        results.append(cache[cache_key])
    coverage, *error_rates, width = np.mean(results, axis=0).tolist()
    # The true variance of the share: each two items of a cluster are correlated by `icc`.
    variance = world.rate * (1 - world.rate) * (sizes + world.icc * sizes * (sizes - 1)).sum() / sizes.sum() ** 2
    relative_width = width / (2 * NormalDist().inv_cdf((1 + LEVEL) / 2) * variance**0.5)
    return WorldResult(world, 100 * coverage, 100 * max(error_rates[:2]), 100 * max(error_rates[2:]), relative_width)


def evaluate_sample(right: Numbers, clusters: NDArray[np.int64], rate: float) -> SampleResult:
    """Test whether the interval covers the rate, and whether either test finds too many right or wrong answers."""
    estimate = clustered_estimate([(right, np.ones_like(right))], clusters, worlds.take_first)
    assert isinstance(estimate, BoundedMean)
    low, high = estimate.interval(LEVEL)
    hypotheses = ((estimate, rate), (estimate.complement(), 1 - rate))
    starred = (side_estimate.p_above(chance, 1 - 2 * ALPHA) < ALPHA for side_estimate, chance in hypotheses)
    by_item = [binomial_p(int(right.sum()), len(right), rate, alternative) for alternative in ("greater", "less")]
    return SampleResult(low <= rate <= high, *starred, *(p is not None and p < ALPHA for p in by_item), high - low)


def measure_coverage(world: World, draw: Draw, samples: int, seed: int = 0) -> WorldResult:
    """Measure the coverage of any measure's interval."""
    generator, true_value = np.random.default_rng(seed), worlds.truth(draw, world)
    outcomes = []
    for _ in range(samples):
        estimate = clustered_estimate(*draw(world, generator))
        if estimate is not None:
            low, high = estimate.interval(LEVEL)
            outcomes.append(low <= true_value <= high)
    return WorldResult(world, 100 * float(np.mean(outcomes)))


def measure_pair(first: World, second: World, samples: int, seed: int = 0) -> WorldResult:
    """Compare two models of the same rate: how often intervals cover 0, and errors of two tests.

    The tests are that of `reprise compare`, and McNemar's test, which treats items as independent.
    """
    generator, clusters = np.random.default_rng(seed), first.cluster_of_item()
    ones, results = np.ones(len(clusters)), []
    for _ in range(samples):
        first_answers, second_answers = first.right(generator), second.right(generator)
        estimate = clustered_estimate([(first_answers, ones), (second_answers, ones)], clusters, subtract_second)
        assert estimate is not None
        low, high = estimate.interval(LEVEL)
        first_wins = int((first_answers > second_answers).sum())
        second_wins = int((first_answers < second_answers).sum())
        mcnemar_p = binomial_p(max(first_wins, second_wins), first_wins + second_wins, 0.5)
        is_different = sign_flip_p(first_answers - second_answers, clusters) <= ALPHA
        results.append((low <= 0 <= high, is_different, mcnemar_p is not None and 2 * mcnemar_p <= ALPHA))
    coverage, flip_errors, mcnemar_errors = (100 * np.mean(results, axis=0)).tolist()
    return WorldResult(first, coverage, flip_errors, mcnemar_errors)


def page(
    samples: int,
    seed: int,
    shares: list[WorldResult],
    all_or_nothing: list[WorldResult],
    results_by_measure: dict[str, list[WorldResult]],
    pairs: list[WorldResult],
    unlike: list[WorldResult],
) -> Iterator[str]:
    """Yield the page's paragraphs; `pairs` are two models that cluster alike, in `unlike` the second does not."""
    results = [
        *shares,
        *all_or_nothing,
        *(result for measure_results in results_by_measure.values() for result in measure_results),
        *pairs,
        *unlike,
    ]
    worst = min(results, key=lambda result: result.coverage)
    conservative = sum(result.coverage > CONSERVATIVE for result in results)
    yield "# Coverage of intervals, errors of tests"
    yield (
        "Do the 95 % intervals of tables contain the true value in 95 % of cases, and are tests wrong in at most 5 %? "
        "This page measures it on simulated answers, whose true rate of right answers is known. "
        f"`python -m bench.coverage --samples {samples} --seed {seed}` wrote it on {date.today()}. "
        "[Statistics](statistics.md) defines the intervals and tests."
    )
    yield (
        "A *world* is a combination of a true rate (0.5 to 0.99), a number of clusters, their sizes, and a correlation "
        "of answers within a cluster. A cluster is, for example, the questions about one video. Each world is "
        "simulated many times; a *sample* is one simulation. *Coverage* is the percentage of samples whose 95 % "
        "interval contains the true value. Rates below 0.5 need no simulation of their own, because right and wrong "
        "answers are treated alike."
    )
    yield (
        f"**The lowest coverage in {len(results)} worlds is {worst.coverage:.1f} %** (our target is at least 93.5). In "
        f"{conservative} worlds, the interval is wider than necessary: its coverage is above {CONSERVATIVE:g} % "
        "(called conservative below)."
    )
    yield (
        f"Each number is a percentage of {samples} samples ({samples // 2} in the section Other measures). If the "
        f"coverage of a world is {NEAR_COVERAGE_BOUND:g} % or less, or its tests are wrong in {NEAR_ERROR_BOUND:g} % "
        f"or more, it is simulated again with {PRECISE_FACTOR} times as many samples. The standard error of its "
        f"numbers is then {_error(PRECISE_FACTOR * samples):.1f} percentage points "
        f"({_error(PRECISE_FACTOR * samples // 2):.1f} in Other measures). The tables show the lowest or highest of "
        "many such numbers, which exaggerates by two to three standard errors."
    )
    yield (
        "The rows of the tables are numbers of clusters. The columns are numbers of items per cluster. *Uneven* "
        "clusters have 1, 2, 3, 5 and 14 items in turn. *Half* means that the first cluster has half of all items, and "
        "the others have 5 each."
    )
    yield "## Coverage of a share"
    yield (
        f"Lowest and highest coverage over rates of {', '.join(map(str, RATES))} and intraclass correlations of 0 to "
        "1. Correlated answers are simulated in two ways: by a beta-binomial distribution, or by clusters whose "
        "answers are all alike with a probability equal to the correlation."
    )
    yield table(("clusters", *ITEMS), coverage_rows([*shares, *all_or_nothing]))
    yield "## Stars if the true rate is chance"
    yield (
        "A star marks a score that is significantly above chance. If the true rate equals chance, every star is false. "
        f"The numbers are the highest percentages of false stars (one-sided, alpha {ALPHA:g}) in the same worlds. For "
        "comparison, brackets have those of the exact binomial test, which treats items as independent."
    )
    yield table(("clusters", *ITEMS), error_rows([*shares, *all_or_nothing]))
    yield "## Width of the intervals"
    yield (
        "How much wider is an interval than one that knows the true variance? 1 means equally wide. The numbers are "
        "medians over worlds with rates up to 0.9 and correlations up to 0.3."
    )
    yield table(("clusters", *ITEMS), width_rows(shares))
    yield "## Other measures"
    yield (
        "This table has measures other than a share. The worlds have 3, 5, 20 or 100 clusters (uneven or half), rates "
        "of 0.5, 0.9 and 0.97, and correlations of 0, 0.3 and 1. The last column counts the worlds in which the "
        "interval is conservative."
    )
    header = ("measure", "lowest coverage", "conservative in")
    yield table(header, (measure_row(name, measure_results) for name, measure_results in results_by_measure.items()))
    yield "## Two models of the same rate"
    yield (
        "If two models have the same true rate, `reprise compare` should not call them different. The numbers are the "
        f"highest percentages of pairs of models that it calls different (two-sided, alpha {ALPHA:g}), over rates of "
        "0.5, 0.8 and 0.97 and correlations of 0, 0.3 and 0.5. For comparison, brackets have those of McNemar's test, "
        "which treats items as independent."
    )
    yield table(("clusters", *PAIRED_ITEMS), error_rows(pairs))
    yield (
        "The table above has pairs of models whose answers are correlated in the same way. If the answers of the "
        "second model are not correlated within clusters, the test is wrong in more than 5 %:"
    )
    yield table(("clusters", *PAIRED_ITEMS[1:]), error_rows(unlike))
    yield "The interval of the difference of the two rates has enough coverage in both cases:"
    header = ("answers of the second model", "lowest coverage", "conservative in")
    yield table(header, [measure_row("correlated in the same way", pairs), measure_row("not correlated", unlike)])


def measure_row(name: str, results: list[WorldResult]) -> tuple[str, ...]:
    """Return a measure's lowest coverage, and in how many worlds its interval is conservative."""
    conservative = sum(result.coverage > CONSERVATIVE for result in results)
    return name, f"{min(result.coverage for result in results):.1f}", f"{conservative} of {len(results)}"


def select_cell(results: list[WorldResult], clusters: int, items: str) -> list[WorldResult]:
    """Return the results of a table's cell: those of all worlds with these numbers of clusters and of their items."""
    return [result for result in results if (result.world.clusters, result.world.items) == (clusters, items)]


def coverage_rows(results: list[WorldResult]) -> Iterator[tuple[str, ...]]:
    """Yield one row per number of clusters, with the lowest and highest coverage by items of a cluster."""
    for clusters in CLUSTERS:
        cells = []
        for items in ITEMS:
            coverages = [result.coverage for result in select_cell(results, clusters, items)]
            cells.append(f"{min(coverages):.1f}–{max(coverages):.1f}")
        yield str(clusters), *cells


def error_rows(results: list[WorldResult]) -> Iterator[tuple[str, ...]]:
    """Yield one row per number of clusters, with the highest error rate by items of a cluster."""
    for clusters in CLUSTERS:
        cells = []
        for items in dict.fromkeys(result.world.items for result in results):
            cell = select_cell(results, clusters, items)
            stars = max(result.false_stars for result in cell)
            binomial_stars = max(result.binomial_false_stars for result in cell)
            cells.append(f"{stars:.1f} ({binomial_stars:.1f})")
        yield str(clusters), *cells


def width_rows(results: list[WorldResult]) -> Iterator[tuple[str, ...]]:
    """Yield one row per number of clusters, with the median relative width by items of a cluster."""
    typical = [result for result in results if result.world.rate <= 0.9 and result.world.icc <= 0.3]
    for clusters in CLUSTERS:
        widths = ([result.relative_width for result in select_cell(typical, clusters, items)] for items in ITEMS)
        yield str(clusters), *(f"{median(values):.2f}" for values in widths)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Format a Markdown table."""
    head = list(header)
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["--:"] * len(head), *rows])


def _error(samples: int) -> float:
    """Return the standard error of a share of 95 per cent."""
    return float(100 * (0.95 * 0.05 / samples) ** 0.5)


if __name__ == "__main__":
    main()
