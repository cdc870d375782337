"""Agreement of judges: examples worked by hand, closed forms, and other people's code."""

import pytest
from reprise.stats.agreement import kappa, rank_correlation, weighted_kappa
from scipy.stats import spearmanr


def test_kappas_by_hand() -> None:
    """3 of 4 agree; by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2 would. With weights: squared differences 0 1 0 0 4, their
    mean 1; variances 34/25 and 26/25, means 9/5 and 8/5: 61/25 by chance.
    """
    assert kappa("AABB", "ABBB") == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))
    assert [kappa("ABAB", other) for other in ("ABAB", "BABA", "AABB")] == [1, -1, 0]
    assert weighted_kappa([0, 1, 2, 3, 3], [0, 2, 2, 3, 1]) == pytest.approx(1 - 25 / 61)
    assert [weighted_kappa([0, 3, 0, 3], other) for other in ([0, 3, 0, 3], [3, 0, 3, 0], [0, 0, 3, 3])] == [1, -1, 0]
    first, second = [0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 0]
    assert weighted_kappa(first, second) == pytest.approx(kappa(first, second)), "of two labels weights do not matter"


def test_rank_correlation_by_hand() -> None:
    """Ranks 1 2 3 4 and 1 2.5 2.5 4: covariance 4.5, spreads 5 and 4.5."""
    assert rank_correlation([1, 2, 3, 4], [5, 6, 6, 9]) == pytest.approx(4.5 / (5 * 4.5) ** 0.5)
    many = [(n * 7 % 5, n * 3 % 4) for n in range(30)]
    assert rank_correlation(*zip(*many, strict=True)) == pytest.approx(spearmanr(*zip(*many, strict=True)).statistic)
    assert rank_correlation([0.1, 0.2, 0.9], [1, 2, 3]) == pytest.approx(1)


def test_undefined_values_are_none() -> None:
    assert kappa([], []) is None and weighted_kappa([], []) is None
    assert kappa("AAA", "AAA") is None and weighted_kappa([3, 3], [3, 3]) is None
    assert kappa("AAA", "BBB") == 0, "no label in common"
    assert rank_correlation([1, 2], [1, 2]) is None, "of two there is one order and its reverse"
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
