"""From rows to estimates: theory, equivalences, one answer whatever the order, and what is refused."""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from reprise.stats.caption_scores import bleu
from reprise.stats.intervals import BoundedMean, Difference, Interval, Statistic, clustered_estimate
from reprise.stats.measures import difference, first, mean

Z = 1.959964
Rows = NDArray[np.float64]


def interval_of(
    ratios: list[tuple[Rows, Rows]], clusters: ArrayLike, statistic: Statistic = first, level: float = 0.95
) -> Interval:
    found = clustered_estimate(ratios, clusters, statistic)
    assert found is not None
    return found.interval(level)


def of_mean(values: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval | None:
    found = clustered_estimate([(values, np.ones(len(np.asarray(values))))], clusters, first)
    return found.interval(level) if found else None


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def clustered_sample(seed: int, clusters: int = 200, largest: int = 12) -> tuple[Rows, NDArray[np.int64]]:
    """Right and wrong answers whose share differs from cluster to cluster, in clusters of unequal size."""
    generator = np.random.default_rng(seed)
    cluster_of_row = np.repeat(np.arange(clusters), generator.integers(1, largest + 1, clusters))
    share = generator.beta(1.5, 1.0, clusters)
    return (generator.random(len(cluster_of_row)) < share[cluster_of_row]).astype(float), cluster_of_row


class TestMean:
    def test_width_follows_the_clustered_standard_error(self) -> None:
        values, clusters = clustered_sample(5, clusters=5000)
        residual = np.bincount(clusters, weights=values - values.mean())
        standard_error = np.sqrt((residual**2).sum()) / len(values)
        assert width(of_mean(values, clusters)) == pytest.approx(2 * Z * standard_error, rel=0.01)
        alike = np.repeat(np.random.default_rng(7).integers(0, 2, 80), 9)
        by_cluster, by_row = (of_mean(alike, names) for names in (np.repeat(np.arange(80), 9), np.arange(720)))
        assert width(by_cluster) == pytest.approx(3 * width(by_row), rel=0.1), "ignoring clusters would be too narrow"
        ratings = np.tile([1.0, 2.0], 5000) / 3  # they spread less than right and wrong
        exact = 2 * Z * np.sqrt((1 / 36) / 10_000)
        assert width(of_mean(ratings, np.arange(10_000))) == pytest.approx(exact, rel=0.02)

    def test_a_ratio_has_the_interval_of_the_mean_over_the_rows_that_count(self) -> None:
        values, clusters = clustered_sample(2)
        counts = np.random.default_rng(2).integers(0, 2, len(values)) * 1.0
        alone = of_mean(values[counts == 1], clusters[counts == 1])
        assert interval_of([(values * counts, counts)], clusters) == pytest.approx(alone, rel=1e-9)


class TestDifference:
    def test_many_rows_come_to_the_normal_theory(self) -> None:
        values, clusters = clustered_sample(8, clusters=5000)
        other = np.random.default_rng(9).integers(0, 2, len(values)) * 1.0
        ones, apart = np.ones_like(values), values - other
        residual = np.bincount(clusters, weights=apart - apart.mean())
        expected = 2 * Z * np.sqrt((residual**2).sum()) / len(values)
        found = width(interval_of([(values, ones), (other, ones)], clusters, difference))
        assert expected < found < 1.15 * expected, (
            "both shares are frequent in the same clusters; that is not counted on"
        )

    def test_rows_that_both_count_alike_count_for_neither(self) -> None:
        one, other = np.array([1.0, 1, 1, 0, 0]), np.array([1.0, 1, 0, 0, 1])
        found = clustered_estimate([(one, np.ones(5)), (other, np.ones(5))], np.arange(5), difference)
        assert isinstance(found, Difference)
        assert (found.ahead.value, found.behind.value) == pytest.approx((1 / 5, 1 / 5))

    def test_choice_bias_of_separate_questions(self) -> None:
        # The model always says B: all right where B is the answer, none where A is. Twenty clusters speak for each.
        is_b = np.tile([1.0, 0.0], 20)
        low, high = interval_of([(is_b, is_b), (0 * is_b, 1 - is_b)], np.arange(40), difference)
        assert low == pytest.approx(1 - np.hypot(*[1 - 0.025 ** (1 / 20)] * 2))
        assert high == 1.0


def test_of_a_mean_of_shares_each_counts_once_whatever_its_rows() -> None:
    right = np.concatenate([np.repeat([1.0, 0.0], [3000, 3000]), np.repeat([1.0, 0.0], [600, 2400])])
    inside = np.repeat([1.0, 0.0], [6000, 3000])
    ratios = [(right * inside, inside), (right * (1 - inside), 1 - inside)]
    found = clustered_estimate(ratios, np.arange(9000), mean)
    assert isinstance(found, BoundedMean) and found.value == pytest.approx(0.35)
    standard_error = np.sqrt(0.25 / 6000 + 0.16 / 3000) / 2
    assert width(found.interval(0.95)) == pytest.approx(2 * Z * standard_error, rel=0.02)


def test_the_interval_of_a_corpus_score_follows_the_jackknife() -> None:
    generator, captions = np.random.default_rng(4), 2000
    words, wanted = (10 + generator.poisson(20, captions) for _ in range(2))
    grams = [(generator.binomial(words - one, 0.7 ** (1 + one)) * 1.0, words - one + 0.0) for one in range(4)]
    ratios = [*grams, (words * 1.0, wanted * 1.0)]
    sums = np.array([[above.sum(), below.sum()] for above, below in ratios])
    without = np.array([[above.sum() - above, below.sum() - below] for above, below in ratios])
    values = bleu(4)((without[:, 0] / without[:, 1]).T)
    assert values.mean() == pytest.approx(bleu(4)((sums[:, 0] / sums[:, 1])[np.newaxis])[0], rel=1e-3)
    standard_error = np.sqrt(((values - values.mean()) ** 2).sum() * (captions - 1) / captions)
    found = interval_of(ratios, np.arange(captions), bleu(4))
    assert 2 * Z * standard_error < width(found) < 1.1 * 2 * Z * standard_error
    none = [*((0.0 * above, below) for above, below in grams), ratios[-1]]
    assert interval_of(none, np.arange(captions), bleu(4)).low == 0.0, "a score of zero has an interval"


def test_the_order_of_the_rows_does_not_change_one_bit() -> None:
    rows, videos = np.random.default_rng(0).integers(0, 2, (2, 3000)) * 1.0, np.arange(3000) % 170

    def intervals(order: NDArray[np.int64]) -> list[Interval]:
        above, below = rows[:, order]
        ratios = [(above * below, below), (above, np.ones_like(above))]
        return [interval_of(ratios, videos[order], function) for function in (first, difference, mean)]

    assert intervals(np.random.default_rng(1).permutation(3000)) == intervals(np.arange(3000))


@pytest.mark.parametrize(("values", "counts", "clusters"), [
    ([], [], []),
    ([1, 0, 1], [1, 1, 1], ["only", "only", "only"]),
    ([1, 0, 0], [1, 1, 0], ["a", "a", "b"]),  # one cluster that counts
    ([0, 0, 0], [0, 0, 0], [1, 2, 3]),
    ([1.0, 3.0], [1, 1], [1, 2]),  # a mean beyond its limits
])  # fmt: skip
def test_what_has_no_interval(values: list[float], counts: list[float], clusters: list[object]) -> None:
    assert clustered_estimate([(values, counts)], clusters, first) is None


@pytest.mark.parametrize(("values", "clusters", "message"), [
    ([1.0, float("nan"), 0.0], [1, 2, 3], "row 1"),
    ([1.0, float("inf"), 0.0], [1, 2, 3], "row 1"),
    ([None, 1.0], [1, 2], "row 0"),
])  # fmt: skip
def test_what_is_refused(values: list[float], clusters: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        of_mean(values, clusters)
