"""Score VELOCITI's answers: strict, classic and multiple choice."""

from functools import partial
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.annotations import is_in
from reprise.benchmarks.scoring import QuestionScores, RunAnswers, Scoring, nonempty_groups, verdict_questions
from reprise.benchmarks.velociti.analyses import FACETS, VERBS
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.stats.measures import Measure, average, compute_measure, subtract_second, unit_weights

AVERAGE = "average"
TEST_AVERAGES = {AVERAGE: TESTS, **FACETS}
"""name of a mean -> the tests that it averages"""
GROUPS = (
    {test: pl.col("task") == test for test in (CONTROL, *TESTS)}
    | {mean_of: pl.col("task").is_in(tests) for mean_of, tests in TEST_AVERAGES.items()}
    | {name: is_in(name) & pl.col("task").is_in(TESTS) for name in VERBS}
)
CHANCE: dict[str, float | None] = {"strict": 25.0, "classic": 50.0, "mc_a": 50.0, "mc_b": 50.0, "mc_both": 25.0}


class Share(NamedTuple):
    """A share of samples, or of all samples without a denominator. Both fields are columns of `_samples`."""

    numerator: str
    denominator: str | None = None


CLASSIC = {"classic": Share("above")}
SHARES = {
    # `strict` is StrictVLE. The paper also analyses positive captions judged right, and negative captions judged right
    # among samples whose positive caption is.
    "entail": {
        "strict": Share("both"),
        "positive": Share("pos_right"),
        "negative": Share("both", denominator="pos_right"),
    },
    "similarity": CLASSIC,
    "mc": {"mc_a": Share("a_right"), "mc_b": Share("b_right"), "mc_both": Share("both")},
}
"""form -> its metrics"""


def _samples(form: str, run_answers: RunAnswers) -> pl.DataFrame:
    """Return one row per sample, with both answers side by side; a missing score is never the larger one.

    The `authors` convention leaves out samples with a failed or unparsed answer.
    """
    answers = run_answers.items.select("item_id", "cluster", "task", "groups")
    first, second = roles = ("a", "b") if form == "mc" else ("pos", "neg")
    for role in roles:
        role_verdicts = run_answers.verdicts.filter(pl.col("role") == role).select(
            "item_id", *(pl.col(name).alias(f"{role}_{name}") for name in ("right", "score", "unparsed", "failed"))
        )
        answers = answers.join(role_verdicts, on="item_id", how="inner")
    samples = answers.with_columns(
        unparsed=pl.any_horizontal(f"{role}_unparsed" for role in roles),
        failed=pl.any_horizontal(f"{role}_failed" for role in roles),
        both=pl.all_horizontal(f"{role}_right" for role in roles),
        above=(pl.col(f"{first}_score") > pl.col(f"{second}_score")).fill_null(False),
        has_scores=pl.col(f"{first}_score").is_not_null(),
    )
    return samples if run_answers.convention == "fixed" else samples.filter(~pl.col("failed") & ~pl.col("unparsed"))


def _measures(form: str, run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute each share for each test and each group of actions, and the means of tests, which exclude the control.

    Multiple choice also gets a bias: accuracy with the positive caption as B minus accuracy with it as A. ClassicVLE is
    computed only if answers have scores.
    """
    samples = _samples(form, run_answers)
    shares = SHARES[form] | (CLASSIC if form == "entail" and samples["has_scores"].any() else {})
    tests = [(test, samples.filter(GROUPS[test])) for test in (CONTROL, *TESTS)]
    actions = [(name, samples.filter(GROUPS[name])) for name in nonempty_groups(samples, tuple(VERBS))]
    measures = []
    for metric, share in shares.items():
        measures += [
            compute_measure(metric, group, rows, [_ratio_columns(rows, share)], level)
            for group, rows in tests + actions
        ]
        for mean_name, averaged_tests in TEST_AVERAGES.items():
            rows = samples.filter(GROUPS[mean_name])
            ratios = [_ratio_columns(rows, share, only=test) for test in averaged_tests]
            measures.append(compute_measure(metric, mean_name, rows, ratios, level, average))
    if form == "mc":
        bias_shares = (shares["mc_b"], shares["mc_a"])
        for test, rows in tests:
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
        ratios = [_ratio_columns(rows, bias_share, only=test) for test in TESTS for bias_share in bias_shares]
        measures.append(
            compute_measure(
                "mc_bias", AVERAGE, rows, ratios, level, lambda values: average(values[:, 0::2] - values[:, 1::2])
            )
        )
    return measures


def _ratio_columns(rows: pl.DataFrame, share: Share, only: str | None = None) -> tuple[pl.Series, pl.Series]:
    """Return the numerator and the denominator of a share, row by row; of one test if `only` names it."""
    in_test = unit_weights(rows) if only is None else (rows["task"] == only).cast(pl.Float64)
    denominator = in_test * (rows[share.denominator].cast(pl.Float64) if share.denominator else unit_weights(rows))
    return rows[share.numerator].cast(pl.Float64) * denominator, denominator


def _outcomes(form: str, run_answers: RunAnswers) -> dict[str, pl.DataFrame]:
    """Return whether each sample is right, by the metrics that tables lead with."""
    samples = _samples(form, run_answers)
    columns = {"entail": {"strict": "both"}, "similarity": {}, "mc": {"mc_both": "both"}}[form]
    if samples["has_scores"].any() and form != "mc":
        columns = columns | {"classic": "above"}
    return {metric: samples.select("item_id", "cluster", "task", right=column) for metric, column in columns.items()}


def _questions(form: str, run_answers: RunAnswers) -> QuestionScores:
    """Score the classic comparison of both captions; without scores, each answer by itself."""
    samples = _samples(form, run_answers)
    if form == "mc" or not samples["has_scores"].any():
        return verdict_questions(50.0, run_answers)
    return QuestionScores("classic comparison", 50.0, samples.select("item_id", "cluster", "task", right="above"))


SCORES = {
    form: Scoring(
        frozenset({*SHARES[form], extra_metric}),
        partial(_measures, form),
        partial(_outcomes, form),
        partial(_questions, form),
        headline,
        averaged_tasks=TESTS,
    )
    for form, extra_metric, headline in (
        ("entail", "classic", "strict"),
        ("similarity", "classic", "classic"),
        ("mc", "mc_bias", "mc_both"),
    )
}
