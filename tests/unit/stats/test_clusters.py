"""Clustered bootstrap intervals: theory, scipy, hand-worked examples, determinism."""

import time

import numpy as np
import pytest
from numpy.typing import NDArray
from reprise.stats.binomial import clopper_pearson
from reprise.stats.clusters import (
    EXACT_IN_SINGLE,
    Estimate,
    FloatArray,
    Interval,
    Ratio,
    cluster_sums,
    clustered_difference_interval,
    clustered_interval,
    clustered_intervals,
    clustered_mean_of_groups_interval,
    clustered_ratio_interval,
    clustered_statistic_interval,
    quantile,
    resampled_sums,
)
from scipy.stats import bootstrap, norm

Z = float(norm.ppf(0.975))


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def clustered_sample(
    seed: int, clusters: int = 200, largest: int = 12
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Right and wrong answers whose share differs from cluster to cluster, in clusters of unequal size."""
    generator = np.random.default_rng(seed)
    cluster_of_row = np.repeat(np.arange(clusters), generator.integers(1, largest + 1, clusters))
    share = generator.beta(1.5, 1.0, clusters)
    return (generator.random(len(cluster_of_row)) < share[cluster_of_row]).astype(float), cluster_of_row


class TestMean:
    def test_singletons_follow_the_normal_theory_of_a_share(self) -> None:
        answers = np.repeat([1.0, 0.0], [720, 280])
        interval = clustered_interval(answers, np.arange(1000), draws=10_000)
        half = Z * np.sqrt(0.72 * 0.28 / 1000)
        assert interval == pytest.approx((0.72 - half, 0.72 + half), abs=0.002)

    def test_singletons_lie_within_the_exact_binomial_interval(self) -> None:
        answers = np.repeat([1.0, 0.0], [72, 28])
        interval, exact = clustered_interval(answers, np.arange(100), draws=10_000), clopper_pearson(72, 100)
        assert interval == pytest.approx(exact, abs=0.015)

    def test_singletons_agree_with_scipy(self) -> None:
        values = np.random.default_rng(3).exponential(size=300)
        expected = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=1).confidence_interval
        interval = clustered_interval(values, np.arange(300), draws=10_000)
        assert interval == pytest.approx((expected.low, expected.high), abs=0.01)

    def test_width_follows_the_clustered_standard_error(self) -> None:
        values, clusters = clustered_sample(5)
        residual = np.bincount(clusters, weights=values - values.mean())
        standard_error = np.sqrt((residual**2).sum()) / len(values)
        assert width(clustered_interval(values, clusters, draws=10_000)) == pytest.approx(
            2 * Z * standard_error, rel=0.05
        )

    def test_equal_rows_of_a_cluster_count_as_one(self) -> None:
        values, clusters = np.random.default_rng(7).random(80), np.arange(80)
        once = clustered_interval(values, clusters)
        assert clustered_interval(np.repeat(values, 9), np.repeat(clusters, 9)) == pytest.approx(once, abs=1e-12)

    def test_ignoring_clusters_would_be_too_narrow(self) -> None:
        values = np.repeat(np.random.default_rng(7).integers(0, 2, 80), 9)
        by_cluster = clustered_interval(values, np.repeat(np.arange(80), 9))
        by_row = clustered_interval(values, np.arange(720))
        assert width(by_cluster) == pytest.approx(3 * width(by_row), rel=0.15)

    def test_two_clusters_by_hand(self) -> None:
        # Draws are aa, ab, ba, bb: means 1, 1/4, 1/4, 0, where a has one row of 1 and b three rows of 0.
        assert clustered_interval([1, 0, 0, 0], ["a", "b", "b", "b"]) == Interval(0.0, 1.0)
        assert clustered_interval([1, 0, 0, 0], ["a", "b", "b", "b"], level=0.4) == Interval(0.25, 0.25)

    def test_a_constant_has_an_interval_without_width(self) -> None:
        assert clustered_interval(np.ones(30), np.arange(30) // 3) == Interval(1.0, 1.0)

    def test_a_higher_level_is_wider(self) -> None:
        values, clusters = clustered_sample(1)
        assert width(clustered_interval(values, clusters, level=0.99)) > width(
            clustered_interval(values, clusters, level=0.9)
        )

    def test_coverage(self) -> None:
        truth = 1.5 / 2.5
        intervals = [clustered_interval(*clustered_sample(seed, 60, 8), draws=400) for seed in range(400)]
        covered = [interval is not None and interval.low <= truth <= interval.high for interval in intervals]
        assert 0.90 <= np.mean(covered) <= 0.98


class TestRatio:
    def test_is_the_interval_of_the_mean_over_the_rows_that_count(self) -> None:
        values, clusters = clustered_sample(2)
        counts = np.random.default_rng(2).integers(0, 2, len(values)) * 1.0
        counts[np.unique(clusters, return_index=True)[1]] = 1.0
        alone = clustered_interval(values[counts == 1], clusters[counts == 1])
        assert clustered_ratio_interval(values * counts, counts, clusters) == alone

    def test_width_follows_the_delta_method(self) -> None:
        generator = np.random.default_rng(4)
        below = generator.integers(1, 5, 900).astype(float)
        above = generator.binomial(below.astype(int), 0.3).astype(float)
        share = above.sum() / below.sum()
        standard_error = np.sqrt(((above - share * below) ** 2).sum()) / below.sum()
        interval = clustered_ratio_interval(above, below, np.arange(900), draws=10_000)
        assert width(interval) == pytest.approx(2 * Z * standard_error, rel=0.05)

    def test_a_denominator_of_zero_has_no_interval(self) -> None:
        assert clustered_ratio_interval([0, 0, 0], [0, 0, 0], [1, 2, 3]) is None

    def test_draws_without_a_denominator_are_left_out(self) -> None:
        assert clustered_ratio_interval([1, 0], [1, 0], ["a", "b"]) == Interval(1.0, 1.0)


class TestDifference:
    def test_is_the_mean_difference_where_both_ratios_share_their_denominator(self) -> None:
        first, clusters = clustered_sample(8)
        second = np.random.default_rng(9).integers(0, 2, len(first)) * 1.0
        ones = np.ones_like(first)
        joint = clustered_difference_interval(Ratio(first, ones), Ratio(second, ones), clusters)
        assert joint == pytest.approx(clustered_interval(first - second, clusters), abs=1e-12)

    def test_a_ratio_minus_itself_is_zero(self) -> None:
        values, clusters = clustered_sample(8)
        ratio = Ratio(values, np.ones_like(values))
        assert clustered_difference_interval(ratio, ratio, clusters) == Interval(0.0, 0.0)

    def test_choice_bias_by_hand(self) -> None:
        # The model always says B: all right where B is the answer, none where A is.
        is_b = np.tile([1.0, 0.0], 20)
        bias = clustered_difference_interval(Ratio(is_b, is_b), Ratio(0 * is_b, 1 - is_b), np.arange(40))
        assert bias == Interval(1.0, 1.0)


class TestMeanOfGroups:
    def test_is_the_plain_mean_where_groups_are_balanced_within_clusters(self) -> None:
        values = np.random.default_rng(6).random(300)
        clusters, groups = np.arange(300) // 3, np.arange(300) % 3
        joint = clustered_mean_of_groups_interval(values, clusters, groups)
        assert joint == pytest.approx(clustered_interval(values, clusters), abs=1e-12)

    def test_each_group_counts_once_whatever_its_size(self) -> None:
        generator = np.random.default_rng(6)
        values = np.concatenate([np.ones(900), np.zeros(100)])
        groups = np.repeat(["large", "small"], [900, 100])
        interval = clustered_mean_of_groups_interval(values, generator.integers(0, 50, 1000), groups)
        assert interval == Interval(0.5, 0.5)

    def test_width_follows_the_theory_of_independent_groups(self) -> None:
        values = np.concatenate([np.repeat([1.0, 0.0], [300, 300]), np.repeat([1.0, 0.0], [60, 240])])
        groups = np.repeat(["a", "b"], [600, 300])
        standard_error = np.sqrt(0.25 / 600 + 0.16 / 300) / 2
        interval = clustered_mean_of_groups_interval(values, np.arange(900), groups, draws=10_000)
        assert width(interval) == pytest.approx(2 * Z * standard_error, rel=0.06)

    def test_no_rows_have_no_interval(self) -> None:
        assert clustered_mean_of_groups_interval([], [], []) is None


class TestAnyStatistic:
    COLUMNS = 0.1 * np.random.default_rng(0).random((2, 3000))
    CLUSTERS = np.array([f"video {index % 170}" for index in range(3000)])
    GROUPS = np.array([f"test {index % 7}" for index in range(3000)])

    def all_intervals(self, order: NDArray[np.int64], seed: int = 0) -> list[Interval | None]:
        (above, below), clusters, groups = self.COLUMNS[:, order], self.CLUSTERS[order], self.GROUPS[order]
        return [
            clustered_interval(above, clusters, seed=seed),
            clustered_ratio_interval(above, below, clusters, seed=seed),
            clustered_difference_interval(Ratio(above, below), Ratio(below, above), clusters, seed=seed),
            clustered_mean_of_groups_interval(above, clusters, groups, seed=seed),
        ]

    def test_the_order_of_the_rows_does_not_change_one_bit(self) -> None:
        shuffled = np.random.default_rng(1).permutation(3000)
        assert self.all_intervals(shuffled) == self.all_intervals(np.arange(3000))

    def test_a_seed_repeats_and_another_seed_differs(self) -> None:
        rows = np.arange(3000)
        assert self.all_intervals(rows, seed=5) == self.all_intervals(rows, seed=5)
        assert self.all_intervals(rows, seed=5) != self.all_intervals(rows, seed=6)

    def test_the_callers_random_state_is_left_alone(self) -> None:
        np.random.seed(0)
        untouched = np.random.random()
        np.random.seed(0)
        clustered_interval([1, 0], ["a", "b"])
        assert np.random.random() == untouched

    def test_names_of_clusters_may_be_texts_or_numbers(self) -> None:
        values = np.arange(20.0)
        texts = [f"{index // 4:02}" for index in range(20)]
        assert clustered_interval(values, texts) == clustered_interval(values, np.arange(20) // 4)

    def test_a_sum_is_a_statistic_too(self) -> None:
        interval = clustered_statistic_interval([np.ones(50)], np.arange(50), lambda sums: sums[:, 0])
        assert interval == Interval(50.0, 50.0)

    def test_chunks_of_draws_cover_all_draws(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("reprise.stats.clusters.ENTRIES_AT_ONCE", 70)
        drawn = resampled_sums(np.ones((10, 1)), draws=100, seed=0)
        assert drawn.tolist() == [[10.0]] * 100

    def test_sums_of_clusters_by_hand(self) -> None:
        assert cluster_sums([[1, 2, 3], [1, 1, 1]], ["b", "a", "b"]).tolist() == [[2, 1], [4, 2]]

    def test_many_rows_take_little_time(self) -> None:
        generator = np.random.default_rng(0)
        values = generator.integers(0, 2, 20_000) * 1.0
        clusters = np.array([f"v{index:011}" for index in generator.integers(0, 900, 20_000)])
        start = time.process_time()
        clustered_interval(values, clusters)
        assert time.process_time() - start < 1.0  # 0.1 s on one idle core; loose for a busy machine


def ratio(sums: FloatArray) -> FloatArray:
    return sums[:, 0] / sums[:, -1]


def textbook(estimate: Estimate, draws: int, seed: int) -> Interval:
    """The bootstrap without any of the shortcuts: all picks at once, double precision, numpy's quantile."""
    clusters = len(estimate.sums)
    picks = np.random.default_rng(seed).integers(clusters, size=(draws, clusters))
    counts = np.array([np.bincount(drawn, minlength=clusters) for drawn in picks], dtype=np.float64)
    return Interval(*np.quantile(estimate.statistic(counts @ estimate.sums), [(1 - 0.95) / 2, (1 + 0.95) / 2]).tolist())


class TestTogether:
    """Many estimates at once: the same draws as one by one, and as a textbook draws them."""

    def estimates(self, largest: int) -> list[Estimate]:
        generator = np.random.default_rng(3)
        sizes = (2, 3, 40, 40, 700, 700, 700)
        return [Estimate(1.0 + generator.integers(0, largest, (size, 2)), ratio) for size in sizes]

    @pytest.mark.parametrize("largest", [2, 30, EXACT_IN_SINGLE // 700, 10**8])
    def test_whole_numbers_are_exact_to_the_last_bit(self, largest: int) -> None:
        estimates = self.estimates(largest)
        together = clustered_intervals(estimates, draws=300, seed=4)
        assert together == [textbook(estimate, 300, 4) for estimate in estimates]

    def test_fractions_agree_but_for_rounding(self) -> None:
        estimates = [Estimate(np.random.default_rng(5).random((90, columns)), ratio) for columns in (2, 3, 9)]
        for found, estimate in zip(clustered_intervals(estimates, draws=300, seed=4), estimates, strict=True):
            assert found == pytest.approx(textbook(estimate, 300, 4), rel=1e-13)

    def test_an_estimate_does_not_depend_on_its_company(self) -> None:
        estimates = self.estimates(5)
        alone = [clustered_intervals([estimate], draws=300)[0] for estimate in estimates]
        assert clustered_intervals(estimates, draws=300) == alone
        assert clustered_intervals(estimates[::-1], draws=300) == alone[::-1]

    def test_those_without_an_interval_leave_the_others_theirs(self) -> None:
        one_cluster, no_mass = Estimate(np.ones((1, 2)), ratio), Estimate(np.zeros((40, 2)), ratio)
        good = self.estimates(5)[2]
        assert clustered_intervals([one_cluster, good, no_mass], draws=300) == [None, textbook(good, 300, 0), None]

    def test_none_at_all(self) -> None:
        assert clustered_intervals([]) == []

    def test_how_many_picks_are_counted_at_once_changes_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sums = np.arange(12.0)[:, np.newaxis]
        whole = resampled_sums(sums, draws=50, seed=1)
        monkeypatch.setattr("reprise.stats.clusters.PICKS_AT_ONCE", 30)
        assert (resampled_sums(sums, draws=50, seed=1) == whole).all()

    def test_quantiles_are_those_of_numpy_to_the_last_bit(self) -> None:
        generator = np.random.default_rng(6)
        for size in [*range(1, 40), 2000]:
            values = np.sort(generator.random(size) * 10.0 ** generator.integers(-3, 6))
            for share in (0.0, 0.025, 0.05, 0.3, 0.5, 0.975, 1.0):
                assert quantile(values, share) == np.quantile(values, share)


class TestEdges:
    def test_no_rows_have_no_interval(self) -> None:
        assert clustered_interval([], []) is None

    def test_one_cluster_has_no_interval(self) -> None:
        assert clustered_interval([1, 0, 1], ["only", "only", "only"]) is None

    @pytest.mark.parametrize("bad", [float("nan"), float("inf")])
    def test_a_value_that_is_no_number_is_refused_with_its_row(self, bad: float) -> None:
        with pytest.raises(ValueError, match="row 1"):
            clustered_interval([1.0, bad, 0.0], [1, 2, 3])

    def test_a_missing_value_is_refused(self) -> None:
        with pytest.raises(ValueError, match="row 0"):
            clustered_interval([None, 1.0], [1, 2])  # type: ignore[arg-type]

    def test_clusters_of_another_length_are_refused(self) -> None:
        with pytest.raises(ValueError, match="2 labels for 3 rows"):
            clustered_interval([1, 0, 1], [1, 2])

    def test_groups_of_another_length_are_refused(self) -> None:
        with pytest.raises(ValueError, match="groups: 2 labels for 3 rows"):
            clustered_mean_of_groups_interval([1, 0, 1], [1, 2, 3], ["a", "b"])

    def test_a_table_in_place_of_a_column_is_refused(self) -> None:
        with pytest.raises(ValueError, match="one dimension"):
            clustered_interval([[1.0, 0.0]], [1, 2])

    @pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
    def test_a_level_that_is_no_share_is_refused(self, level: float) -> None:
        with pytest.raises(ValueError, match="level"):
            clustered_interval([1, 0], [1, 2], level=level)

    def test_no_draws_are_refused(self) -> None:
        with pytest.raises(ValueError, match="draws"):
            clustered_interval([1, 0], [1, 2], draws=0)
