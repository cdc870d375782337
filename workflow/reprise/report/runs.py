"""A run's items at a glance: one sign an item for what became of it, and for each metric that counts items."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered, Convention
from reprise.models.asking.reasons import REASONS
from reprise.report.folder import shown

NONE = "-"
RATING = "rating"
# What a sample of a metric may be called by: an item, a clip with all its questions, a pair of clips.
SAMPLES = ("item_id", "clip_id", "unit")


class RunTables(NamedTuple):
    responses: pl.DataFrame
    robust: pl.DataFrame
    authors: pl.DataFrame
    replies: pl.DataFrame | None = None


def outcomes_of(benchmark: str, form: str, items: pl.DataFrame, run: RunTables) -> dict[str, pl.DataFrame]:
    """Metric -> what became of each of its samples, as the tables count."""
    return load_scores(benchmark).SCORES[form].outcomes(Answered(items, run.robust))


class Summary(NamedTuple):
    """A run's items by what became of them; an item counts as failed or unread if any answer to it is."""

    asked: int
    failed: int
    unread: int
    missing: int
    differ: int  # items with an answer that the two readers read differently
    answers: int
    failures: list[dict[str, Any]]
    """how many answers failed for which reason, and the first message; the most frequent reason first"""
    metrics: frozenset[str]  # those that tell single items apart
    groups: frozenset[str]  # tests and groups of items of its benchmark


def columns(
    benchmark: str, form: str, items: pl.DataFrame, asked: pl.DataFrame, run: RunTables, highest: int | None = None
) -> dict[str, Any]:
    """The columns of a run: its state, the metrics by both conventions, what they count, where the readers differ.

    The authors' column of a metric is there only where it is another one.

    Where a judge rates its answers, `highest` is the best rating.
    """
    # An item is failed or unread if any of its answers is, and missing where it was asked about and not answered.
    answered = run.robust.group_by("item_id").agg(pl.col("failed", "unparsed").any())
    every = asked.select(pl.col("item_id").unique()).join(answered, on="item_id", how="full", coalesce=True)
    failed_first = pl.when(pl.col("failed").is_null()).then(pl.lit("m")).when("failed").then(pl.lit("f"))
    state = failed_first.when("unparsed").then(pl.lit("u")).otherwise(pl.lit("a"))
    found: dict[str, Any] = {"state": _signs(items, every.select("item_id", sign=state))}
    is_rated = highest is not None and run.replies is not None and bool(run.robust["score"].is_not_null().any())
    if is_rated:
        rating = pl.col("score").clip(0, highest).round().cast(pl.Int8).cast(pl.String).first()
        found |= {RATING: _signs(items, run.robust.group_by("item_id").agg(sign=rating)), "highest": highest}
    in_run = items.filter(pl.col("item_id").is_in(run.robust["item_id"].implode()))
    readings: tuple[tuple[Convention, pl.DataFrame], ...] = (("fixed", run.robust), ("authors", run.authors))
    for convention, verdicts in readings:
        outcomes = load_scores(benchmark).SCORES[form].outcomes(Answered(items, verdicts, convention))
        shown_of = {} if is_rated else {name: (_samples(items, one), one) for name, one in outcomes.items()}
        found[convention] = {name: _of_items(name, items, in_run, *one) for name, one in shown_of.items()}
        found["samples"] = {name: samples for name, (samples, _) in shown_of.items()}
    found["authors"] = {name: one for name, one in found["authors"].items() if found["fixed"].get(name) != one}
    both = run.robust.join(run.authors, on=["item_id", "role"], suffix="_authors")
    differs = pl.when((pl.col("value") != pl.col("value_authors")).any()).then(pl.lit("1")).otherwise(pl.lit("0"))
    return found | {"differ": _signs(items, both.group_by("item_id").agg(sign=differs))}


def metrics_of(columns: dict[str, Any]) -> list[str]:
    return sorted({*columns["fixed"], *columns["authors"]})


def summary(columns: dict[str, Any], responses: pl.DataFrame, groups: Iterable[str]) -> Summary:
    counts = {sign: columns["state"].count(sign) for sign in "afum"}
    failed = responses.filter(pl.col("error").is_in(list(REASONS)))
    reasons = failed.group_by("error", maintain_order=True).agg(pl.len(), pl.col("message").first())
    rows = reasons.sort(["len", "error"], descending=[True, False]).iter_rows()
    failures = [{"reason": one, "answers": count, "message": shown(text)[:300]} for one, count, text in rows]
    return Summary(
        asked=counts["a"] + counts["f"] + counts["u"],
        failed=counts["f"],
        unread=counts["u"],
        missing=counts["m"],
        differ=columns["differ"].count("1"),
        answers=responses.height,
        failures=failures,
        metrics=frozenset(metrics_of(columns)),
        groups=frozenset(groups),
    )


def _samples(items: pl.DataFrame, outcomes: pl.DataFrame) -> str | None:
    """The column of the items by which a metric's samples are called."""
    return next((name for name in SAMPLES if outcomes["item_id"].is_in(items[name].implode()).all()), None)


def _of_items(
    metric: str, items: pl.DataFrame, asked: pl.DataFrame, samples: str | None, outcomes: pl.DataFrame
) -> str:
    """A metric's result on each item that was asked: that of the sample which the item belongs to.

    A metric that is named as a task, such as a pair's text score, is about the items of this task.
    """
    if samples is None or outcomes.is_empty():
        return NONE * items.height
    about = asked.filter(pl.col("task") == metric) if metric in items["task"] else asked
    right = pl.when(pl.col("right").cast(pl.Float64) >= 1).then(pl.lit("1")).otherwise(pl.lit("0"))
    signs = outcomes.select(pl.col("item_id").alias(samples), sign=right)
    found = about.select(*dict.fromkeys(("item_id", samples))).join(signs, on=samples, how="inner")
    return _signs(items, found.select("item_id", "sign"))


def _signs(items: pl.DataFrame, signs: pl.DataFrame) -> str:
    """One sign an item; `-` where there is none."""
    joined = items.select("item_id").join(signs.unique("item_id"), on="item_id", how="left", maintain_order="left")
    return "".join(joined["sign"].fill_null(NONE))
