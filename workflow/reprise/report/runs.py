"""A run's items at a glance: one sign an item for what became of it, and for each metric that counts items."""

from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered, Convention

NONE = "-"
CLIP_MISSING = "m"
SAMPLES = ("item_id", "clip_id", "unit")
"""what a sample of a metric may be called by: an item, a clip with all its questions, a pair of clips"""


class RunTables(NamedTuple):
    """What is read of a run."""

    responses: pl.DataFrame
    robust: pl.DataFrame
    authors: pl.DataFrame
    replies: pl.DataFrame | None = None
    """a judge's"""


def columns(
    benchmark: str, form: str, items: pl.DataFrame, asked: pl.DataFrame, run: RunTables, highest: int | None = None
) -> dict[str, Any]:
    """The columns of a run: its state, the metrics by both conventions, what they count, where the readers differ.

    Where a judge rates its answers, `highest` is the best rating.
    """
    found: dict[str, Any] = {"state": _signs(items, _states(asked, run.robust))}
    rated = highest is not None and run.replies is not None and bool(run.robust["score"].is_not_null().any())
    if highest is not None and rated:
        found |= {"rating": _signs(items, _ratings(run.robust, highest)), "highest": highest}
    readings: tuple[tuple[Convention, pl.DataFrame], ...] = (("fixed", run.robust), ("authors", run.authors))
    for convention, verdicts in readings:
        outcomes = load_scores(benchmark).SCORES[form].outcomes(Answered(items, verdicts, convention))
        shown = {} if rated else {name: (_samples(items, one), one) for name, one in outcomes.items()}
        found[convention] = {name: _of_items(name, items, *one) for name, one in shown.items()}
        found["samples"] = {name: samples for name, (samples, _) in shown.items()}
    found["differ"] = _signs(items, _differing(run.robust, run.authors))
    return found


def metrics_of(columns: dict[str, Any]) -> list[str]:
    """The metrics that a run's columns hold."""
    return sorted({*columns["fixed"], *columns["authors"]})


def _states(asked: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """What became of each item that was asked about: failed or unread if any of its answers is."""
    answered = verdicts.group_by("item_id").agg(pl.col("failed", "unparsed").any())
    sign = (
        pl.when(pl.col("failed").is_null())
        .then(pl.lit(CLIP_MISSING))
        .when("failed")
        .then(pl.lit("f"))
        .when("unparsed")
        .then(pl.lit("u"))
        .otherwise(pl.lit("a"))
    )
    return (
        asked.select(pl.col("item_id").unique())
        .join(answered, on="item_id", how="full", coalesce=True)
        .select("item_id", sign=sign)
    )


def _ratings(verdicts: pl.DataFrame, highest: int) -> pl.DataFrame:
    rating = pl.col("score").clip(0, highest).round().cast(pl.Int8).cast(pl.String)
    return verdicts.group_by("item_id").agg(rating.first().alias("sign"))


def _differing(robust: pl.DataFrame, authors: pl.DataFrame) -> pl.DataFrame:
    both = robust.join(authors, on=["item_id", "role"], suffix="_authors")
    differs = (pl.col("value") != pl.col("value_authors")).any()
    return both.group_by("item_id").agg(pl.when(differs).then(pl.lit("1")).otherwise(pl.lit("0")).alias("sign"))


def _samples(items: pl.DataFrame, outcomes: pl.DataFrame) -> str | None:
    """The column of the items by which a metric's samples are called."""
    return next((name for name in SAMPLES if outcomes["item_id"].is_in(items[name].implode()).all()), None)


def _of_items(metric: str, items: pl.DataFrame, samples: str | None, outcomes: pl.DataFrame) -> str:
    """A metric's result on each item: that of the sample which the item belongs to.

    A metric that is named as a task, such as a pair's text score, is about the items of this task.
    """
    if samples is None or outcomes.is_empty():
        return NONE * items.height
    about = items.filter(pl.col("task") == metric) if metric in items["task"] else items
    right = pl.when(pl.col("right").cast(pl.Float64) >= 1).then(pl.lit("1")).otherwise(pl.lit("0"))
    signs = outcomes.select(pl.col("item_id").alias(samples), sign=right)
    found = about.select(*dict.fromkeys(("item_id", samples))).join(signs, on=samples, how="inner")
    return _signs(items, found.select("item_id", "sign"))


def _signs(items: pl.DataFrame, signs: pl.DataFrame) -> str:
    """One sign an item; `-` where there is none."""
    joined = items.select("item_id").join(signs.unique("item_id"), on="item_id", how="left", maintain_order="left")
    return "".join(joined["sign"].fill_null(NONE))
