"""Intervals of effective rows: worked by hand, and as the exact binomial interval where clusters have one row."""

import numpy as np
import pytest
from reprise.stats.beta import binomial_p
from reprise.stats.intervals import BoundedMean, Difference, clustered_estimate
from scipy.stats import beta, binomtest, t

LEVEL = 0.95


def share(*clusters: str) -> BoundedMean:
    """The share of 1 in clusters that are written as `1101`."""
    rows = [int(row) for cluster in clusters for row in cluster]
    names = [index for index, cluster in enumerate(clusters) for _ in cluster]
    found = clustered_estimate([(rows, np.ones(len(rows)))], names, lambda ratios: ratios[:, 0])
    assert isinstance(found, BoundedMean)
    return found


def apart(*clusters: str) -> Difference:
    """The share of + minus the share of - in clusters that are written as `+-0`."""
    first = [float(row == "+") for cluster in clusters for row in cluster]
    second = [float(row == "-") for cluster in clusters for row in cluster]
    names = [index for index, cluster in enumerate(clusters) for _ in cluster]
    ones = np.ones(len(names))
    found = clustered_estimate([(first, ones), (second, ones)], names, lambda ratios: ratios[:, 0] - ratios[:, 1])
    assert isinstance(found, Difference)
    return found


@pytest.mark.parametrize(("right", "asked"), [(0, 2), (1, 2), (3, 4), (12, 30), (40, 40), (58, 60), (700, 1001)])
def test_of_single_rows_the_interval_and_the_test_are_the_exact_binomial_ones(right: int, asked: int) -> None:
    found = share(*"1" * right, *"0" * (asked - right))
    for level in (0.8, 0.95, 0.99):
        expected = binomtest(right, asked).proportion_ci(level, method="exact")
        assert found.interval(level) == pytest.approx((expected.low, expected.high), abs=1e-9)
    for chance in (1 / 6, 0.25, 0.5, 0.99):
        assert found.p_above(chance, LEVEL) == pytest.approx(binomial_p(right, asked, chance), rel=1e-6)
    # Chances below 0.912 give forty of forty in less than 2.5 % of cases: 0.912^40 = 0.025.
    assert share(*"1" * 40).interval(LEVEL) == pytest.approx((0.025 ** (1 / 40), 1.0))


class TestEffectiveRows:
    def test_where_all_are_right_only_clusters_count(self) -> None:
        four = share(*["1" * 10] * 4)
        assert four.effective_rows(LEVEL) == pytest.approx(4)
        assert four.lower(LEVEL) == pytest.approx(0.025 ** (1 / 4))

    def test_the_design_effect_by_hand(self) -> None:
        # With two wrong rows more, 6 of 10 are right. Clusters have 2, 2, 1, 1, 0 where 1.2 each are expected:
        # 0.64 + 0.64 + 0.04 + 0.04 + 1.44 = 2.8, against 10 x 0.6 x 0.4 = 2.4 of rows on their own.
        assert share("11", "11", "10", "01").independent_rows() == pytest.approx(8 / (2.8 / 2.4))
        # For the other bound with two right rows more, 8 of 10: 2 x 0.16 + 2 x 0.36 + 0.16 = 1.2, against 1.6.
        assert share("11", "11", "10", "01").mirrored().independent_rows() == pytest.approx(8)

    def test_clusters_of_unequal_size_by_hand(self) -> None:
        # Weights 3/4 and 1/4: one more cluster of (27 + 1) / 64 / (10 / 16) = 0.7, all wrong. Of 1.7, 0.75 is right.
        value = 0.75 / 1.7
        spread = (0.75 * (1 - value)) ** 2 + (0.25 * value) ** 2 + (0.7 * value) ** 2
        found = share("111", "0")
        assert found.independent_rows() == pytest.approx(value * (1 - value) * 1.7 / spread)

    def test_few_clusters_widen_by_students_t(self) -> None:
        found = share(*["1110"] * 10, *["1100"] * 10)
        rows = found.independent_rows() * (1.959964 / float(t.ppf(0.975, 19))) ** 2
        assert found.effective_rows(LEVEL) == pytest.approx(rows, rel=1e-6)
        assert found.lower(LEVEL) == pytest.approx(float(beta.ppf(0.025, 0.625 * rows, 0.375 * rows + 1)), rel=1e-6)

    def test_rows_that_agree_count_as_one_and_those_that_repel_each_other_one_by_one(self) -> None:
        once, often = share(*"1110" * 5), share(*["1" * 9, "1" * 9, "1" * 9, "0" * 9] * 5)
        assert often.interval(LEVEL) == pytest.approx(once.interval(LEVEL), rel=1e-9)
        assert share(*["10"] * 500).mirrored().independent_rows() <= 1000 * (1 + 1e-9)


CASES = (["11", "11", "10", "01"], ["1111", "1110", "10"] * 9, ["1"] * 30 + ["0"] * 5, ["111111"] * 7)


@pytest.mark.parametrize("clusters", CASES)
def test_the_p_value_of_a_bound_is_its_error_and_grows_with_chance(clusters: list[str]) -> None:
    found = share(*clusters)
    for level in (0.9, 0.95, 0.99):
        assert found.p_above(found.lower(level), level) == pytest.approx((1 - level) / 2, rel=1e-6)
    ps = [found.p_above(chance, LEVEL) for chance in np.linspace(0.01, 0.99, 50)]
    assert ps == sorted(ps)
    assert share("00", "0", "000").p_above(0.01, LEVEL) == 1.0, "nothing right is never above"


class TestDifference:
    def test_by_hand(self) -> None:
        # 10 of 40 speak for the first: 0.1269 to 0.4120 by the exact interval; none for the second: up to 0.0881.
        low, high = apart(*"+" * 10, *"0" * 30).interval(LEVEL)
        assert low == pytest.approx(0.25 - np.hypot(0.25 - 0.1269, 0.0881), abs=1e-4)
        assert high == pytest.approx(0.4120, abs=1e-4)

    def test_what_always_agrees_may_still_differ(self) -> None:
        most = 1 - 0.025 ** (1 / 40)
        assert apart(*"0" * 40).interval(LEVEL) == pytest.approx((-most, most))

    def test_swapping_swaps_the_signs(self) -> None:
        clusters = ["++-0", "+00", "-0", "0000", "+-"] * 4
        low, high = apart(*clusters).interval(LEVEL)
        swapped = apart(*("".join({"+": "-", "-": "+"}.get(row, row) for row in one) for one in clusters))
        assert swapped.interval(LEVEL) == pytest.approx((-high, -low), abs=1e-9)

    def test_shares_that_exclude_each_other_are_further_apart(self) -> None:
        # Of independent rows, a + here is one - less there: MOVER adds this by the correlation, -1/3 of halves.
        found = apart(*"+" * 25, *"-" * 25, *"0" * 50)
        one, other = found.ahead.interval(LEVEL), found.behind.interval(LEVEL)
        below, above = 0.25 - one.low, other.high - 0.25
        expected = np.sqrt(below**2 + above**2 + 2 / 3 * below * above)
        assert found.interval(LEVEL).low == pytest.approx(-expected, rel=1e-6)
