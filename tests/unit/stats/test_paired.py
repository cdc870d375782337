"""Two models on common items: hand-worked tables, scipy, exact and sampled permutations."""

import numpy as np
import pytest
from reprise.stats.paired import adjust_holm, compare_paired, sign_flip_p
from scipy.stats import binomtest, norm


def test_only_common_items_count() -> None:
    first = {"a": 1.0, "b": 1.0, "c": 0.0, "only first": 0.0}
    second = {"a": 1.0, "b": 0.0, "c": 0.0, "only second": 1.0}
    result = compare_paired(first, second, {"a": "v1", "b": "v2", "c": "v2"})
    assert result is not None and result.low is not None and result.high is not None
    assert (result.n_items, result.n_clusters, result.difference) == (3, 2, pytest.approx(1 / 3))
    assert -1 < result.low < 1 / 3 < result.high < 1
    assert result.p == 1.0, "one cluster differs: either sign is as extreme"
    assert compare_paired({"a": 1.0}, {"b": 1.0}, {"a": "v", "b": "v"}) is compare_paired({}, {}, {}) is None


def test_the_order_of_the_items_does_not_matter_and_one_cluster_has_no_interval() -> None:
    values, others = ({f"{index}": index % part / 7 for index in range(60)} for part in (3, 5))
    clusters = {f"{index}": f"{index % 20}" for index in range(60)}
    backwards = dict(reversed(values.items()))
    assert compare_paired(values, others, clusters) == compare_paired(backwards, others, clusters)
    result = compare_paired({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 0.0}, {"a": "v", "b": "v"})
    assert result is not None and (result.difference, result.low, result.high) == (0.5, None, None)


@pytest.mark.parametrize(("only_first", "only_second"), [(9, 2), (2, 9), (4, 4), (1, 0), (300, 250)])
def test_one_item_a_cluster_is_the_exact_mcnemar_test(only_first: int, only_second: int) -> None:
    differences = np.repeat([1, -1, 0], [only_first, only_second, 30])
    expected = binomtest(only_first, only_first + only_second).pvalue
    assert sign_flip_p(differences, np.arange(len(differences))) == pytest.approx(expected)


def test_sign_flips_by_hand() -> None:
    # Totals of 1, 2, 3 under all signs: 6 4 2 0 0 -2 -4 -6; two of eight are as far out as 6.
    assert sign_flip_p([1, 2, 3], ["a", "b", "c"]) == 2 / 8
    assert sign_flip_p([1, 2, -3], ["a", "b", "c"]) == 1.0
    assert sign_flip_p([0, 0], ["a", "b"]) == 1.0
    assert sign_flip_p([1, 1, 1, 1], ["a", "a", "b", "b"]) == 2 / 4, "rows of one cluster flip together"


@pytest.mark.parametrize("clusters", [3, 9, 12])
def test_whole_numbers_are_exact_by_addition_as_others_by_all_patterns(clusters: int) -> None:
    sums = np.random.default_rng(clusters).integers(-4, 6, clusters).astype(float)
    expected = sign_flip_p(sums / 7, np.arange(clusters), draws=2**clusters)
    assert sign_flip_p(sums, np.arange(clusters)) == pytest.approx(expected)


def test_sampled_patterns_follow_the_normal_theory_repeat_and_are_never_zero() -> None:
    sums = np.random.default_rng(2).normal(0.1, 1, 400)
    expected = 2 * norm.sf(abs(sums.sum()) / np.sqrt((sums**2).sum()))
    found = [sign_flip_p(sums, np.arange(400), draws=20_000, seed=3) for _ in range(2)]
    assert found[0] == found[1] == pytest.approx(expected, abs=0.01)
    assert sign_flip_p(np.full(100, 0.1), np.arange(100), draws=999) == 1 / 1000


def test_a_mean_of_tests_weights_tests_equally() -> None:
    first = {f"{test}{number}": float(test == "a") for test, size in (("a", 2), ("b", 8)) for number in range(size)}
    second = dict.fromkeys(first, 0.0)
    tests = {item: item[0] for item in first}
    found = compare_paired(first, second, {item: item for item in first}, tests)
    assert found is not None and found.difference == pytest.approx(0.5) and found.n_items == 10
    plain = compare_paired(first, second, {item: item for item in first})
    assert plain is not None and plain.difference == pytest.approx(0.2)
    one = compare_paired(first, second, {item: item for item in first}, dict.fromkeys(first, "x"))
    assert one == plain, "one test is all items"


def test_holm_by_hand() -> None:
    assert adjust_holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert adjust_holm([0.5, 0.9]) == [1.0, 1.0] and adjust_holm([]) == [] and adjust_holm([0.02]) == [0.02]
