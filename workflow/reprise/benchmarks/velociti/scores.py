"""Score VELOCITI's answers: strict and classic entailment (StrictVLE and ClassicVLE), and multiple choice."""

from functools import partial
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.annotations import is_in_group
from reprise.benchmarks.scoring import QuestionScores, RunAnswers, Scoring, list_nonempty_groups, score_requests
from reprise.benchmarks.velociti.analyses import TESTS_BY_FACET, VERBS_BY_GROUP
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.stats.measures import Measure, average, compute_measure, subtract_second, unit_weights

AVERAGE = "average"
AVERAGED_TESTS = {AVERAGE: TESTS, **TESTS_BY_FACET}
"""name of a mean -> the tests that it averages"""
GROUPS = (
    {test: pl.col("task") == test for test in (CONTROL, *TESTS)}
    | {mean_name: pl.col("task").is_in(tests) for mean_name, tests in AVERAGED_TESTS.items()}
    | {name: is_in_group(name) & pl.col("task").is_in(TESTS) for name in VERBS_BY_GROUP}
)
CHANCE: dict[str, float | None] = {"strict": 25.0, "classic": 50.0, "mc_a": 50.0, "mc_b": 50.0, "mc_both": 25.0}


class Share(NamedTuple):
    """A ratio of two counts of samples. Both fields name boolean columns of `_build_samples`."""

    numerator: str
    denominator: str | None = None
    """samples of which the share is computed; all samples if None"""


CLASSIC = {"classic": Share("is_positive_higher")}
"""ClassicVLE: the positive caption gets a higher score than the negative one"""
SHARES_BY_FORM = {
    # StrictVLE (`strict`): the positive caption is judged as entailed, and the negative one as not entailed.
    # The paper also analyses the positive captions judged right (`positive`), and the negative captions judged right
    # among samples whose positive caption is judged right (`negative`).
    "entail": {
        "strict": Share("both_right"),
        "positive": Share("pos_right"),
        "negative": Share("both_right", denominator="pos_right"),
    },
    "similarity": CLASSIC,
    "mc": {"mc_a": Share("a_right"), "mc_b": Share("b_right"), "mc_both": Share("both_right")},
}
"""form -> metric -> its share"""


def _build_samples(form: str, run_answers: RunAnswers) -> pl.DataFrame:
    """Return one row per sample with the verdicts of both roles; a missing score never counts as higher.

    The `authors` convention leaves out samples with a failed or unparsed answer.
    """
    answers = run_answers.items.select("item_id", "cluster", "task", "groups")
    roles = ("a", "b") if form == "mc" else ("pos", "neg")
    first, second = roles
    for role in roles:
        role_verdicts = run_answers.verdicts.filter(pl.col("role") == role).select(
            "item_id", *(pl.col(name).alias(f"{role}_{name}") for name in ("right", "score", "unparsed", "failed"))
        )
        answers = answers.join(role_verdicts, on="item_id", how="inner")
    samples = answers.with_columns(
        unparsed=pl.any_horizontal(f"{role}_unparsed" for role in roles),
        failed=pl.any_horizontal(f"{role}_failed" for role in roles),
        both_right=pl.all_horizontal(f"{role}_right" for role in roles),
        is_positive_higher=(pl.col(f"{first}_score") > pl.col(f"{second}_score")).fill_null(False),
        has_scores=pl.col(f"{first}_score").is_not_null(),
    )
    return samples if run_answers.convention == "fixed" else samples.filter(~pl.col("failed") & ~pl.col("unparsed"))


def _measures(form: str, run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute each share for each test and each group of actions, and its means over tests, which exclude the control.

    `mc_bias` of multiple choice is the accuracy with the positive caption as B minus the accuracy with it as A.
    ClassicVLE is computed only if answers have scores.
    """
    samples = _build_samples(form, run_answers)
    shares = SHARES_BY_FORM[form] | (CLASSIC if form == "entail" and samples["has_scores"].any() else {})
    rows_by_test = [(test, samples.filter(GROUPS[test])) for test in (CONTROL, *TESTS)]
    rows_by_action_group = [
        (name, samples.filter(GROUPS[name])) for name in list_nonempty_groups(samples, tuple(VERBS_BY_GROUP))
    ]
    measures = []
    for metric, share in shares.items():
        measures += [
            compute_measure(metric, group, rows, [_ratio_columns(rows, share)], level)
            for group, rows in rows_by_test + rows_by_action_group
        ]
        for mean_name, averaged_tests in AVERAGED_TESTS.items():
            rows = samples.filter(GROUPS[mean_name])
            ratios = [_ratio_columns(rows, share, test=test) for test in averaged_tests]
            measures.append(compute_measure(metric, mean_name, rows, ratios, level, average))
    if form == "mc":
        bias_shares = (shares["mc_b"], shares["mc_a"])
        for test, rows in rows_by_test:
            measures.append(
                compute_measure(
                    "mc_bias",
                    test,
                    rows,
                    [_ratio_columns(rows, bias_share) for bias_share in bias_shares],
                    level,
                    subtract_second,
                )
            )
        rows = samples.filter(GROUPS[AVERAGE])
        # Two ratios per test, B and A in turn.
        ratios = [_ratio_columns(rows, bias_share, test=test) for test in TESTS for bias_share in bias_shares]
        measures.append(
            compute_measure(
                "mc_bias", AVERAGE, rows, ratios, level, lambda values: average(values[:, 0::2] - values[:, 1::2])
            )
        )
    return measures


def _ratio_columns(rows: pl.DataFrame, share: Share, test: str | None = None) -> tuple[pl.Series, pl.Series]:
    """Return numerator and denominator of a share for each row; with `test`, rows of other tests have weight 0."""
    test_weights = unit_weights(rows) if test is None else (rows["task"] == test).cast(pl.Float64)
    denominator = test_weights * (rows[share.denominator].cast(pl.Float64) if share.denominator else unit_weights(rows))
    return rows[share.numerator].cast(pl.Float64) * denominator, denominator


def _outcomes(form: str, run_answers: RunAnswers) -> dict[str, pl.DataFrame]:
    """Return the outcome of each sample by the headline metrics of tables."""
    samples = _build_samples(form, run_answers)
    column_by_metric = {"entail": {"strict": "both_right"}, "similarity": {}, "mc": {"mc_both": "both_right"}}[form]
    if samples["has_scores"].any() and form != "mc":
        column_by_metric = column_by_metric | {"classic": "is_positive_higher"}
    return {
        metric: samples.select("item_id", "cluster", "task", right=column)
        for metric, column in column_by_metric.items()
    }


def _questions(form: str, run_answers: RunAnswers) -> QuestionScores:
    """Score the classic comparison of both captions; without scores, each answer by itself."""
    samples = _build_samples(form, run_answers)
    if form == "mc" or not samples["has_scores"].any():
        return score_requests(50.0, run_answers)
    return QuestionScores(
        "accuracy per caption pair",
        50.0,
        samples.select("item_id", "cluster", "task", right="is_positive_higher"),
        metric="classic",
    )


def _confidences(run_answers: RunAnswers) -> pl.DataFrame:
    """Return how far apart the scores of both captions are; null without scores."""
    samples = _build_samples("entail", run_answers)
    return samples.select("item_id", confidence=(pl.col("pos_score") - pl.col("neg_score")).abs())


SCORES = {
    form: Scoring(
        frozenset({*SHARES_BY_FORM[form], extra_metric}),
        partial(_measures, form),
        partial(_outcomes, form),
        partial(_questions, form),
        headline,
        averaged_tasks=TESTS,
        compute_confidences=_confidences if form == "entail" else None,
    )
    for form, extra_metric, headline in (
        ("entail", "classic", "strict"),
        ("similarity", "classic", "classic"),
        ("mc", "mc_bias", "mc_both"),
    )
}
