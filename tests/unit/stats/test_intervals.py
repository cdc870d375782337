"""Test intervals against hand computations and, with one row per cluster, exact binomial ones; and test measures."""

import random
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from numpy.typing import ArrayLike, NDArray
from reprise.stats.beta import ALPHA, binomial_p
from reprise.stats.intervals import BoundedMean, Difference, Interval, Statistic, clustered_estimate
from reprise.stats.measures import Measure, average, compute_measure, subtract_second, take_first, unit_weights
from scipy.stats import beta, binomtest, t

LEVEL = 0.95


def interval_of(ratios: Sequence[tuple[ArrayLike, ArrayLike]], clusters: ArrayLike, statistic: Statistic) -> Interval:
    found = clustered_estimate(ratios, clusters, statistic)
    assert found is not None
    return found.interval(LEVEL)


def rows_of(clusters: Sequence[str], sign: str) -> tuple[NDArray[np.float64], list[int]]:
    """Return 1 for each row with the sign and 0 for others, and the cluster of each row."""
    cluster_of_row = [index for index, cluster in enumerate(clusters) for _ in cluster]
    return np.array([float(row == sign) for row in "".join(clusters)]), cluster_of_row


def share(*clusters: str) -> BoundedMean:
    """The share of 1 in clusters that are written as `1101`."""
    right, cluster_of_row = rows_of(clusters, "1")
    found = clustered_estimate([(right, np.ones(len(right)))], cluster_of_row, take_first)
    assert isinstance(found, BoundedMean)
    return found


def difference(*clusters: str) -> Difference:
    """The share of + minus the share of - in clusters that are written as `+-0`."""
    (ahead, cluster_of_row), (behind, _) = rows_of(clusters, "+"), rows_of(clusters, "-")
    ones = np.ones(len(ahead))
    found = clustered_estimate([(ahead, ones), (behind, ones)], cluster_of_row, subtract_second)
    assert isinstance(found, Difference)
    return found


@pytest.mark.parametrize(("right", "asked"), [(0, 2), (1, 2), (3, 4), (12, 30), (40, 40), (58, 60), (700, 1001)])
def test_interval_and_test_of_single_rows_are_exact_binomial(right: int, asked: int) -> None:
    found = share(*"1" * right, *"0" * (asked - right))
    for level in (0.8, 0.95, 0.99):
        expected = binomtest(right, asked).proportion_ci(level, method="exact")
        assert found.interval(level) == pytest.approx((expected.low, expected.high), abs=1e-9)
    for chance in (1 / 6, 0.25, 0.5, 0.99):
        assert found.p_above(chance, LEVEL) == pytest.approx(binomial_p(right, asked, chance), rel=1e-6)


def test_only_clusters_count_if_all_rows_are_right() -> None:
    four = share(*["1" * 10] * 4)
    assert four.effective_rows(LEVEL) == pytest.approx(4)
    assert four.lower(LEVEL) == pytest.approx(0.025 ** (1 / 4))


def test_the_design_effect_by_hand() -> None:
    # With one more cluster of two wrong rows, 6 of 10 rows are right. Clusters have 2, 2, 1, 1, 0 right rows, and 1.2
    # are expected in each: 0.64 + 0.64 + 0.04 + 0.04 + 1.44 = 2.8, against 10 x 0.6 x 0.4 = 2.4 for independent rows.
    assert share("11", "11", "10", "01").independent_rows() == pytest.approx(8 / (2.8 / 2.4))
    # For the upper bound, with one more cluster of two right rows, 8 of 10 are right, and 1.6 are expected in each
    # cluster: 2 x 0.16 + 2 x 0.36 + 0.16 = 1.2, against 1.6. The number stays 8, because 1.2 is less.
    assert share("11", "11", "10", "01").complement().independent_rows() == pytest.approx(8)
    # Weights 3/4 and 1/4: one more cluster of (27 + 1) / 64 / (10 / 16) = 0.7, all wrong. Of 1.7, 0.75 is right.
    value = 0.75 / 1.7
    spread = (0.75 * (1 - value)) ** 2 + (0.25 * value) ** 2 + (0.7 * value) ** 2
    assert share("111", "0").independent_rows() == pytest.approx(value * (1 - value) * 1.7 / spread)


def test_few_clusters_widen_by_students_t() -> None:
    found = share(*["1110"] * 10, *["1100"] * 10)
    rows = found.independent_rows() * (1.959964 / float(t.ppf(0.975, 19))) ** 2
    assert found.effective_rows(LEVEL) == pytest.approx(rows, rel=1e-6)
    assert found.lower(LEVEL) == pytest.approx(float(beta.ppf(0.025, 0.625 * rows, 0.375 * rows + 1)), rel=1e-6)


def test_differences_by_hand() -> None:
    # 10 of 40 speak for the first: 0.1269 to 0.4120 by the exact interval; none for the second: up to 0.0881.
    low, high = difference(*"+" * 10, *"0" * 30).interval(LEVEL)
    assert low == pytest.approx(0.25 - np.hypot(0.25 - 0.1269, 0.0881), abs=1e-4)
    assert high == pytest.approx(0.4120, abs=1e-4)
    most = 1 - 0.025 ** (1 / 40)
    assert difference(*"0" * 40).interval(LEVEL) == pytest.approx((-most, most)), (
        "no observed difference does not prove that there is none"
    )
    clusters = ["++-0", "+00", "-0", "0000", "+-"] * 4
    low, high = difference(*clusters).interval(LEVEL)
    swapped = difference(*("".join({"+": "-", "-": "+"}.get(row, row) for row in one) for one in clusters))
    assert swapped.interval(LEVEL) == pytest.approx((-high, -low), abs=1e-9)


def test_intervals_of_exclusive_shares_are_wider() -> None:
    # A + row cannot be a - row too, so the shares are negatively correlated: by -1/3 for two shares of 1/4. MOVER adds
    # this correlation.
    found = difference(*"+" * 25, *"-" * 25, *"0" * 50)
    one, other = found.first.interval(LEVEL), found.second.interval(LEVEL)
    below, above = 0.25 - one.low, other.high - 0.25
    expected = np.sqrt(below**2 + above**2 + 2 / 3 * below * above)
    assert found.interval(LEVEL).low == pytest.approx(-expected, rel=1e-6)


def test_choice_bias_of_separate_questions() -> None:
    # The model always says B: all right where B is the answer, none where A is. Twenty clusters speak for each.
    is_b = np.tile([1.0, 0.0], 20)
    low, high = interval_of([(is_b, is_b), (0 * is_b, 1 - is_b)], np.arange(40), subtract_second)
    assert (low, high) == (pytest.approx(1 - np.hypot(*[1 - 0.025 ** (1 / 20)] * 2)), 1.0)


def test_the_order_of_the_rows_does_not_change_one_bit() -> None:
    rows, videos = np.random.default_rng(0).integers(0, 2, (2, 3000)) * 1.0, np.arange(3000) % 170

    def intervals(order: NDArray[np.int64]) -> list[Interval]:
        first, second = rows[:, order]
        ratios = [(first * second, second), (first, np.ones_like(first))]
        return [interval_of(ratios, videos[order], function) for function in (take_first, subtract_second, average)]

    assert intervals(np.random.default_rng(1).permutation(3000)) == intervals(np.arange(3000))


@pytest.mark.parametrize(("values", "counts", "clusters"), [
    ([], [], []),
    ([1, 0, 1], [1, 1, 1], ["only", "only", "only"]),
    ([1, 0, 0], [1, 1, 0], ["a", "a", "b"]),  # one cluster that counts
    ([0, 0, 0], [0, 0, 0], [1, 2, 3]),
    ([1.0, 3.0], [1, 1], [1, 2]),  # a mean beyond its limits
])  # fmt: skip
def test_undefined_intervals(values: list[float], counts: list[float], clusters: list[object]) -> None:
    assert clustered_estimate([(values, counts)], clusters, take_first) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_a_non_number_is_refused_with_its_row(value: float | None) -> None:
    with pytest.raises(ValueError, match="row 1"):
        clustered_estimate([([1.0, value, 0.0], np.ones(3))], [1, 2, 3], take_first)


# --- measures: values, counts, and tests against chance ---------------------------------------------------------------


def made_rows(seed: int, height: int = 200, videos: int = 30) -> pl.DataFrame:
    draw = random.Random(seed)
    shares = {"right": 0.6, "failed": 0.1, "unparsed": 0.1}
    units = [f"v{draw.randrange(videos)}" for _ in range(height)]
    return pl.DataFrame(
        {"cluster": units} | {name: [draw.random() < p for _ in range(height)] for name, p in shares.items()}
    )


def share_of(frame: pl.DataFrame, level: float = LEVEL, scale: float = 100) -> Measure:
    return compute_measure("ba", "overall", frame, [(frame["right"], unit_weights(frame))], level, scale=scale)


@pytest.mark.parametrize(("least", "most", "scale"), [(0, 1, 100), (0, 3, 1), (-1, 1, 100)])
def test_the_interval_is_on_the_scale_of_the_values(least: float, most: float, scale: float) -> None:
    frame = made_rows(2)
    draw = random.Random(3)
    values = least + (most - least) * pl.Series([draw.randrange(4) / 3 for _ in range(frame.height)])
    found = compute_measure(
        "m", "all", frame, [(values, unit_weights(frame))], LEVEL, scale=scale, limits=(least, most)
    )
    expected = clustered_estimate(
        [((values - least) / (most - least), unit_weights(frame))], frame["cluster"], take_first
    )
    assert expected is not None and found.value == pytest.approx(scale * values.mean())  # type: ignore[operator]
    ends = [scale * (least + (most - least) * end) for end in expected.interval(LEVEL)]
    assert (found.low, found.high) == pytest.approx(tuple(ends))


@pytest.mark.parametrize("videos", [3, 10, 30, 100])
@pytest.mark.parametrize("seed", range(3))
def test_a_value_is_above_chance_exactly_if_its_one_sided_bound_is(seed: int, videos: int) -> None:
    frame = made_rows(seed, videos=videos)
    bound, low = share_of(frame, 1 - 2 * ALPHA).low, share_of(frame).low
    assert bound is not None and low is not None
    assert share_of(frame, 0.99).p_above(0.5) == share_of(frame, 0.8).p_above(0.5), (
        "the test does not depend on the level of intervals"
    )
    assert share_of(frame).p_above(low / 100) < ALPHA, "the test marks a number whose interval is above chance"  # type: ignore[operator]
    assert share_of(frame).p_above(bound / 100 + 1e-6) > ALPHA > share_of(frame).p_above(bound / 100 - 1e-6)  # type: ignore[operator]


def test_counts_and_values() -> None:
    right, failed, unparsed = [True, False, True, True], [False, True, False, False], [False, True, True, False]
    frame = pl.DataFrame({"cluster": [*"aabb"], "right": right, "failed": failed, "unparsed": unparsed})
    found = share_of(frame, scale=3)
    assert found.value == 3 * 0.75
    assert (found.requested, found.scored, found.failed, found.unparsed) == (4, 2, 1, 1), (
        "what failed is not unparsed too"
    )
    ratios = [(frame["right"], unit_weights(frame)), (~frame["right"], unit_weights(frame))]
    bias = compute_measure("bias", "overall", frame, ratios, LEVEL, subtract_second)
    assert (bias.value, bias.p_above(0.5)) == (100 * (0.75 - 0.25), None), "a difference has no chance level"


@pytest.mark.parametrize("height", [0, 3])
def test_no_rows_give_no_value_and_no_interval(height: int) -> None:
    frame = made_rows(1).head(height)
    found = compute_measure("ba", "overall", frame, [(frame["right"], 0 * unit_weights(frame))], LEVEL)
    assert (found.value, found.low, found.high, found.requested) == (None, None, None, height)
