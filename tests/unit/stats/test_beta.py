"""The beta distribution: closed forms by hand, and scipy."""

from math import asin, pi, sqrt

import pytest
from reprise.stats.beta import beta_cdf, beta_quantile, student_quantile
from scipy.stats import beta, t

PARAMETERS = [(1, 1), (0.5, 0.5), (3, 1), (1, 8), (0.2, 5.7), (38.8, 1.2), (700, 301), (6e3, 4e3), (1.5, 1e8)]


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


def test_students_t_by_hand() -> None:
    assert student_quantile(0.975, 1) == pytest.approx(12.706, abs=0.001)  # tan(0.475 pi)
    assert student_quantile(0.975, 4) == pytest.approx(2.776, abs=0.001)


@pytest.mark.parametrize("freedom", [1, 1.4, 2, 7.3, 30, 1999])
@pytest.mark.parametrize("p", [0.9, 0.95, 0.975, 0.995])
def test_students_t_agrees_with_scipy(p: float, freedom: float) -> None:
    assert student_quantile(p, freedom) == pytest.approx(float(t.ppf(p, freedom)), rel=1e-9)
