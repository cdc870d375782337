"""Score MMBench-Video's answers: mean ratings over a taxonomy of abilities, and shares of right choices."""

from collections.abc import Sequence
from functools import partial

import polars as pl

from reprise.benchmarks.mmbench_video.analyses import ANALYSED
from reprise.benchmarks.mmbench_video.taxonomy import GROUPS as RELEASED_GROUPS
from reprise.benchmarks.mmbench_video.taxonomy import (
    GROUPS_OF,
    HALVES,
    LEAVES,
    MMBENCH,
    MMSTAR,
    OPTIONS,
    OVERALL,
    OWN_NAME,
    SCORINGS,
    other_sets,
)
from reprise.benchmarks.rows import chosen_items, is_in, tag_text
from reprise.benchmarks.scoring import SAMPLE, Answered, Scores, groups_there, in_group
from reprise.stats.measures import Measure, measure, ones

GROUPS = RELEASED_GROUPS | {name: is_in(name) for name in ANALYSED}
CHANCE: dict[str, float | None] = {"accuracy": None}
# `mae` compares a judge with human ratings if the user supplies them.
METRICS = frozenset({"mean", "valid", "original_score", "normalized_score", "mae"})
BEST = 3
BEST_BY_SCORING = {SCORINGS["0 to 5"]: 5}
"""group of a scoring -> its highest rating, if it is not BEST"""
# Number of rotations in which a question about an image is queried.
ALL_ROTATIONS, ONE_ROTATION = tag_text(OPTIONS).cast(pl.UInt32), pl.lit(1)


def _rating_measures(form: str, answered: Answered, level: float) -> list[Measure]:
    """Compute mean ratings: `mean` (the paper's ALL) counts failed answers as 0, `valid` leaves them out.

    The `authors` convention differs for failed unpacked answers. The reference harness sends their failure message to
    the judge like an answer, so they count in `valid` with rating 0.
    """
    rows = answered.rows()
    keeps_failed = answered.convention == "authors" and form == "unpacked"
    is_counted = rows["score"].is_not_null() | (rows["failed"] if keeps_failed else False)
    rows = rows.with_columns(given=is_counted.cast(pl.Float64), score=rows["score"].fill_null(0.0))
    measures = []
    rating_measure = partial(measure, level=level, limits=(0, BEST), scale=1)
    sets = other_sets(answered.items)
    for group in () if sets else (*LEAVES, *HALVES, OVERALL, *groups_there(rows, ANALYSED)):
        members = in_group(rows, group, GROUPS)
        counted_scores, is_counted = members["score"] * members["given"], members["given"]
        measures.append(rating_measure("mean", group, members, [(members["score"], ones(members))]))
        measures.append(rating_measure("valid", group, members, [(counted_scores, is_counted)]))
    for group in sets or [OWN_NAME]:
        members = in_group(rows, group, GROUPS)
        measures += _set_measures(group, members, members["score"], _max_rating(members), level)
    return measures


def _max_rating(rows: pl.DataFrame) -> int:
    """Return the highest rating that these answers can have; all questions of a set have the same scoring."""
    return next((best for group, best in BEST_BY_SCORING.items() if not chosen_items(rows, group).is_empty()), BEST)


def _set_measures(group: str, rows: pl.DataFrame, scores: pl.Series, best: int, level: float) -> list[Measure]:
    """Compute Table 2: the mean score, and the mean score scaled to 0 to 100."""
    ratios = [(scores, ones(rows))]
    return [
        measure(metric, group, rows, ratios, level=level, limits=(0, best), scale=scale)
        for metric, scale in (("original_score", 1), ("normalized_score", 100 / best))
    ]


def _outcomes(answered: Answered) -> dict[str, pl.DataFrame]:
    """Return the rating of every question as a share of the highest rating."""
    rating_share = pl.col("score").fill_null(0.0) / _max_rating(answered.items)
    return {"mean": answered.rows().select("item_id", "unit", task=pl.lit(OVERALL), right=rating_share)}


def _choice_measures(answered: Answered, level: float) -> list[Measure]:
    """Compute the share of right answers to each set's questions; failed and unparsed answers are wrong."""
    measures = []
    for name in other_sets(answered.items):
        rows = in_group(answered.rows(), name, GROUPS)
        measures += _set_measures(name, rows, rows["right"].cast(pl.Float64), 1, level)
    return measures


def _image_measures(data_set: str, rotation_count: pl.Expr, answered: Answered, level: float) -> list[Measure]:
    """Compute the share of questions answered right, by category and overall, for groups in the release."""
    rows, measures = _image_rows(rotation_count, answered), []
    for group in GROUPS_OF[data_set]:
        if not chosen_items(answered.items, group).is_empty():
            members = chosen_items(rows, group)
            measures.append(measure("accuracy", group, members, [(members["right"], ones(members))], level))
    return measures


def _image_rows(rotation_count: pl.Expr, answered: Answered) -> pl.DataFrame:
    """Return one row per queried question, right if every rotation is right and failed if a rotation has no answer.

    The reference harness considers only rotations in its file of answers, and only questions whose rotation 0 is there.
    """
    by_item = answered.verdicts.group_by("item_id", maintain_order=True).agg(
        pl.col("right").all(),
        pl.col("failed", "unparsed").any(),
        turns=pl.len(),
        is_begun=(pl.col("role") == "rotation0").any(),
    )
    rows = answered.items.join(by_item, on="item_id", how="inner", maintain_order="left")
    if answered.convention == "authors":
        return rows.filter(pl.col("is_begun"))
    is_incomplete = pl.col("turns") < rotation_count
    return rows.with_columns(right=pl.col("right") & ~is_incomplete, failed=pl.col("failed") | is_incomplete)


def _image_outcomes(rotation_count: pl.Expr, answered: Answered) -> dict[str, pl.DataFrame]:
    """Return the outcome of every question about an image."""
    return {"accuracy": _image_rows(rotation_count, answered).select(SAMPLE)}


SCORES = {
    **{
        form: Scores(METRICS, partial(_rating_measures, form), _outcomes, "mean", best=BEST)
        for form in ("unpacked", "packed")
    },
    "set_choice": Scores(
        frozenset({"original_score", "normalized_score"}),
        _choice_measures,
        lambda answered: {"original_score": answered.rows().select(SAMPLE)},
        "original_score",
    ),
    **{
        form: Scores(
            frozenset({"accuracy"}),
            partial(_image_measures, data_set, rotation_count),
            partial(_image_outcomes, rotation_count),
            "accuracy",
        )
        for form, data_set, rotation_count in (("circular", MMBENCH, ALL_ROTATIONS), ("choice", MMSTAR, ONE_ROTATION))
    },
}


def mean_ratings(verdicts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the mean rating of every question over the runs.

    A failed answer counts as 0, so that no failure makes a question look static.
    """
    ratings = pl.concat(verdicts).select("item_id", pl.col("score").fill_null(0.0).alias("rating"))
    return ratings.group_by("item_id", maintain_order=True).agg(pl.col("rating").sum() / len(verdicts))
