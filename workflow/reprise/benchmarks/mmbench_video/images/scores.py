"""Scores of the answers about images: `circular` is right only if right under every rotation of the options."""

from functools import partial

import polars as pl

from reprise.benchmarks.mmbench_video.images.taxonomy import GROUPS_OF, MMBENCH, MMSTAR, OPTIONS
from reprise.benchmarks.rows import chosen_items, tag_text
from reprise.benchmarks.scoring import Answered, Scores
from reprise.stats.measures import Measure, measure, ones

# How often a question is asked.
EVERY_ROTATION, ONCE = tag_text(OPTIONS).cast(pl.UInt32), pl.lit(1)


def _measures(data_set: str, turns: pl.Expr, answered: Answered, level: float) -> list[Measure]:
    """The share of questions answered right, by category and overall; none where the release has no such question."""
    rows = _questions(turns, answered)
    found = []
    for group in GROUPS_OF[data_set]:
        if chosen_items(answered.items, group).is_empty():
            continue
        inside = chosen_items(rows, group)
        found.append(measure("accuracy", group, inside, [(inside["right"], ones(inside))], level))
    return found


def _questions(turns: pl.Expr, answered: Answered) -> pl.DataFrame:
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


def _outcomes(turns: pl.Expr, answered: Answered) -> dict[str, pl.DataFrame]:
    """Whether each question is answered right."""
    return {"accuracy": _questions(turns, answered).select("item_id", "unit", "task", "right")}


SCORES = {
    form: Scores(frozenset({"accuracy"}), partial(_measures, data_set, turns), partial(_outcomes, turns), "accuracy")
    for form, data_set, turns in (("circular", MMBENCH, EVERY_ROTATION), ("choice", MMSTAR, ONCE))
}
