"""Scores of MMBench-Video's answers: mean ratings over a taxonomy of abilities, and shares of right choices."""

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
# `mae` compares a judge with people, where somebody has people's ratings.
METRICS = frozenset({"mean", "valid", "original_score", "normalized_score", "mae"})
BEST = 3
BEST_OF_SET = {SCORINGS["0 to 5"]: 5}
"""highest rating, where it is another one"""
# How often a question about an image is asked.
EVERY_ROTATION, ONCE = tag_text(OPTIONS).cast(pl.UInt32), pl.lit(1)


def _ratings(form: str, answered: Answered, level: float) -> list[Measure]:
    """Mean ratings: `mean` (ALL) counts what failed as 0, `valid` leaves it out.

    The authors' convention differs where an unpacked answer failed: the harness puts its failure message to the judge
    like an answer, so that it stays in `valid`, with 0.
    """
    rows = answered.rows()
    keeps_failed = answered.convention == "authors" and form == "unpacked"
    given = rows["score"].is_not_null() | (rows["failed"] if keeps_failed else False)
    rows = rows.with_columns(given=given.cast(pl.Float64), score=rows["score"].fill_null(0.0))
    found = []
    as_rated = partial(measure, level=level, limits=(0, BEST), scale=1)
    sets = other_sets(answered.items)
    for group in () if sets else (*LEAVES, *HALVES, OVERALL, *groups_there(rows, ANALYSED)):
        inside = in_group(rows, group, GROUPS)
        rated, given = inside["score"] * inside["given"], inside["given"]
        found.append(as_rated("mean", group, inside, [(inside["score"], ones(inside))]))
        found.append(as_rated("valid", group, inside, [(rated, given)]))
    for group in sets or [OWN_NAME]:
        inside = in_group(rows, group, GROUPS)
        found += _of_set(group, inside, inside["score"], _best(inside), level)
    return found


def _best(rows: pl.DataFrame) -> int:
    """The highest rating that these answers can have; a set has one scoring."""
    return next((best for group, best in BEST_OF_SET.items() if not chosen_items(rows, group).is_empty()), BEST)


def _of_set(group: str, rows: pl.DataFrame, scores: pl.Series, best: int, level: float) -> list[Measure]:
    """Table 2: the mean as it is, and scaled to 0 to 100."""
    whole = [(scores, ones(rows))]
    return [
        measure(metric, group, rows, whole, level=level, limits=(0, best), scale=scale)
        for metric, scale in (("original_score", 1), ("normalized_score", 100 / best))
    ]


def _outcomes(answered: Answered) -> dict[str, pl.DataFrame]:
    """The rating of every question as a share of the best one."""
    rated = pl.col("score").fill_null(0.0) / _best(answered.items)
    return {"mean": answered.rows().select("item_id", "unit", task=pl.lit(OVERALL), right=rated)}


def _choices(answered: Answered, level: float) -> list[Measure]:
    """The share of right answers to each set's questions; what failed or could not be read is wrong."""
    found = []
    for name in other_sets(answered.items):
        rows = in_group(answered.rows(), name, GROUPS)
        found += _of_set(name, rows, rows["right"].cast(pl.Float64), 1, level)
    return found


def _images(data_set: str, turns: pl.Expr, answered: Answered, level: float) -> list[Measure]:
    """The share of questions answered right, by category and overall; none where the release has no such question."""
    rows, found = _image_rows(turns, answered), []
    for group in GROUPS_OF[data_set]:
        if not chosen_items(answered.items, group).is_empty():
            inside = chosen_items(rows, group)
            found.append(measure("accuracy", group, inside, [(inside["right"], ones(inside))], level))
    return found


def _image_rows(turns: pl.Expr, answered: Answered) -> pl.DataFrame:
    """One row per question that was asked: right if right under every rotation; a rotation without an answer failed.

    The reference harness knows only the rotations that are in its file of answers, and of these the questions whose
    first order is.
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
    is_short = pl.col("turns") < turns
    return rows.with_columns(right=pl.col("right") & ~is_short, failed=pl.col("failed") | is_short)


def _image_outcomes(turns: pl.Expr, answered: Answered) -> dict[str, pl.DataFrame]:
    return {"accuracy": _image_rows(turns, answered).select(SAMPLE)}


SCORES = {
    **{form: Scores(METRICS, partial(_ratings, form), _outcomes, "mean", best=BEST) for form in ("unpacked", "packed")},
    "set_choice": Scores(
        frozenset({"original_score", "normalized_score"}),
        _choices,
        lambda answered: {"original_score": answered.rows().select(SAMPLE)},
        "original_score",
    ),
    **{
        form: Scores(
            frozenset({"accuracy"}), partial(_images, data_set, turns), partial(_image_outcomes, turns), "accuracy"
        )
        for form, data_set, turns in (("circular", MMBENCH, EVERY_ROTATION), ("choice", MMSTAR, ONCE))
    },
}


def mean_ratings(verdicts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Mean rating of every question over the runs, what failed as 0, so that no failure makes a question static."""
    rated = pl.concat(verdicts).select("item_id", pl.col("score").fill_null(0.0).alias("rating"))
    return rated.group_by("item_id", maintain_order=True).agg(pl.col("rating").sum() / len(verdicts))
