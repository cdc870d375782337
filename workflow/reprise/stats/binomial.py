"""Exact binomial tests, without scipy: its import costs more than the sums."""

from typing import Literal

from reprise.stats.beta import beta_cdf

Alternative = Literal["greater", "less"]

ALPHA = 0.05  # error of the tests that mark numbers, each of them one-sided


def binomial_p(successes: int, trials: int, chance: float, alternative: Alternative = "greater") -> float | None:
    """Exact one-sided p-value of `successes` out of `trials` against `chance`; None without a trial."""
    if trials == 0:
        return None
    if alternative == "less":
        return binomial_p(trials - successes, trials, 1 - chance)
    return 1.0 if successes == 0 else beta_cdf(chance, successes, trials - successes + 1)
