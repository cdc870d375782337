"""Score Vinoground's answers: text, video and group score of each pair."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import polars as pl

from reprise.benchmarks.annotations import is_in
from reprise.benchmarks.scoring import (
    SAMPLE_COLUMNS,
    QuestionScores,
    RunAnswers,
    Scoring,
    nonempty_groups,
    verdict_questions,
)
from reprise.benchmarks.vinoground.analyses import ANALYSIS_GROUPS
from reprise.benchmarks.vinoground.taxonomy import ALL, POLARITIES
from reprise.benchmarks.vinoground.taxonomy import GROUPS as CATEGORIES
from reprise.stats.chance import chance_pair_similarities
from reprise.stats.measures import Measure, compute_measure, unit_weights

GROUPS = CATEGORIES | {name: is_in(name) for name in ANALYSIS_GROUPS}
METRICS = ("text", "video", "group")
# As in the paper, chance is the score of four random similarities.
CHANCE: dict[str, float | None] = {name: 100 * value for name, value in chance_pair_similarities().items()}
GROUP_CHANCE = 100 / 2**4
"""group score of random answers to four two-way questions"""

ROLES = {task: [f"{task}_{half}" for half in POLARITIES] for task in ("text", "video")}
ALL_ROLES = [role for roles in ROLES.values() for role in roles]

SIMILARITY_ROLES = [f"{video}_{caption}" for video in POLARITIES for caption in POLARITIES]
SIMILARITY_COMPARISONS = {
    "text_pos": ("pos_pos", "pos_neg"),
    "text_neg": ("neg_neg", "neg_pos"),
    "video_pos": ("pos_pos", "neg_pos"),
    "video_neg": ("neg_neg", "pos_neg"),
}
"""question -> the role whose similarity must be larger, and the role with which it is compared"""

PairBuilder: TypeAlias = Callable[[RunAnswers], pl.DataFrame]
"""Run answers -> one row per pair: for each metric, whether it was requested, is right, failed, or was unparsed."""


def _measures(pairs_of: PairBuilder, run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute text, video and group score over all pairs, and over each category and range of the analyses."""
    pairs = pairs_of(run_answers)
    measures = []
    for group in (*CATEGORIES, *nonempty_groups(pairs, ANALYSIS_GROUPS)):
        members = pairs.filter(GROUPS[group])
        for metric in METRICS:
            rows = members.filter(f"{metric}_requested").with_columns(
                failed=pl.col(f"{metric}_failed"), unparsed=pl.col(f"{metric}_unparsed")
            )
            score = compute_measure(metric, group, rows, [(rows[f"{metric}_right"], unit_weights(rows))], level)
            measures.append(replace(score, missing=members.height - rows.height))
    return measures


def _outcomes(pairs_of: PairBuilder, run_answers: RunAnswers) -> dict[str, pl.DataFrame]:
    """Return the outcomes of the three scores, one row per pair."""
    pairs = pairs_of(run_answers)
    return {
        metric: pairs.filter(f"{metric}_requested").select(
            pl.col("cluster").alias("item_id"),
            "cluster",
            pl.lit(ALL).alias("task"),
            pl.col(f"{metric}_right").alias("right"),
        )
        for metric in METRICS
    }


def _by_questions(run_answers: RunAnswers) -> pl.DataFrame:
    """Score pairs by their four questions.

    Under the `authors` convention every pair of the table counts, and a question without an answer is wrong. If such a
    question aborts the text score, the pair gets no video score either.
    """
    pairs = _pair_rows(run_answers, ALL_ROLES)
    pairs = _apply_authors_rules(pairs) if run_answers.convention == "authors" else pairs
    roles = {**ROLES, "group": ALL_ROLES}
    right = {
        metric: pl.all_horizontal(f"{role}_right" for role in roles[metric]).fill_null(False) for metric in METRICS
    }
    return pairs.with_columns(_metric_columns(right, roles))


def _by_similarities(run_answers: RunAnswers) -> pl.DataFrame:
    """Score pairs by four similarities, as Winoground defines the scores; a tie is not larger, so it is wrong."""
    is_right = {question: _is_larger(*roles) for question, roles in SIMILARITY_COMPARISONS.items()}
    text, video = is_right["text_pos"] & is_right["text_neg"], is_right["video_pos"] & is_right["video_neg"]
    right = {"text": text, "video": video, "group": text & video}
    return _pair_rows(run_answers, SIMILARITY_ROLES).with_columns(
        _metric_columns(right, dict.fromkeys(METRICS, SIMILARITY_ROLES))
    )


def _is_larger(first_role: str, second_role: str) -> pl.Expr:
    return (pl.col(f"{first_role}_score") > pl.col(f"{second_role}_score")).fill_null(False)


def _metric_columns(right: Mapping[str, pl.Expr], roles: Mapping[str, Sequence[str]]) -> Iterator[pl.Expr]:
    """Yield, for each metric, the columns `right`, `requested`, `failed` and `unparsed`, prefixed with its name.

    `requested` is true if a request was sent for each of the metric's questions.
    """
    for metric in METRICS:
        yield right[metric].alias(f"{metric}_right")
        is_requested = pl.all_horizontal(pl.col(f"{role}_failed").is_not_null() for role in roles[metric])
        yield is_requested.alias(f"{metric}_requested")
        for state in ("failed", "unparsed"):
            has_state = pl.any_horizontal(f"{role}_{state}" for role in roles[metric])
            yield has_state.fill_null(False).alias(f"{metric}_{state}")


def _pair_rows(run_answers: RunAnswers, roles: Sequence[str]) -> pl.DataFrame:
    """Return one row per pair with the verdicts of its roles; they are null for questions without a request."""
    items = run_answers.items
    pairs = items.select("cluster", "groups").unique("cluster", keep="first", maintain_order=True)
    answers = run_answers.verdicts.join(items.select("item_id", "cluster"), on="item_id", how="inner")
    for role in roles:
        columns = [pl.col(part).alias(f"{role}_{part}") for part in ("right", "score", "failed", "unparsed")]
        role_verdicts = answers.filter(pl.col("role") == role).select("cluster", *columns)
        pairs = pairs.join(role_verdicts, on="cluster", how="left", maintain_order="left")
    return pairs


def _apply_authors_rules(pairs: pl.DataFrame) -> pl.DataFrame:
    """Apply the rules of the released scorer, which stops scoring a pair at a missing or empty answer.

    It reads the second text answer only if the first is right, and reads the video answers after the text answers.
    """

    def is_missing(role: str) -> pl.Expr:
        return pl.col(f"{role}_right").is_null() | pl.col(f"{role}_failed") | pl.col(f"{role}_unparsed")

    is_aborted = is_missing("text_pos") | (pl.col("text_pos_right") & is_missing("text_neg"))
    right = [pl.col(f"{role}_right").fill_null(False) for role in ROLES["text"]]
    right += [pl.col(f"{role}_right").fill_null(False) & ~is_aborted for role in ROLES["video"]]
    failed = [pl.col(f"{role}_failed").fill_null(True) for role in ALL_ROLES]
    return pairs.with_columns(*right, *failed)


def _similarity_questions(run_answers: RunAnswers) -> QuestionScores:
    """Score the four comparisons of a pair's similarities: each video's captions, and each caption's videos."""
    pairs = _pair_rows(run_answers, SIMILARITY_ROLES)
    comparisons = {name: _is_larger(*roles) for name, roles in SIMILARITY_COMPARISONS.items()}
    rows = pairs.select("cluster", **comparisons).unpivot(index="cluster", variable_name="item_id", value_name="right")
    question_id = pl.concat_str("cluster", pl.lit("#"), "item_id")
    return QuestionScores(
        "accuracy per question",
        50.0,
        rows.with_columns(item_id=question_id, task=pl.lit(ALL)).select(SAMPLE_COLUMNS),
    )


SCORES = {
    form: Scoring(
        frozenset(METRICS),
        partial(_measures, pairs_of),
        partial(_outcomes, pairs_of),
        questions_of,
        "group",
        chance=guessed,
    )
    for form, pairs_of, questions_of, guessed in (
        ("questions", _by_questions, partial(verdict_questions, 50.0), {"group": GROUP_CHANCE}),
        ("similarity", _by_similarities, _similarity_questions, {}),
    )
}
