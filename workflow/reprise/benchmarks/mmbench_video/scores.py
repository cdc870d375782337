"""Score MMBench-Video's answers: mean ratings over a taxonomy of abilities, and accuracy of multiple choice."""

from collections.abc import Sequence
from functools import partial

import polars as pl

from reprise.benchmarks.annotations import is_in_group, select_items, tag_text_expr
from reprise.benchmarks.mmbench_video.analyses import ANALYSIS_GROUPS
from reprise.benchmarks.mmbench_video.taxonomy import (
    BENCHMARK_NAME,
    GROUP_BY_SCORING,
    GROUPS_BY_DATA_SET,
    L1_GROUPS,
    LEAVES_BY_L2,
    MMBENCH,
    MMSTAR,
    OPTION_COUNT_TAG,
    OVERALL,
    list_other_sets,
)
from reprise.benchmarks.mmbench_video.taxonomy import GROUPS as RELEASED_GROUPS
from reprise.benchmarks.scoring import (
    SAMPLE_COLUMNS,
    QuestionScores,
    RunAnswers,
    Scoring,
    filter_group,
    list_nonempty_groups,
    score_items,
)
from reprise.stats.measures import Measure, compute_measure, unit_weights

GROUPS = RELEASED_GROUPS | {name: is_in_group(name) for name in ANALYSIS_GROUPS}
CHANCE: dict[str, float | None] = {"accuracy": None}
# `mae` compares a judge with human ratings if the user supplies them.
METRICS = frozenset({"mean", "valid", "original_score", "normalized_score", "mae"})
MAX_RATING = 3
MAX_RATING_BY_SCORING = {GROUP_BY_SCORING["0 to 5"]: 5}
"""group of a scoring -> its highest rating, if it is not MAX_RATING"""
# Number of requests about one image question, as an expression: one per rotation of its options.
ALL_ROTATIONS, ONE_ROTATION = tag_text_expr(OPTION_COUNT_TAG).cast(pl.UInt32), pl.lit(1)


def _rating_measures(form: str, run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute mean ratings: `mean` (the paper's ALL) counts failed answers as 0, `valid` leaves them out.

    `form` is `packed` (one request about all questions of a video) or `unpacked` (one request per question).

    The reference harness sends the failure message of an unpacked answer to the judge. Under the `authors` convention,
    failed unpacked answers therefore count in `valid` with rating 0.
    """
    rows = run_answers.join_verdicts()
    keeps_failed = run_answers.convention == "authors" and form == "unpacked"
    is_counted = rows["score"].is_not_null() | (rows["failed"] if keeps_failed else False)
    rows = rows.with_columns(counted=is_counted.cast(pl.Float64), score=rows["score"].fill_null(0.0))
    measures = []
    rating_measure = partial(compute_measure, level=level, limits=(0, MAX_RATING), scale=1)
    other_sets = list_other_sets(run_answers.items)
    # Other sets of videos have no taxonomy of abilities.
    taxonomy_groups = () if other_sets else (*LEAVES_BY_L2, *L1_GROUPS, OVERALL)
    analysis_groups = () if other_sets else list_nonempty_groups(rows, ANALYSIS_GROUPS)
    for group in (*taxonomy_groups, *analysis_groups):
        group_rows = filter_group(rows, group, GROUPS)
        counted = group_rows["counted"]
        measures.append(rating_measure("mean", group, group_rows, [(group_rows["score"], unit_weights(group_rows))]))
        measures.append(rating_measure("valid", group, group_rows, [(group_rows["score"] * counted, counted)]))
    for group in other_sets or [BENCHMARK_NAME]:
        group_rows = filter_group(rows, group, GROUPS)
        measures += _set_measures(group, group_rows, group_rows["score"], _max_rating(group_rows), level)
    return measures


def _max_rating(rows: pl.DataFrame) -> int:
    """Return the highest rating on the scale of these answers; all questions of a set have the same scoring."""
    ratings = (rating for group, rating in MAX_RATING_BY_SCORING.items() if not select_items(rows, group).is_empty())
    return next(ratings, MAX_RATING)


def _set_measures(group: str, rows: pl.DataFrame, scores: pl.Series, max_score: int, level: float) -> list[Measure]:
    """Compute Table 2: the mean score, and the mean score scaled to 0 to 100."""
    ratios = [(scores, unit_weights(rows))]
    return [
        compute_measure(metric, group, rows, ratios, level=level, limits=(0, max_score), scale=scale)
        for metric, scale in (("original_score", 1), ("normalized_score", 100 / max_score))
    ]


def _outcomes(run_answers: RunAnswers) -> dict[str, pl.DataFrame]:
    """Return the rating of every question as a share of the highest rating."""
    rating_share = pl.col("score").fill_null(0.0) / _max_rating(run_answers.items)
    return {"mean": run_answers.join_verdicts().select("item_id", "cluster", task=pl.lit(OVERALL), right=rating_share)}


def _rating_questions(run_answers: RunAnswers) -> QuestionScores:
    """Score each question by its rating, as a share of the highest one."""
    return QuestionScores("mean rating", None, _outcomes(run_answers)["mean"])


def _choice_measures(run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute the share of right answers to each set's questions; failed and unparsed answers are wrong."""
    measures = []
    for name in list_other_sets(run_answers.items):
        rows = filter_group(run_answers.join_verdicts(), name, GROUPS)
        measures += _set_measures(name, rows, rows["right"].cast(pl.Float64), 1, level)
    return measures


def _image_measures(data_set: str, rotation_count: pl.Expr, run_answers: RunAnswers, level: float) -> list[Measure]:
    """Compute the accuracy of each category in the release, and overall."""
    rows, measures = _image_rows(rotation_count, run_answers), []
    for group in GROUPS_BY_DATA_SET[data_set]:
        if not select_items(run_answers.items, group).is_empty():
            group_rows = select_items(rows, group)
            measures.append(
                compute_measure("accuracy", group, group_rows, [(group_rows["right"], unit_weights(group_rows))], level)
            )
    return measures


def _image_rows(rotation_count: pl.Expr, run_answers: RunAnswers) -> pl.DataFrame:
    """Return one row per queried question, right if every rotation is right and failed if a rotation has no answer.

    Under the `authors` convention only rotations with a verdict count, and only questions whose first rotation has one.
    """
    verdict_by_item = run_answers.verdicts.group_by("item_id", maintain_order=True).agg(
        pl.col("right").all(),
        pl.col("failed", "unparsed").any(),
        rotations=pl.len(),
        has_first_rotation=(pl.col("role") == "rotation0").any(),
    )
    rows = run_answers.items.join(verdict_by_item, on="item_id", how="inner", maintain_order="left")
    if run_answers.convention == "authors":
        return rows.filter(pl.col("has_first_rotation"))
    is_incomplete = pl.col("rotations") < rotation_count
    return rows.with_columns(right=pl.col("right") & ~is_incomplete, failed=pl.col("failed") | is_incomplete)


def _image_outcomes(rotation_count: pl.Expr, run_answers: RunAnswers) -> dict[str, pl.DataFrame]:
    """Return the outcome of every question about an image."""
    return {"accuracy": _image_rows(rotation_count, run_answers).select(SAMPLE_COLUMNS)}


SCORES = {
    **{
        form: Scoring(
            METRICS, partial(_rating_measures, form), _outcomes, _rating_questions, "mean", max_score=MAX_RATING
        )
        for form in ("unpacked", "packed")
    },
    "set_choice": Scoring(
        frozenset({"original_score", "normalized_score"}),
        _choice_measures,
        lambda run_answers: {"original_score": run_answers.join_verdicts().select(SAMPLE_COLUMNS)},
        partial(score_items, None),
        "original_score",
    ),
    **{
        form: Scoring(
            frozenset({"accuracy"}),
            partial(_image_measures, data_set, rotation_count),
            partial(_image_outcomes, rotation_count),
            None,
            "accuracy",
        )
        for form, data_set, rotation_count in (("circular", MMBENCH, ALL_ROTATIONS), ("choice", MMSTAR, ONE_ROTATION))
    },
}


def average_ratings(verdicts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the mean rating of every question over the runs.

    A failed answer counts as 0. A failure therefore never makes a question look solvable without time.
    """
    ratings = pl.concat(verdicts).select("item_id", pl.col("score").fill_null(0.0).alias("rating"))
    return ratings.group_by("item_id", maintain_order=True).agg(pl.col("rating").sum() / len(verdicts))
