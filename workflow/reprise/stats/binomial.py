"""Exact binomial tests and intervals, without scipy: its import costs more than the sums."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reprise.stats.clusters import Interval

Alternative = Literal["greater", "less", "two-sided"]

TIE_TOLERANCE = 1e-7  # outcomes as likely as the observed one, up to rounding
HALVINGS = 60  # of [0, 1], beyond the precision of a float near the root


def binomial_p(successes: int, trials: int, chance: float, alternative: Alternative = "greater") -> float | None:
    """Exact p-value of `successes` out of `trials` against `chance`; None without a trial.

    Two-sided adds up all outcomes that are no more likely than the observed one.
    """
    check_counts(successes, trials)
    if not 0 < chance < 1:
        raise ValueError(f"chance must lie between 0 and 1, got {chance}")
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(f"alternative must be 'greater', 'less' or 'two-sided', got '{alternative}'")
    if trials == 0:
        return None
    likely = probabilities(trials, chance)
    if alternative == "greater":
        return bounded(likely[successes:].sum())
    if alternative == "less":
        return bounded(likely[: successes + 1].sum())
    return bounded(likely[likely <= likely[successes] * (1 + TIE_TOLERANCE)].sum())


def clopper_pearson(successes: int, trials: int, *, level: float = 0.95) -> Interval | None:
    """Exact interval of a share whose trials are independent; None without a trial."""
    check_counts(successes, trials)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    if trials == 0:
        return None
    tail = (1 - level) / 2

    def at_least(chance: float) -> float:
        return float(probabilities(trials, chance)[successes:].sum())

    def at_most(chance: float) -> float:
        return float(probabilities(trials, chance)[: successes + 1].sum())

    low = 0.0 if successes == 0 else crossing(lambda chance: at_least(chance) > tail)
    high = 1.0 if successes == trials else crossing(lambda chance: at_most(chance) < tail)
    return Interval(low, high)


def probabilities(trials: int, chance: float) -> NDArray[np.float64]:
    """Probability of 0, 1, ... `trials` successes."""
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
    outcomes = np.arange(trials + 1)
    log_ways = log_factorial[-1] - log_factorial - log_factorial[::-1]
    likely: NDArray[np.float64] = np.exp(log_ways + outcomes * np.log(chance) + (trials - outcomes) * np.log1p(-chance))
    return likely


def crossing(beyond: Callable[[float], bool]) -> float:
    """The point of (0, 1) from which on `beyond` holds, by halving."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2


def bounded(probability: float) -> float:
    """A sum of probabilities that rounding may have carried past 1."""
    return min(1.0, float(probability))


def check_counts(successes: int, trials: int) -> None:
    """Refuse counts that no experiment gives."""
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie between 0 and trials, got {successes} of {trials}")
