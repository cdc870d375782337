"""Score Vinoground's answers: text, video and group score of each pair."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import polars as pl

from reprise.benchmarks.annotations import is_in_group
from reprise.benchmarks.scoring import (
    ACCURACY,
    SAMPLE_COLUMNS,
    QuestionScores,
    RunAnswers,
    Scoring,
    list_nonempty_groups,
    score_requests,
)
from reprise.benchmarks.vinoground.analyses import ANALYSIS_GROUPS
from reprise.benchmarks.vinoground.taxonomy import ALL, HALVES
from reprise.benchmarks.vinoground.taxonomy import GROUPS as CATEGORIES
from reprise.stats.chance import chance_pair_similarities
from reprise.stats.measures import Measure, compute_measure, unit_weights

GROUPS = CATEGORIES | {name: is_in_group(name) for name in ANALYSIS_GROUPS}
METRICS = ("text", "video", "group")
# Scores of four random similarities, as in the paper. A form replaces them in SCORES if its chance differs.
CHANCE: dict[str, float | None] = {name: 100 * value for name, value in chance_pair_similarities().items()}
GROUP_CHANCE = 100 / 2**4
"""group score of random answers to four two-way questions"""

# A pair has two halves, "pos" and "neg", each with a video and a caption.
ROLES = {task: [f"{task}_{half}" for half in HALVES] for task in ("text", "video")}
ALL_ROLES = [role for roles in ROLES.values() for role in roles]

SIMILARITY_ROLES = [f"{video}_{caption}" for video in HALVES for caption in HALVES]
SIMILARITY_COMPARISONS = {
    "text_pos": ("pos_pos", "pos_neg"),
    "text_neg": ("neg_neg", "neg_pos"),
    "video_pos": ("pos_pos", "neg_pos"),
    "video_neg": ("neg_neg", "pos_neg"),
}
"""question -> the role whose similarity must be larger, and the role with which it is compared"""

PairBuilder: TypeAlias = Callable[[RunAnswers], pl.DataFrame]
"""Run answers -> one row per pair with the columns `<metric>_right`, `_requested`, `_failed` and `_unparsed`."""


def _measures(build_pairs: PairBuilder, run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute the text, video and group score over all pairs, each category, and each group of the analyses."""
    pairs = build_pairs(run_answers)
    measures = []
    for group in (*CATEGORIES, *list_nonempty_groups(pairs, ANALYSIS_GROUPS)):
        group_pairs = pairs.filter(GROUPS[group])
        for metric in METRICS:
            rows = group_pairs.filter(f"{metric}_requested").with_columns(
                failed=pl.col(f"{metric}_failed"), unparsed=pl.col(f"{metric}_unparsed")
            )
            score = compute_measure(metric, group, rows, [(rows[f"{metric}_right"], unit_weights(rows))], level)
            measures.append(replace(score, missing=group_pairs.height - rows.height))
    return measures


def _outcomes(build_pairs: PairBuilder, run_answers: RunAnswers) -> dict[str, pl.DataFrame]:
    """Return the outcomes of the three metrics, one row per pair."""
    pairs = build_pairs(run_answers)
    return {
        metric: pairs.filter(f"{metric}_requested").select(
            pl.col("pair").alias("item_id"),
            "cluster",
            pl.lit(ALL).alias("task"),
            pl.col(f"{metric}_right").alias("right"),
        )
        for metric in METRICS
    }


def _score_by_questions(run_answers: RunAnswers) -> pl.DataFrame:
    """Score pairs by their four questions.

    Under the `authors` convention every pair of the release counts, and a question without an answer is wrong. If
    the authors' scorer stops at a text question without an answer, the pair's video answers are wrong too.
    """
    pairs = _join_pair_verdicts(run_answers, ALL_ROLES)
    pairs = _apply_authors_rules(pairs) if run_answers.convention == "authors" else pairs
    roles_by_metric = {**ROLES, "group": ALL_ROLES}
    right_by_metric = {
        metric: pl.all_horizontal(f"{role}_right" for role in roles_by_metric[metric]).fill_null(False)
        for metric in METRICS
    }
    return pairs.with_columns(_metric_columns(right_by_metric, roles_by_metric))


def _score_by_similarities(run_answers: RunAnswers) -> pl.DataFrame:
    """Score pairs by four similarities, as Winoground defines the scores; a tie is wrong."""
    is_right = {question: _is_larger(*roles) for question, roles in SIMILARITY_COMPARISONS.items()}
    text, video = is_right["text_pos"] & is_right["text_neg"], is_right["video_pos"] & is_right["video_neg"]
    right_by_metric = {"text": text, "video": video, "group": text & video}
    return _join_pair_verdicts(run_answers, SIMILARITY_ROLES).with_columns(
        _metric_columns(right_by_metric, dict.fromkeys(METRICS, SIMILARITY_ROLES))
    )


def _is_larger(first_role: str, second_role: str) -> pl.Expr:
    return (pl.col(f"{first_role}_score") > pl.col(f"{second_role}_score")).fill_null(False)


def _metric_columns(
    right_by_metric: Mapping[str, pl.Expr], roles_by_metric: Mapping[str, Sequence[str]]
) -> Iterator[pl.Expr]:
    """Yield, for each metric, the columns `right`, `requested`, `failed` and `unparsed`, prefixed with its name.

    `requested` is true if a request was sent for each of the metric's questions.
    """
    for metric in METRICS:
        yield right_by_metric[metric].alias(f"{metric}_right")
        is_requested = pl.all_horizontal(pl.col(f"{role}_failed").is_not_null() for role in roles_by_metric[metric])
        yield is_requested.alias(f"{metric}_requested")
        for state in ("failed", "unparsed"):
            has_state = pl.any_horizontal(f"{role}_{state}" for role in roles_by_metric[metric])
            yield has_state.fill_null(False).alias(f"{metric}_{state}")


def _join_pair_verdicts(run_answers: RunAnswers, roles: Sequence[str]) -> pl.DataFrame:
    """Return one row per pair with the verdicts of each role; they are null for a question without a request."""
    items = run_answers.items
    pairs = items.select("pair", "cluster", "groups").unique("pair", keep="first", maintain_order=True)
    answers = run_answers.verdicts.join(items.select("item_id", "pair"), on="item_id", how="inner")
    for role in roles:
        columns = [pl.col(part).alias(f"{role}_{part}") for part in ("right", "score", "failed", "unparsed")]
        role_verdicts = answers.filter(pl.col("role") == role).select("pair", *columns)
        pairs = pairs.join(role_verdicts, on="pair", how="left", maintain_order="left")
    return pairs


def _apply_authors_rules(pairs: pl.DataFrame) -> pl.DataFrame:
    """Apply the rules of the released scorer, which stops scoring a pair at a missing or empty answer.

    The scorer checks the second text answer only if the first is right, and the video answers after the text answers.
    """

    def is_missing(role: str) -> pl.Expr:
        return pl.col(f"{role}_right").is_null() | pl.col(f"{role}_failed") | pl.col(f"{role}_unparsed")

    is_aborted = is_missing("text_pos") | (pl.col("text_pos_right") & is_missing("text_neg"))
    right_columns = [pl.col(f"{role}_right").fill_null(False) for role in ROLES["text"]]
    right_columns += [pl.col(f"{role}_right").fill_null(False) & ~is_aborted for role in ROLES["video"]]
    # Not null, so every pair of the release counts as requested.
    failed_columns = [pl.col(f"{role}_failed").fill_null(True) for role in ALL_ROLES]
    return pairs.with_columns(*right_columns, *failed_columns)


def _similarity_questions(run_answers: RunAnswers) -> QuestionScores:
    """Score the four comparisons of a pair's similarities: each video's captions, and each caption's videos."""
    pairs = _join_pair_verdicts(run_answers, SIMILARITY_ROLES)
    comparisons = {name: _is_larger(*roles) for name, roles in SIMILARITY_COMPARISONS.items()}
    rows = pairs.select("pair", "cluster", **comparisons).unpivot(
        index=("pair", "cluster"), variable_name="item_id", value_name="right"
    )
    question_id = pl.concat_str("pair", pl.lit("#"), "item_id")
    return QuestionScores(
        ACCURACY,
        50.0,
        rows.with_columns(item_id=question_id, task=pl.lit(ALL)).select(SAMPLE_COLUMNS),
    )


def _balanced_questions(run_answers: RunAnswers) -> QuestionScores:
    """Score the four questions of a pair. The right letters differ between its halves, so the text gives no answer."""
    return score_requests(50.0, run_answers)._replace(is_text_useless=True)


SCORES = {
    form: Scoring(
        frozenset(METRICS),
        partial(_measures, build_pairs),
        partial(_outcomes, build_pairs),
        score_questions,
        "group",
        chance=chance,
    )
    for form, build_pairs, score_questions, chance in (
        ("questions", _score_by_questions, _balanced_questions, {"group": GROUP_CHANCE}),
        ("similarity", _score_by_similarities, _similarity_questions, {}),
    )
}
