"""Compute how much accuracy falls if a model only says Yes (or A) more or less readily, by signal detection theory.

The model chooses the first option if its evidence exceeds a threshold. Evidence is normally distributed. The hit rate
and the false alarm rate under one condition then determine the accuracy at any other threshold, given the ratio of
the standard deviations: that for questions whose right answer is the first option, divided by that for the others.
"""

from collections.abc import Mapping
from statistics import NormalDist
from typing import NamedTuple

NORMAL = NormalDist()
RATIOS = (0.5, 0.7, 1.0, 1.4, 2.0)
"""ratios of standard deviations; the one that explains the largest loss counts"""
LARGEST_MOVE = 40.0  # of the threshold, in standard deviations; beyond it, all answers are the same
BISECTIONS = 40


class OptionRates(NamedTuple):
    """How often a model chooses the first of two options."""

    first_right: float
    """share of questions whose right answer is the first option"""
    hits: float
    """share of these questions that are answered with the first option"""
    false_alarms: float
    """share of the other questions that are answered with the first option"""

    @property
    def share(self) -> float:
        """Return the share of answers that are the first option."""
        return self.first_right * self.hits + (1 - self.first_right) * self.false_alarms

    @property
    def accuracy(self) -> float:
        """Return the share of right answers."""
        return self.first_right * self.hits + (1 - self.first_right) * (1 - self.false_alarms)


def estimate_rates(first_right: int, hits: int, other_right: int, false_alarms: int) -> OptionRates:
    """Estimate the rates from counts of questions and of first options; half an answer is added to each side."""
    return OptionRates(
        (first_right + 0.5) / (first_right + other_right + 1),
        (hits + 0.5) / (first_right + 1),
        (false_alarms + 0.5) / (other_right + 1),
    )


def explain_loss(planned: OptionRates, other: OptionRates, ratio: float) -> float:
    """Return the loss of accuracy if only the threshold moves until the share of the first option is the other one."""
    hit_score, false_alarm_score = NORMAL.inv_cdf(planned.hits), NORMAL.inv_cdf(planned.false_alarms)
    # How far the threshold is lowered, in standard deviations of the questions whose right answer is the other option.
    low, high, moved = -LARGEST_MOVE, LARGEST_MOVE, planned
    for _ in range(BISECTIONS):
        move = (low + high) / 2
        hits, false_alarms = NORMAL.cdf(hit_score + move / ratio), NORMAL.cdf(false_alarm_score + move)
        moved = OptionRates(planned.first_right, hits, false_alarms)
        low, high = (move, high) if moved.share < other.share else (low, move)
    return max(0.0, planned.accuracy - moved.accuracy)


def explain_losses(planned: Mapping[str, OptionRates] | None, other: Mapping[str, OptionRates] | None) -> float:
    """Return the largest loss, as a mean over tests, that a moved threshold can explain; 0 without two options."""
    tests = [test for test in planned or {} if test in (other or {})]
    if not planned or not other or not tests:
        return 0.0
    return max(sum(explain_loss(planned[test], other[test], ratio) for test in tests) / len(tests) for ratio in RATIOS)
