"""Verdicts of simulated models that answer from the frames they are shown (bench/temporal_worlds.py)."""

from dataclasses import replace

import numpy as np
import pytest
from reprise.media.ablations import MISMATCHED, NONE, REVERSED, SHUFFLED
from reprise.temporal.conditions import ABLATIONS, CONDITIONS, PLANNED
from reprise.temporal.rules import (
    CONDITIONS_BY_RULE,
    PROBE_RULES,
    Comparison,
    ConditionAnswers,
    Outcome,
    Rule,
    Samples,
    apply_rules,
    compare_conditions,
)
from reprise.temporal.threshold import OptionRates

from bench.temporal_worlds import MODELS, SimulatedModel, draw_shuffles, make_world, show, simulate_profile

SHUFFLES = draw_shuffles()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.title)
def test_verdicts_are_what_the_model_does(model: SimulatedModel) -> None:
    generator = np.random.default_rng(1)
    for rules in simulate_profile(model.answer, 500, 2, SHUFFLES, generator):
        assert {rule for rule, result in rules.items() if result.outcome == Outcome.SHOWN} == model.true_claims


def test_models_see_frames_as_the_workflow_places_them() -> None:
    generator = np.random.default_rng(0)
    shown = {condition: show(condition, 2, SHUFFLES, generator)[0].tolist() for condition in CONDITIONS}
    assert shown[PLANNED] == list(range(8)) and shown[REVERSED] == list(range(7, -1, -1))
    assert shown["first"] == [0] and shown["middle"] == [4] and shown["last_repeated"] == [7] * 8
    assert sorted(shown[SHUFFLED]) == list(range(8)) and shown[SHUFFLED] != shown[PLANNED]
    assert shown[NONE] == [] and not set(shown[MISMATCHED]) & set(range(8))
    world = make_world(100, generator)
    assert ((world.second_event - world.first_event) >= 2).all() and world.second_event.max() <= 7


def answers(
    planned: float, others: float, clips: int, lost: float = 0.0, shift: float = 0.0
) -> dict[str, ConditionAnswers]:
    """Return answers of which these shares are right: the first clips. Lost answers are among the wrong ones.

    The share of Yes is moved by `shift`.
    """

    def right(share: float) -> np.ndarray:
        return (np.arange(clips) < share * clips).astype(float)

    conditions = dict.fromkeys(ABLATIONS, ConditionAnswers(right(others), lost, lost, {"all": rates(others, shift)}))
    return {PLANNED: ConditionAnswers(right(planned), options={"all": rates(planned)})} | conditions


def rates(accuracy: float, shift: float = 0.0) -> OptionRates:
    """Return rates of an accuracy, with a share of Yes that is larger than half by `shift`."""
    return OptionRates(0.5, accuracy + shift, 1 - accuracy + shift)


def samples(clips: int) -> Samples:
    return Samples(np.full(clips, "all"), np.arange(clips).astype(str))


@pytest.mark.parametrize(
    ("planned", "others", "clips", "lost", "outcome"),
    [
        (0.8, 0.5, 200, 0.0, Outcome.SHOWN),
        (0.8, 0.8, 200, 0.0, Outcome.NOT_SHOWN),
        (0.5, 0.8, 200, 0.0, Outcome.NOT_SHOWN),  # the planned score is lower
        (0.9, 0.1, 39, 0.0, Outcome.TOO_FEW),
        (0.9, 0.1, 40, 0.0, Outcome.SHOWN),
        (0.8, 0.5, 200, 0.05, Outcome.NOT_MEASURED),
        (0.8, 0.5, 200, 0.049, Outcome.SHOWN),
        (0.8, 0.76, 2000, 0.0, Outcome.SHOWN),
        (0.8, 0.76, 2000, 0.045, Outcome.NOT_SHOWN),  # the lost answers can explain the difference
        (0.55, 0.5, 60, 0.0, Outcome.TOO_FEW),  # a gain above 5 points is possible
    ],
)
def test_outcome_of_a_comparison(planned: float, others: float, clips: int, lost: float, outcome: Outcome) -> None:
    comparisons = compare_conditions(answers(planned, others, clips, lost), samples(clips), 0.95)
    assert {comparison.outcome for comparison in comparisons.values()} == {outcome}
    assert comparisons[NONE].value == pytest.approx(planned - others, abs=0.03)


@pytest.mark.parametrize(
    ("others", "shift", "outcome"),
    [
        (0.8, 0.03, Outcome.NOT_SHOWN),
        (0.7, 0.03, Outcome.SHOWN),
        (0.78, 0.2, Outcome.NOT_MEASURED),  # the shift can explain the loss of 2 points, and could hide another one
        (0.6, 0.2, Outcome.SHOWN),  # the shift can explain a part of the 20 points
        (0.5, 0.49, Outcome.NOT_MEASURED),  # almost always Yes: the shift explains 29 points of 30
    ],
)
def test_a_loss_must_exceed_the_shift_of_yes(others: float, shift: float, outcome: Outcome) -> None:
    comparisons = compare_conditions(answers(0.8, others, 1000, shift=shift), samples(1000), 0.95)
    assert {comparison.outcome for comparison in comparisons.values()} == {outcome}


@pytest.mark.parametrize(
    ("measured", "is_text_useless", "none", "mismatched"),
    [
        (None, False, Outcome.NOT_MEASURED, Outcome.NOT_MEASURED),
        (MISMATCHED, False, Outcome.SHOWN, Outcome.SHOWN),
        (NONE, False, Outcome.SHOWN, Outcome.NOT_MEASURED),  # the mismatched clip is the control, not text only
        (None, True, Outcome.SHOWN, Outcome.SHOWN),
    ],
)
def test_a_moved_threshold_needs_a_planned_score_from_the_text(
    measured: str | None, is_text_useless: bool, none: Outcome, mismatched: Outcome
) -> None:
    """The answers are almost always Yes under all conditions but one. The other conditions stay unmeasured."""
    conditions = answers(0.8, 0.5, 1000, shift=0.49)
    if measured:
        conditions[measured] = conditions[measured]._replace(options={"all": rates(0.5)})
    comparisons = compare_conditions(conditions, replace(samples(1000), is_text_useless=is_text_useless), 0.95)
    assert (comparisons[NONE].outcome, comparisons[MISMATCHED].outcome) == (none, mismatched)
    assert comparisons[SHUFFLED].outcome == Outcome.NOT_MEASURED and comparisons[SHUFFLED].threshold_loss > 0.25
    if is_text_useless:
        assert comparisons[MISMATCHED].threshold_loss == 0, "the page names no correction that was not made"


def test_one_lost_answer_of_two_affects_a_whole_question() -> None:
    """4 % lost answers may affect 8 % of the questions, and then explain a loss of 7 points."""
    conditions = answers(0.8, 0.73, 1000)
    conditions[NONE] = conditions[NONE]._replace(lost_share=0.04, affected_share=0.08)
    conditions[MISMATCHED] = conditions[MISMATCHED]._replace(lost_share=0.04, affected_share=0.04)
    comparisons = compare_conditions(conditions, samples(1000), 0.95)
    assert (comparisons[NONE].outcome, comparisons[MISMATCHED].outcome) == (Outcome.TOO_FEW, Outcome.SHOWN)


def test_wide_intervals_are_too_few_clips() -> None:
    generator = np.random.default_rng(0)
    values = {name: ConditionAnswers(generator.integers(2, size=60).astype(float)) for name in (PLANNED, NONE)}
    assert compare_conditions(values, samples(60), 0.95)[NONE].outcome == Outcome.TOO_FEW


def comparison(p: float, outcome: Outcome = Outcome.SHOWN) -> Comparison:
    return Comparison(outcome, 0.1, 0.01, 0.2, p, p)


def test_a_rule_takes_the_largest_p_and_holm_corrects_over_benchmarks() -> None:
    comparisons = dict.fromkeys(ABLATIONS, comparison(0.001)) | {REVERSED: comparison(0.011)}
    first, second = apply_rules([comparisons, dict.fromkeys(ABLATIONS, comparison(0.04))], 0.95)
    assert first[Rule.VIDEO].p == 0.001 and first[Rule.ORDER].p == 0.011
    # Eight tests: 0.001 three times, then 0.011 with five left, then 0.04 with four left.
    assert first[Rule.VIDEO].adjusted_p == pytest.approx(0.008)
    assert first[Rule.ORDER].adjusted_p == pytest.approx(0.055) and first[Rule.ORDER].outcome == Outcome.TOO_FEW
    assert {second[rule].outcome for rule in Rule if rule not in PROBE_RULES} == {Outcome.TOO_FEW}, (
        "0.04 is not enough for one of eight"
    )


@pytest.mark.parametrize(
    ("reverse", "outcome"),
    [
        (comparison(0.5, Outcome.NOT_SHOWN), Outcome.NOT_SHOWN),
        (comparison(0.5, Outcome.TOO_FEW), Outcome.TOO_FEW),
        (comparison(0.001, Outcome.NOT_MEASURED), Outcome.NOT_MEASURED),
        (None, Outcome.NOT_RUN),
    ],
)
def test_a_rule_needs_every_comparison(reverse: Comparison | None, outcome: Outcome) -> None:
    comparisons = dict.fromkeys(ABLATIONS, comparison(0.001)) | {REVERSED: reverse}
    present = {name: entry for name, entry in comparisons.items() if entry}
    (rules,) = apply_rules([present], 0.95)
    assert rules[Rule.ORDER].outcome == outcome and rules[Rule.VIDEO].outcome == Outcome.SHOWN
    assert (rules[Rule.ORDER].p is None) == (outcome in (Outcome.NOT_MEASURED, Outcome.NOT_RUN))
    assert set(CONDITIONS_BY_RULE[Rule.SINGLE_FRAMES]) <= set(CONDITIONS_BY_RULE[Rule.ORDER])
    assert all(MISMATCHED in conditions for conditions in CONDITIONS_BY_RULE.values())


def test_noisy_bag_of_frames_makes_no_false_claim_over_four_benchmarks() -> None:
    """Without correction, 18 % of such profiles claimed a use of order."""
    (bag,) = (model for model in MODELS if model.title == "bag of frames")
    generator, false_claims, simulations = np.random.default_rng(2), 0, 100
    for _ in range(simulations):
        results = simulate_profile(bag.answer, 100, 4, SHUFFLES, generator)
        false_claims += any(
            result.outcome == Outcome.SHOWN and rule not in bag.true_claims
            for rules in results
            for rule, result in rules.items()
        )
    assert false_claims / simulations <= 0.05


def test_claims_are_withheld_if_text_only_scores_the_same() -> None:
    """Altered frames may only distract a model that answers from the text."""
    comparisons = dict.fromkeys(ABLATIONS, comparison(0.0001)) | {NONE: comparison(0.9, Outcome.NOT_SHOWN)}
    (rules,) = apply_rules([comparisons], 0.95)
    assert {rules[rule].outcome for rule in Rule if rule not in PROBE_RULES} == {Outcome.NOT_SHOWN}
    comparisons[NONE] = comparison(0.0001, Outcome.NOT_MEASURED)
    (rules,) = apply_rules([comparisons], 0.95)
    assert rules[Rule.VIDEO].outcome == Outcome.NOT_MEASURED and rules[Rule.ORDER].outcome == Outcome.SHOWN


def test_planned_refusals_are_not_measured() -> None:
    conditions = answers(0.5, 0.8, 200)
    conditions[PLANNED] = conditions[PLANNED]._replace(lost_share=0.3)
    assert compare_conditions(conditions, samples(200), 0.95)[NONE].outcome == Outcome.NOT_MEASURED


def test_one_heavy_cluster_is_too_few() -> None:
    clusters = np.array(["heavy"] * 161 + [f"light{number}" for number in range(39)])
    comparisons = compare_conditions(answers(0.9, 0.5, 200), Samples(np.full(200, "all"), clusters), 0.95)
    assert comparisons[NONE].outcome == Outcome.TOO_FEW and comparisons[NONE].low is None
