"""Decide by fixed rules what a temporal profile may claim about a model (docs/reference/temporal.md).

Each rule requires that the planned score is higher than the score under each of several conditions. The p-value of a
rule is therefore the largest p-value of its comparisons. Holm's method corrects the p-values of a model's rules on all
benchmarks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reprise.media.ablations import MISMATCHED, NONE, SHUFFLED
from reprise.stats.cluster_t import MIN_CLUSTERS, estimate_difference
from reprise.stats.intervals import FloatArray
from reprise.stats.measures import LOST_LIMIT
from reprise.stats.paired import adjust_holm
from reprise.temporal.conditions import (
    NULL_CONDITIONS,
    PLANNED,
    REORDERED,
    REPEATED_FRAMES,
    SINGLE_FRAMES,
    WITHOUT_VIDEO,
)
from reprise.temporal.threshold import OptionRates, explain_losses

MARGIN = 0.05
"""A gain up to this share of the best score is small. "Not shown" requires an interval that excludes larger gains."""
ROUNDING = 1e-9  # tolerance for rounding errors when shares are compared


class Rule(StrEnum):
    """What a profile may claim: that the planned score is higher than under each of the rule's conditions."""

    VIDEO = "video"  # than without a video and with the frames of a mismatched clip
    SINGLE_FRAMES = "single_frames"  # than with one frame, alone or repeated, and a mismatched clip
    SEVERAL_FRAMES = "several_frames"  # the same, and than with the frame of the most confident answer
    SHUFFLING = "shuffling"  # than with shuffled frames and a mismatched clip
    ORDER = "order"  # the same as `SINGLE_FRAMES`, and than with frames in other orders


# Rule -> the conditions under which the score must be lower than planned.
CONDITIONS_BY_RULE = {
    Rule.VIDEO: WITHOUT_VIDEO,
    Rule.SINGLE_FRAMES: (MISMATCHED, *SINGLE_FRAMES, *REPEATED_FRAMES),
    Rule.SEVERAL_FRAMES: (MISMATCHED, *SINGLE_FRAMES, *REPEATED_FRAMES, *NULL_CONDITIONS),
    Rule.SHUFFLING: (MISMATCHED, SHUFFLED),
    Rule.ORDER: (MISMATCHED, *SINGLE_FRAMES, *REPEATED_FRAMES, *REORDERED),
}
PROBE_RULES = (Rule.SEVERAL_FRAMES,)
"""rules that need a single-frame probe"""


class Outcome(StrEnum):
    """The outcome of a comparison or of a rule; a rule takes the first one in this order that a comparison has."""

    NOT_SHOWN = "not_shown"
    NOT_MEASURED = "not_measured"
    NOT_RUN = "not_run"
    TOO_FEW = "too_few"
    SHOWN = "shown"


class Artefacts(NamedTuple):
    """What may change the difference between two conditions although the model loses no information."""

    lost: float
    """share of lost answers under the second condition, minus that under the first"""
    affected: float
    """the same for the questions that lost answers can affect"""
    threshold_loss: float = 0.0
    """loss under the second condition that a moved threshold for Yes (or A) can explain"""

    @property
    def explained(self) -> float:
        """Return the largest gain of the first condition that they can explain. Lost answers count as wrong."""
        return max(0.0, self.affected) + self.threshold_loss


class ConditionAnswers(NamedTuple):
    """A model's answers under one condition; entry i of each array is about sample i, in every condition."""

    values: FloatArray
    """score of each sample, from 0 to 1; unparsed and failed answers count as 0"""
    lost_share: float = 0.0
    """share of unparsed and failed answers"""
    affected_share: float = 0.0
    """largest share of questions that these lost answers can affect"""
    options: Mapping[str, OptionRates] | None = None
    """test -> how often the model says Yes (or A); None if the score does not depend on a threshold"""
    confidences: FloatArray | None = None
    """how sure the model is of each answer, for the single-frame probe"""


@dataclass(frozen=True)
class Samples:
    """The tests and clusters of the samples that all conditions share; entry i is about sample i."""

    tests: NDArray[np.str_]
    """part of the benchmark that the sample belongs to; a score is the mean over tests"""
    clusters: NDArray[np.str_]
    is_text_useless: bool = False
    """whether the questions are balanced so that no answer from the text alone is right more often than by chance"""

    @property
    def effective_clusters(self) -> float:
        """Return the number of clusters of equal weight that would be worth as much; 0 without samples."""
        estimate = (
            estimate_difference(np.zeros(len(self.tests)), self.clusters, self.tests) if len(self.tests) else None
        )
        return estimate.effective_clusters if estimate else 0.0


@dataclass(frozen=True)
class Comparison:
    """The planned score minus the score under another condition, from -1 to 1."""

    outcome: Outcome
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_higher: float = 1.0
    """p-value of the claim that the planned score is higher by more than artefacts can explain"""
    threshold_loss: float = 0.0
    """loss under the other condition that a moved threshold for Yes (or A) can explain"""

    @property
    def is_tested(self) -> bool:
        """Return whether the comparison has a valid p-value."""
        return self.p is not None and self.outcome != Outcome.NOT_MEASURED


@dataclass(frozen=True)
class RuleResult:
    """The outcome of a rule on one benchmark, with its p-value before and after Holm's correction."""

    outcome: Outcome
    p: float | None = None
    adjusted_p: float | None = None


def compare_conditions(
    answers: Mapping[str, ConditionAnswers], samples: Samples, level: float
) -> dict[str, Comparison]:
    """Compare the planned condition with each other condition that was run.

    A moved threshold explains a loss without the video only if the planned score comes from the text. A loss with a
    mismatched clip excludes this, and so do questions that the text cannot decide (`samples.is_text_useless`).
    """
    planned = answers[PLANNED]
    comparisons = {
        condition: _compare(planned.values - other.values, find_artefacts(planned, other), samples, level)
        for condition, other in answers.items()
        if condition != PLANNED
    }
    mismatched = comparisons.get(MISMATCHED)
    excluded = (NONE,) if mismatched is not None and mismatched.outcome == Outcome.SHOWN else ()
    for condition in WITHOUT_VIDEO if samples.is_text_useless else excluded:
        if condition in comparisons:
            artefacts = find_artefacts(planned, answers[condition])._replace(threshold_loss=0.0)
            differences = planned.values - answers[condition].values
            comparisons[condition] = _compare(differences, artefacts, samples, level)
    best_frames = [condition for condition in NULL_CONDITIONS if condition in answers]
    if best_frames:
        is_confident_where_right = is_confidence_informative(answers, samples, level)
        for condition in best_frames:
            comparisons[condition] = (
                _compare_with_null(comparisons[condition], answers, condition, samples, level)
                if is_confident_where_right
                else replace(comparisons[condition], outcome=Outcome.NOT_MEASURED)
            )
    return comparisons


def find_artefacts(first: ConditionAnswers, second: ConditionAnswers) -> Artefacts:
    """Return how lost answers and a moved threshold can change the difference between two conditions."""
    return Artefacts(
        second.lost_share - first.lost_share,
        second.affected_share - first.affected_share,
        explain_losses(first.options, second.options),
    )


def is_confidence_informative(answers: Mapping[str, ConditionAnswers], samples: Samples, level: float) -> bool:
    """Return whether more confident answers are right more often, over the planned condition and those without video.

    Otherwise, the frame with the most confident answer is an arbitrary frame.
    """
    answers_with_confidence = [
        condition_answers for condition in (PLANNED, *WITHOUT_VIDEO)
        if (condition_answers := answers.get(condition)) and condition_answers.confidences is not None
    ]  # fmt: skip
    values, confidences, tests, clusters = (
        np.concatenate(parts)
        for parts in (
            [condition_answers.values for condition_answers in answers_with_confidence],
            [
                condition_answers.confidences
                for condition_answers in answers_with_confidence
                if condition_answers.confidences is not None  # always true; tells mypy so
            ],
            [samples.tests] * len(answers_with_confidence),
            [samples.clusters] * len(answers_with_confidence),
        )
    )
    # Within each test, the mean of these products is the covariance of score and confidence.
    products = np.empty(len(values))
    for test in np.unique(tests):
        members = tests == test
        products[members] = (values[members] - values[members].mean()) * (
            confidences[members] - confidences[members].mean()
        )
    covariance = estimate_difference(products, clusters, tests)
    return covariance is not None and covariance.value > 0 and covariance.p < 1 - level


def _compare_with_null(
    comparison: Comparison, answers: Mapping[str, ConditionAnswers], condition: str, samples: Samples, level: float
) -> Comparison:
    """Return a comparison with the best frame whose gain must also exceed what the best frame itself gains.

    Confidence does not always choose the frame that shows most. The gain of the best frame over the same choice on a
    mismatched clip is what the choice finds. If it finds at least half of what single frames show, a larger gain of all
    frames needs several of them.
    """
    planned, best, null = answers[PLANNED], answers[condition], answers.get(NULL_CONDITIONS[condition])
    if null is None:
        return replace(comparison, outcome=Outcome.NOT_RUN)
    gains = [find_artefacts(planned, best), find_artefacts(best, null)]
    artefacts = Artefacts(sum(abs(gain.lost) for gain in gains), sum(abs(gain.affected) for gain in gains))
    excess = _compare((planned.values - best.values) - (best.values - null.values), artefacts, samples, level)
    return replace(
        comparison,
        outcome=next(outcome for outcome in Outcome if outcome in (comparison.outcome, excess.outcome)),
        p_higher=max(comparison.p_higher, excess.p_higher),
    )


def _compare(differences: FloatArray, artefacts: Artefacts, samples: Samples, level: float) -> Comparison:
    """Test whether the planned score is higher than that of another condition.

    Args:
        differences: Planned score minus the other score, for each sample.
        artefacts: What may change the difference although the model loses no information.
        samples: Tests and clusters of the samples.
        level: Confidence level of the interval.
    """
    estimate = estimate_difference(differences, samples.clusters, samples.tests)
    if estimate is None:
        return Comparison(Outcome.TOO_FEW, float(np.mean(differences)))
    if estimate.effective_clusters < MIN_CLUSTERS:
        return Comparison(Outcome.TOO_FEW, estimate.value)
    low, high = np.clip(estimate.interval(level), -1.0, 1.0).tolist()
    gain = estimate.shifted(-artefacts.explained)
    p_higher = gain.p if gain.value > 0 else 1.0
    if abs(artefacts.lost) >= LOST_LIMIT - ROUNDING:
        outcome = Outcome.NOT_MEASURED
    elif p_higher < 1 - level:
        outcome = Outcome.SHOWN
    elif artefacts.threshold_loss > MARGIN:
        outcome = Outcome.NOT_MEASURED
    else:
        outcome = Outcome.TOO_FEW if high > MARGIN else Outcome.NOT_SHOWN
    return Comparison(outcome, estimate.value, low, high, estimate.p, p_higher, artefacts.threshold_loss)


def apply_rules(
    comparisons_by_benchmark: Sequence[Mapping[str, Comparison]], level: float
) -> list[dict[Rule, RuleResult]]:
    """Apply all rules to a model's benchmarks, with Holm's correction over benchmarks and rules.

    Args:
        comparisons_by_benchmark: For each benchmark, condition -> comparison with the planned condition.
        level: Confidence level; a rule needs a p-value below 1 - `level`.

    Returns:
        The results of the rules, for each benchmark in the same order.
    """
    missing = Comparison(Outcome.NOT_RUN)
    outcomes: list[dict[Rule, Outcome]] = []
    ps: dict[tuple[int, Rule], float] = {}  # (index of the benchmark, rule) -> p-value
    for index, comparisons in enumerate(comparisons_by_benchmark):
        outcomes.append({})
        for rule, conditions in CONDITIONS_BY_RULE.items():
            rule_comparisons = [comparisons.get(condition, missing) for condition in conditions]
            comparison_outcomes = {comparison.outcome for comparison in rule_comparisons}
            outcomes[index][rule] = next(outcome for outcome in Outcome if outcome in comparison_outcomes)
            if all(comparison.is_tested for comparison in rule_comparisons):
                ps[index, rule] = max(comparison.p_higher for comparison in rule_comparisons)
    adjusted_ps = dict(zip(ps, adjust_holm(list(ps.values())), strict=True))
    return [
        _withhold_without_video(
            {
                rule: RuleResult(
                    Outcome.TOO_FEW if outcome == Outcome.SHOWN and adjusted_ps[index, rule] >= 1 - level else outcome,
                    ps.get((index, rule)),
                    adjusted_ps.get((index, rule)),
                )
                for rule, outcome in outcome_by_rule.items()
            }
        )
        for index, outcome_by_rule in enumerate(outcomes)
    ]


def _withhold_without_video(results: dict[Rule, RuleResult]) -> dict[Rule, RuleResult]:
    """Withhold all stronger claims if the model is not shown to use the video.

    The other conditions may then score lower only because their frames distract the model. A model that refuses to
    answer without frames has no score for text only. The mismatched clip, which every rule requires, then decides.
    """
    video = results[Rule.VIDEO].outcome
    if video not in (Outcome.NOT_SHOWN, Outcome.TOO_FEW):
        return results
    return {
        rule: replace(result, outcome=video) if result.outcome == Outcome.SHOWN else result
        for rule, result in results.items()
    }
