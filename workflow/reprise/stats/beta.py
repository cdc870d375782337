"""Compute the beta distribution, exact binomial tests and Student's t quantiles without scipy, whose import is slow."""

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Literal, TypeAlias

Alternative: TypeAlias = Literal["greater", "less"]

PRECISION = 1e-13  # relative precision of a probability
STEP_TOLERANCE = 1e-7  # relative; the next Newton step would be about its square
MAX_STEPS = 100  # more than a search within [0, 1] takes
MAX_EXPONENT = 100.0  # largest exponent of a first guess
ALPHA = 0.05  # error level of the one-sided tests that mark numbers
TINY = 1e-300  # replaces a zero by which the continued fraction would divide


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the probability that a beta variable with parameters `a` and `b` is at most `x`."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    # The continued fraction converges fast below the mean; above the mean, the complementary tail does.
    return _lower_tail(x, a, b) if x <= (a + 1) / (a + b + 2) else 1.0 - _lower_tail(1 - x, b, a)


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the value below which a beta variable lies with probability `p`, by Newton steps within a bracket."""
    low, high, x = 0.0, 1.0, _guess_quantile(p, a, b)
    for _ in range(MAX_STEPS):
        error = beta_cdf(x, a, b) - p
        low, high = (low, x) if error > 0 else (x, high)
        slope = exp(_log_power(x, a, b))  # the density times x (1 - x)
        next_x = x - error * x * (1 - x) / slope if slope > TINY else inf
        if not low <= next_x <= high:
            next_x = (low + high) / 2
        if abs(next_x - x) <= STEP_TOLERANCE * next_x:
            return next_x
        x = next_x
    return x


@lru_cache(maxsize=1024)
def student_quantile(p: float, freedom: float) -> float:
    """Return a quantile of Student's t above its median (`p` above 0.5), for any positive degrees of freedom."""
    share = beta_quantile(2 * (1 - p), freedom / 2, 0.5)
    return sqrt(freedom * (1 - share) / share)


def binomial_p(successes: int, trials: int, chance: float, alternative: Alternative = "greater") -> float | None:
    """Return the exact one-sided p-value of `successes` out of `trials` against `chance`; None without trials."""
    if trials == 0:
        return None
    if alternative == "less":
        return binomial_p(trials - successes, trials, 1 - chance)
    return 1.0 if successes == 0 else beta_cdf(chance, successes, trials - successes + 1)


def _lower_tail(x: float, a: float, b: float) -> float:
    """Return the probability of at most `x`, by a continued fraction that converges fast below the mean.

    The names `c` and `d` are those of Lentz's method.
    """
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or TINY)
    fraction, change, m = d, 0.0, 0
    while abs(change - 1) >= PRECISION:
        m += 1
        factor = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        c, d = 1 + factor / c or TINY, 1 / (1 + factor * d or TINY)
        fraction *= c * d
        factor = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        c, d = 1 + factor / c or TINY, 1 / (1 + factor * d or TINY)
        change = c * d
        fraction *= change
    return min(1.0, exp(_log_power(x, a, b)) / a * fraction)


def _log_power(x: float, a: float, b: float) -> float:
    """Return the logarithm of x^a (1 - x)^b divided by the beta function."""
    return lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)


def _guess_quantile(p: float, a: float, b: float) -> float:
    """Return a first guess of the quantile: Abramowitz and Stegun 26.5.22, or the mean where it is invalid."""
    mean = a / (a + b)
    if min(a, b) <= 1:
        return mean
    normal = -NormalDist().inv_cdf(p)
    first_term, second_term = 1 / (2 * a - 1), 1 / (2 * b - 1)
    harmonic, curve = 2 / (first_term + second_term), (normal**2 - 3) / 6
    if harmonic + curve <= 0:
        return mean
    tilt = normal * sqrt(harmonic + curve) / harmonic - (second_term - first_term) * (
        curve + 5 / 6 - 2 / (3 * harmonic)
    )
    return a / (a + b * exp(2 * tilt)) if abs(tilt) < MAX_EXPONENT else mean
