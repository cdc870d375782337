"""The outcomes of a run's items: one sign for each item's state, and one for each metric that counts items."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered, Convention
from reprise.models.asking.reasons import REASONS
from reprise.report.folder import display_text

NONE = "-"
RATING = "rating"
# The columns that can identify a sample of a metric: an item, a clip with all its questions, a pair of clips.
SAMPLES = ("item_id", "clip_id", "unit")


class RunTables(NamedTuple):
    responses: pl.DataFrame
    robust: pl.DataFrame
    authors: pl.DataFrame
    replies: pl.DataFrame | None = None


def outcomes_of(benchmark: str, form: str, items: pl.DataFrame, run: RunTables) -> dict[str, pl.DataFrame]:
    """Return the outcomes of each metric's samples, as the tables count them."""
    return load_scores(benchmark).SCORES[form].outcomes(Answered(items, run.robust))


class Summary(NamedTuple):
    """The number of a run's items by state; an item counts as failed or unread if any answer to it does."""

    asked: int
    failed: int
    unread: int
    missing: int
    differ: int  # items with an answer that the two readers read differently
    answers: int
    failures: list[dict[str, Any]]
    """reason, number of answers that failed for it, and the first message; the most frequent reason first"""
    metrics: frozenset[str]  # metrics with a result for single items
    groups: frozenset[str]  # tests and groups of items of its benchmark


def columns(
    benchmark: str, form: str, items: pl.DataFrame, requests: pl.DataFrame, run: RunTables, highest: int | None = None
) -> dict[str, Any]:
    """Return the columns of a run: states, metrics by both conventions, their samples, and where the readers differ.

    The authors' column of a metric is present only if it differs. `highest` is the best rating, if a judge rates the
    answers.
    """
    # An item is failed or unread if any of its answers is, and missing if it has requests but no answer.
    answer_states = run.robust.group_by("item_id").agg(pl.col("failed", "unparsed").any())
    states = requests.select(pl.col("item_id").unique()).join(answer_states, on="item_id", how="full", coalesce=True)
    failed_first = pl.when(pl.col("failed").is_null()).then(pl.lit("m")).when("failed").then(pl.lit("f"))
    sign_expression = failed_first.when("unparsed").then(pl.lit("u")).otherwise(pl.lit("a"))
    result: dict[str, Any] = {"state": _signs(items, states.select("item_id", sign=sign_expression))}
    is_rated = highest is not None and run.replies is not None and bool(run.robust["score"].is_not_null().any())
    if is_rated:
        rating = pl.col("score").clip(0, highest).round().cast(pl.Int8).cast(pl.String).first()
        result |= {RATING: _signs(items, run.robust.group_by("item_id").agg(sign=rating)), "highest": highest}
    in_run = items.filter(pl.col("item_id").is_in(run.robust["item_id"].implode()))
    readings: tuple[tuple[Convention, pl.DataFrame], ...] = (("fixed", run.robust), ("authors", run.authors))
    for convention, verdicts in readings:
        outcomes = load_scores(benchmark).SCORES[form].outcomes(Answered(items, verdicts, convention))
        metrics = {} if is_rated else {name: (_samples(items, frame), frame) for name, frame in outcomes.items()}
        result[convention] = {name: _item_signs(name, items, in_run, *metric) for name, metric in metrics.items()}
        result["samples"] = {name: samples for name, (samples, _) in metrics.items()}
    result["authors"] = {name: signs for name, signs in result["authors"].items() if result["fixed"].get(name) != signs}
    both = run.robust.join(run.authors, on=["item_id", "role"], suffix="_authors")
    differs = pl.when((pl.col("value") != pl.col("value_authors")).any()).then(pl.lit("1")).otherwise(pl.lit("0"))
    return result | {"differ": _signs(items, both.group_by("item_id").agg(sign=differs))}


def metrics_of(columns: dict[str, Any]) -> list[str]:
    return sorted({*columns["fixed"], *columns["authors"]})


def summary(columns: dict[str, Any], responses: pl.DataFrame, groups: Iterable[str]) -> Summary:
    counts = {sign: columns["state"].count(sign) for sign in "afum"}
    failed = responses.filter(pl.col("error").is_in(list(REASONS)))
    reasons = failed.group_by("error", maintain_order=True).agg(pl.len(), pl.col("message").first())
    rows = reasons.sort(["len", "error"], descending=[True, False]).iter_rows()
    failures = [
        {"reason": reason, "answers": count, "message": display_text(text)[:300]} for reason, count, text in rows
    ]
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
    """Return the column of the items that identifies a metric's samples."""
    return next((name for name in SAMPLES if outcomes["item_id"].is_in(items[name].implode()).all()), None)


def _item_signs(
    metric: str, items: pl.DataFrame, run_items: pl.DataFrame, samples: str | None, outcomes: pl.DataFrame
) -> str:
    """Return a metric's result on each item of a run: that of the sample to which the item belongs.

    A metric with the name of a task, such as a pair's text score, applies to the items of this task.
    """
    if samples is None or outcomes.is_empty():
        return NONE * items.height
    applicable = run_items.filter(pl.col("task") == metric) if metric in items["task"] else run_items
    right = pl.when(pl.col("right").cast(pl.Float64) >= 1).then(pl.lit("1")).otherwise(pl.lit("0"))
    signs = outcomes.select(pl.col("item_id").alias(samples), sign=right)
    results = applicable.select(*dict.fromkeys(("item_id", samples))).join(signs, on=samples, how="inner")
    return _signs(items, results.select("item_id", "sign"))


def _signs(items: pl.DataFrame, signs: pl.DataFrame) -> str:
    """Return one sign for each item; `-` if there is none."""
    joined = items.select("item_id").join(signs.unique("item_id"), on="item_id", how="left", maintain_order="left")
    return "".join(joined["sign"].fill_null(NONE))
