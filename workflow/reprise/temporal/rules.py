"""Decide by fixed rules what a temporal profile may claim about a model (docs/reference/temporal.md).

Each rule requires that the planned score is higher than the score under each of several conditions. The p-value of a
rule is therefore the largest p-value of its comparisons. Holm's method corrects the p-values of a model's rules on all
benchmarks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reprise.media.ablations import SHUFFLED
from reprise.stats.cluster_t import MIN_CLUSTERS, estimate_difference
from reprise.stats.intervals import FloatArray
from reprise.stats.paired import adjust_holm
from reprise.temporal.conditions import PLANNED, REORDERED, REPEATED_FRAMES, SINGLE_FRAMES, WITHOUT_VIDEO

MARGIN = 0.05
"""A difference up to this share of the best score is small: its interval must exclude larger ones on one side."""
MAX_EXTRA_LOST = 0.05
"""largest share of unparsed and failed answers that a condition may have more than the planned one"""


class Rule(StrEnum):
    """What a profile may claim."""

    VIDEO = "video"
    SINGLE_FRAMES = "single_frames"
    SHUFFLING = "shuffling"
    ORDER = "order"


CONDITIONS_BY_RULE = {
    Rule.VIDEO: WITHOUT_VIDEO,
    Rule.SINGLE_FRAMES: (*SINGLE_FRAMES, *REPEATED_FRAMES),
    Rule.SHUFFLING: (SHUFFLED,),
    Rule.ORDER: (*SINGLE_FRAMES, *REPEATED_FRAMES, *REORDERED),
}


class Outcome(StrEnum):
    """The outcome of a comparison or of a rule; a rule takes the first one in this order that a comparison has."""

    NOT_SHOWN = "not_shown"
    NOT_MEASURED = "not_measured"
    NOT_RUN = "not_run"
    TOO_FEW = "too_few"
    SHOWN = "shown"


class ConditionAnswers(NamedTuple):
    """A model's answers under one condition, for the samples of all conditions in the same order."""

    values: FloatArray
    """from 0 to 1; unparsed and failed answers count as 0"""
    lost_share: float
    """share of unparsed and failed answers"""


@dataclass(frozen=True)
class Samples:
    """The tests and clusters of the samples that all conditions share."""

    tests: NDArray[np.str_]
    clusters: NDArray[np.str_]

    @property
    def cluster_count(self) -> int:
        return len(np.unique(self.clusters))


@dataclass(frozen=True)
class Comparison:
    """The planned score minus the score under another condition, from -1 to 1."""

    outcome: Outcome
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def is_tested(self) -> bool:
        """Return whether the comparison has a valid p-value."""
        return self.p is not None and self.outcome != Outcome.NOT_MEASURED

    @property
    def p_higher(self) -> float:
        """Return the p-value of the claim that the planned score is higher; 1 if it is not."""
        return self.p if self.p is not None and self.value is not None and self.value > 0 else 1.0


@dataclass(frozen=True)
class RuleResult:
    """The outcome of a rule on one benchmark, with its p-value before and after Holm's correction."""

    outcome: Outcome
    p: float | None = None
    adjusted_p: float | None = None


def compare_conditions(
    answers: Mapping[str, ConditionAnswers], samples: Samples, level: float
) -> dict[str, Comparison]:
    """Compare the planned condition with each other condition that was run."""
    planned = answers[PLANNED]
    return {
        condition: _compare(planned, other, samples, level)
        for condition, other in answers.items()
        if condition != PLANNED
    }


def _compare(planned: ConditionAnswers, other: ConditionAnswers, samples: Samples, level: float) -> Comparison:
    estimate = estimate_difference(planned.values - other.values, samples.clusters, samples.tests)
    if estimate is None:
        return Comparison(Outcome.TOO_FEW, float(np.mean(planned.values) - np.mean(other.values)))
    if samples.cluster_count < MIN_CLUSTERS:
        return Comparison(Outcome.TOO_FEW, estimate.value)
    low, high = estimate.interval(level)
    if other.lost_share > planned.lost_share + MAX_EXTRA_LOST:
        outcome = Outcome.NOT_MEASURED
    elif estimate.value > 0 and estimate.p < 1 - level:
        outcome = Outcome.SHOWN
    else:
        outcome = Outcome.TOO_FEW if low < -MARGIN and high > MARGIN else Outcome.NOT_SHOWN
    return Comparison(outcome, estimate.value, low, high, estimate.p)


def apply_rules(
    comparisons_by_benchmark: Sequence[Mapping[str, Comparison]], level: float
) -> list[dict[Rule, RuleResult]]:
    """Apply all rules to a model's benchmarks, with Holm's correction over benchmarks and rules."""
    missing = Comparison(Outcome.NOT_RUN)
    outcomes: list[dict[Rule, Outcome]] = []
    ps: dict[tuple[int, Rule], float] = {}
    for index, comparisons in enumerate(comparisons_by_benchmark):
        outcomes.append({})
        for rule, conditions in CONDITIONS_BY_RULE.items():
            members = [comparisons.get(condition, missing) for condition in conditions]
            outcomes[index][rule] = next(outcome for outcome in Outcome if outcome in {m.outcome for m in members})
            if all(member.is_tested for member in members):
                ps[index, rule] = max(member.p_higher for member in members)
    adjusted_ps = dict(zip(ps, adjust_holm(list(ps.values())), strict=True))
    return [
        {
            rule: RuleResult(
                Outcome.NOT_SHOWN if outcome == Outcome.SHOWN and adjusted_ps[index, rule] >= 1 - level else outcome,
                ps.get((index, rule)),
                adjusted_ps.get((index, rule)),
            )
            for rule, outcome in rules.items()
        }
        for index, rules in enumerate(outcomes)
    ]
