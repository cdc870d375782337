"""The beta distribution and exact binomial tests: by hand, and scipy."""

from math import asin, pi, sqrt

import pytest
from reprise.stats.beta import Alternative, beta_cdf, beta_quantile, binomial_p, student_quantile
from scipy.stats import beta, binomtest, t

PARAMETERS = [(1, 1), (0.5, 0.5), (3, 1), (1, 8), (0.2, 5.7), (38.8, 1.2), (700, 301), (6e3, 4e3), (1.5, 1e8)]
SUCCESSES = [(1, [0, 1]), (7, [0, 3, 7]), (500, [100, 125, 151]), (20_000, [4890, 5100])]
CASES = [(k, n, chance) for n, ks in SUCCESSES for k in ks for chance in (1 / 6, 0.25, 0.5, 0.9)]


@pytest.mark.parametrize("x", [0.0, 0.1, 0.5, 0.97, 1.0])
def test_closed_forms(x: float) -> None:
    assert beta_cdf(x, 1, 1) == pytest.approx(x)
    assert beta_cdf(x, 4, 1) == pytest.approx(x**4)
    assert beta_cdf(x, 1, 4) == pytest.approx(1 - (1 - x) ** 4)
    assert beta_cdf(x, 0.5, 0.5) == pytest.approx(2 / pi * asin(sqrt(x)))


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
@pytest.mark.parametrize("p", [0.005, 0.025, 0.05, 0.5])
def test_agrees_with_scipy(p: float, a: float, b: float) -> None:
    quantile = float(beta.ppf(p, a, b))
    assert beta_quantile(p, a, b) == pytest.approx(quantile, rel=1e-9)
    assert beta_cdf(quantile, a, b) == pytest.approx(p, rel=1e-6)
    assert beta_cdf(2 * quantile, a, b) == pytest.approx(float(beta.cdf(2 * quantile, a, b)), rel=1e-6)


@pytest.mark.parametrize("freedom", [1, 1.4, 2, 7.3, 30, 1999])
@pytest.mark.parametrize("p", [0.9, 0.95, 0.975, 0.995])
def test_students_t_agrees_with_scipy(p: float, freedom: float) -> None:
    assert student_quantile(p, freedom) == pytest.approx(float(t.ppf(p, freedom)), rel=1e-9)


def test_binomial_tests_by_hand() -> None:
    assert binomial_p(3, 3, 0.5) == pytest.approx(1 / 8) and binomial_p(3, 3, 0.5, "less") == pytest.approx(1)
    assert binomial_p(2, 3, 0.25) == pytest.approx(10 / 64)  # 3 x (1/16) x (3/4) + 1/64
    assert binomial_p(0, 40, 0.25) == 1.0, "no success is never better than chance"
    assert binomial_p(0, 0, 0.5) is None


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize(("successes", "trials", "chance"), CASES)
def test_binomial_tests_agree_with_scipy(successes: int, trials: int, chance: float, alternative: Alternative) -> None:
    expected = binomtest(successes, trials, chance, alternative=alternative).pvalue
    assert binomial_p(successes, trials, chance, alternative) == pytest.approx(expected, rel=1e-7, abs=1e-300)
