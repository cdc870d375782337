"""The beta distribution, exact binomial tests and quantiles of Student's t, without scipy: its import costs more."""

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Literal, TypeAlias

Alternative: TypeAlias = Literal["greater", "less"]

PRECISION = 1e-13  # of a probability, relative
LAST_STEP = 1e-7  # relative; Newton's next step would be about its square
STEPS = 100  # more than a search within [0, 1] takes
FARTHEST = 100.0  # exponent of a first guess
ALPHA = 0.05  # error of the tests that mark numbers, each of them one-sided
TINY = 1e-300  # stands for a zero by which the continued fraction would divide


def beta_cdf(x: float, a: float, b: float) -> float:
    """Probability that a beta variable of parameters `a` and `b` is at most `x`."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    # The continued fraction is quick below the mean; above it, the other tail is.
    return _below(x, a, b) if x <= (a + 1) / (a + b + 2) else 1.0 - _below(1 - x, b, a)


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which a beta variable lies with probability `p`, by Newton's steps within a bracket."""
    low, high, x = 0.0, 1.0, _start(p, a, b)
    for _ in range(STEPS):
        error = beta_cdf(x, a, b) - p
        low, high = (low, x) if error > 0 else (x, high)
        slope = exp(_log_power(x, a, b))  # the density times x (1 - x)
        following = x - error * x * (1 - x) / slope if slope > TINY else inf
        if not low <= following <= high:
            following = (low + high) / 2
        if abs(following - x) <= LAST_STEP * following:
            return following
        x = following
    return x


@lru_cache(maxsize=1024)
def student_quantile(p: float, freedom: float) -> float:
    """Quantile of Student's t above its median (`p` above 0.5), for any positive degrees of freedom."""
    share = beta_quantile(2 * (1 - p), freedom / 2, 0.5)
    return sqrt(freedom * (1 - share) / share)


def binomial_p(successes: int, trials: int, chance: float, alternative: Alternative = "greater") -> float | None:
    """Exact one-sided p-value of `successes` out of `trials` against `chance`; None without a trial."""
    if trials == 0:
        return None
    if alternative == "less":
        return binomial_p(trials - successes, trials, 1 - chance)
    return 1.0 if successes == 0 else beta_cdf(chance, successes, trials - successes + 1)


def _below(x: float, a: float, b: float) -> float:
    """The distribution function where it converges fast: a continued fraction, by Lentz's method."""
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
    """Logarithm of x^a (1 - x)^b over the beta function."""
    return lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)


def _start(p: float, a: float, b: float) -> float:
    """A first guess: Abramowitz and Stegun 26.5.22, or the mean where that does not hold."""
    mean = a / (a + b)
    if min(a, b) <= 1:
        return mean
    normal = -NormalDist().inv_cdf(p)
    one, other = 1 / (2 * a - 1), 1 / (2 * b - 1)
    harmonic, curve = 2 / (one + other), (normal**2 - 3) / 6
    if harmonic + curve <= 0:
        return mean
    tilt = normal * sqrt(harmonic + curve) / harmonic - (other - one) * (curve + 5 / 6 - 2 / (3 * harmonic))
    return a / (a + b * exp(2 * tilt)) if abs(tilt) < FARTHEST else mean
