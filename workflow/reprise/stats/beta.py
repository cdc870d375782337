"""The beta distribution and quantiles of Student's t, without scipy: its import costs more than the sums."""

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist

PRECISION = 1e-14
TINY = 1e-300  # stands for a zero in the continued fraction
STEPS = 100  # more than a search within [0, 1] takes


def beta_cdf(x: float, a: float, b: float) -> float:
    """Probability that a beta variable of parameters `a` and `b` is at most `x`."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    # The continued fraction is quick below the mean; above it, the other tail is.
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _tail(1 - x, b, a)
    return _tail(x, a, b)


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which a beta variable lies with probability `p`, by Newton's steps within a bracket."""
    low, high, x = 0.0, 1.0, _start(p, a, b)
    for _ in range(STEPS):
        error = beta_cdf(x, a, b) - p
        low, high = (low, x) if error > 0 else (x, high)
        slope = exp(_log_power(x, a, b))  # the density times x (1 - x)
        following = x - error * x * (1 - x) / slope if slope > TINY else inf
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= PRECISION * following:
            return following
        x = following
    return x


@lru_cache(maxsize=1024)
def student_quantile(p: float, freedom: float) -> float:
    """Quantile of Student's t above its median (`p` from 0.5 on), for any positive degrees of freedom."""
    if p == 0.5:
        return 0.0
    share = beta_quantile(2 * (1 - p), freedom / 2, 0.5)
    return sqrt(freedom * (1 - share) / share)


def _tail(x: float, a: float, b: float) -> float:
    """The distribution function where it converges fast: a continued fraction, by Lentz's method."""
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    fraction, m = d, 0
    while True:
        m += 1
        factor = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        c, d = _apart(1 + factor / c), 1 / _apart(1 + factor * d)
        fraction *= c * d
        factor = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        c, d = _apart(1 + factor / c), 1 / _apart(1 + factor * d)
        fraction *= c * d
        if abs(c * d - 1) < PRECISION:
            return min(1.0, exp(_log_power(x, a, b)) / a * fraction)


def _apart(value: float) -> float:
    """A divisor, moved off zero."""
    return value if abs(value) > TINY else TINY


def _log_power(x: float, a: float, b: float) -> float:
    """Logarithm of x^a (1 - x)^b over the beta function."""
    return lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)


def _start(p: float, a: float, b: float) -> float:
    """A first guess: by the normal approximation, or the mean where that leaves (0, 1)."""
    mean = a / (a + b)
    guess = mean + NormalDist().inv_cdf(p) * sqrt(mean * (1 - mean) / (a + b + 1))
    return guess if 0 < guess < 1 else mean
