"""Compute the outcomes of a run's items: one sign for each item's state, and one for each metric of single items."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Convention, RunAnswers
from reprise.models.inference.reasons import FAILURE_REASONS
from reprise.report.folder import display_text

NONE = "-"
RATING = "rating"
# The columns that can identify a sample of a metric: an item, a clip with all its items, a pair of clips.
SAMPLES = ("item_id", "clip_id", "cluster")


class RunTables(NamedTuple):
    """The responses of a run, their verdicts by both extractors, and the judge's replies."""

    responses: pl.DataFrame
    robust: pl.DataFrame
    authors: pl.DataFrame
    replies: pl.DataFrame | None = None


def compute_outcomes(benchmark: str, form: str, items: pl.DataFrame, run: RunTables) -> dict[str, pl.DataFrame]:
    """Return the outcomes of each metric's samples, as the tables count them."""
    return load_scores(benchmark).SCORES[form].compute_outcomes(RunAnswers(items, run.robust))


class RunSummary(NamedTuple):
    """The number of a run's items by state; an item counts as failed or unparsed if any answer to it does."""

    requested: int
    failed: int
    unparsed: int
    missing: int
    extractors_differ: int  # items with an answer from which the two extractors extract different values
    answers: int
    failures: list[dict[str, Any]]
    """reason, number of failed answers and first message; the most frequent reason first"""
    metrics: frozenset[str]  # metrics with values for single items
    groups: frozenset[str]  # tests and groups of items of its benchmark


def compute_columns(
    benchmark: str,
    form: str,
    items: pl.DataFrame,
    requests: pl.DataFrame,
    run: RunTables,
    max_rating: int | None = None,
) -> dict[str, Any]:
    """Return the columns of a run: states, metrics by both conventions, their samples, and where the extractors differ.

    The authors' column of a metric is present only if it differs. `max_rating` is the best rating, if a judge rates
    the answers.
    """
    # An item is failed or unparsed if any of its answers is. It is missing if it has requests but no answer.
    answer_states = run.robust.group_by("item_id").agg(pl.col("failed", "unparsed").any())
    states = requests.select(pl.col("item_id").unique()).join(answer_states, on="item_id", how="full", coalesce=True)
    failed_or_missing = pl.when(pl.col("failed").is_null()).then(pl.lit("m")).when("failed").then(pl.lit("f"))
    state_sign = failed_or_missing.when("unparsed").then(pl.lit("u")).otherwise(pl.lit("a"))
    result: dict[str, Any] = {"state": _signs(items, states.select("item_id", sign=state_sign))}
    is_rated = max_rating is not None and run.replies is not None and bool(run.robust["score"].is_not_null().any())
    if is_rated:
        rating = pl.col("score").clip(0, max_rating).round().cast(pl.Int8).cast(pl.String).first()
        result |= {RATING: _signs(items, run.robust.group_by("item_id").agg(sign=rating)), "max_rating": max_rating}
    in_run = items.filter(pl.col("item_id").is_in(run.robust["item_id"].implode()))
    extractions: tuple[tuple[Convention, pl.DataFrame], ...] = (("fixed", run.robust), ("authors", run.authors))
    for convention, verdicts in extractions:
        outcomes = load_scores(benchmark).SCORES[form].compute_outcomes(RunAnswers(items, verdicts, convention))
        metrics = {} if is_rated else {name: (_samples(items, frame), frame) for name, frame in outcomes.items()}
        result[convention] = {name: _item_signs(name, items, in_run, *metric) for name, metric in metrics.items()}
        result["samples"] = {name: samples for name, (samples, _) in metrics.items()}
    result["authors"] = {name: signs for name, signs in result["authors"].items() if result["fixed"].get(name) != signs}
    both = run.robust.join(run.authors, on=["item_id", "role"], suffix="_authors")
    differs = pl.when((pl.col("value") != pl.col("value_authors")).any()).then(pl.lit("1")).otherwise(pl.lit("0"))
    return result | {"extractors_differ": _signs(items, both.group_by("item_id").agg(sign=differs))}


def list_metrics(columns: dict[str, Any]) -> list[str]:
    return sorted({*columns["fixed"], *columns["authors"]})


def summarize(columns: dict[str, Any], responses: pl.DataFrame, groups: Iterable[str]) -> RunSummary:
    counts = {sign: columns["state"].count(sign) for sign in "afum"}
    failed = responses.filter(pl.col("error").is_in(list(FAILURE_REASONS)))
    reasons = failed.group_by("error", maintain_order=True).agg(pl.len(), pl.col("message").first())
    rows = reasons.sort(["len", "error"], descending=[True, False]).iter_rows()
    failures = [
        {"reason": reason, "answers": count, "message": display_text(text)[:300]} for reason, count, text in rows
    ]
    return RunSummary(
        requested=counts["a"] + counts["f"] + counts["u"],
        failed=counts["f"],
        unparsed=counts["u"],
        missing=counts["m"],
        extractors_differ=columns["extractors_differ"].count("1"),
        answers=responses.height,
        failures=failures,
        metrics=frozenset(list_metrics(columns)),
        groups=frozenset(groups),
    )


def _samples(items: pl.DataFrame, outcomes: pl.DataFrame) -> str | None:
    """Return the column of the items that identifies a metric's samples."""
    return next((name for name in SAMPLES if outcomes["item_id"].is_in(items[name].implode()).all()), None)


def _item_signs(
    metric: str, items: pl.DataFrame, run_items: pl.DataFrame, samples: str | None, outcomes: pl.DataFrame
) -> str:
    """Return a metric's sign for each item of a run: the result of the sample to which the item belongs.

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
