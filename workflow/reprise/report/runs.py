"""Compute the columns of a run for the item browser.

A column is a text with one character, its sign, for each item: the state of the item's answers, or whether the item is
right by a metric. Such texts are small and fast to search.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Convention, RunAnswers
from reprise.models.inference.reasons import FAILURE_REASONS
from reprise.report.folder import display_text
from reprise.report.redaction import redact_paths

NO_SIGN = "-"  # sign of an item to which a column does not apply
RATING = "rating"  # column with the judge's ratings, whose signs are digits
# Columns that can identify the samples of a metric: items, clips with all their items, or pairs of clips.
SAMPLE_COLUMNS = ("item_id", "clip_id", "pair")
SAMPLE_NOUNS = {"clip_id": "videos", "pair": "pairs"}  # the item browser has the same words


class RunTables(NamedTuple):
    """Responses of a run, their verdicts by both extractors, and the judge's replies."""

    responses: pl.DataFrame
    robust: pl.DataFrame
    authors: pl.DataFrame
    replies: pl.DataFrame | None = None


def compute_outcomes(benchmark: str, form: str, items: pl.DataFrame, run: RunTables) -> dict[str, pl.DataFrame]:
    """Return the outcome of each sample by metric, as the tables count them."""
    return load_scores(benchmark).SCORES[form].compute_outcomes(RunAnswers(items, run.robust))


class RunSummary(NamedTuple):
    """Numbers of a run's items by state. An item is failed or unparsed if any of its answers is."""

    requested: int
    failed: int
    unparsed: int
    missing: int
    extractors_differ: int  # items with an answer from which the two extractors extract different values
    answers: int
    failures: list[dict[str, Any]]
    """reason, number of failed answers and first message; the most frequent reason comes first"""
    metrics: frozenset[str]  # metrics with values for single items
    groups: frozenset[str]  # tests and groups of items of the benchmark
    sample_nouns: Mapping[str, str]  # metric -> what it counts, if these are not items


def compute_columns(
    benchmark: str,
    form: str,
    items: pl.DataFrame,
    requests: pl.DataFrame,
    run: RunTables,
    max_rating: int | None = None,
) -> dict[str, Any]:
    """Return the columns of a run: states, metrics by both conventions, their samples, and where the extractors differ.

    The column of a metric by the authors' convention is present only if it differs from the convention `fixed`.
    `question_metric` is the metric of the scores per question in temporal profiles; empty if no metric of items is.
    `item_right` is present if a metric counts pairs or videos: whether each item is right, regardless of the others.
    `max_rating` is the best rating, if a judge rates the answers.
    """
    # An item is failed or unparsed if any of its answers is. An item with requests but no answer is missing. The signs
    # are m (missing), f (failed), u (unparsed) and a (answered).
    answer_states = run.robust.group_by("item_id").agg(pl.col("failed", "unparsed").any())
    states = requests.select(pl.col("item_id").unique()).join(answer_states, on="item_id", how="full", coalesce=True)
    failed_or_missing = pl.when(pl.col("failed").is_null()).then(pl.lit("m")).when("failed").then(pl.lit("f"))
    state_sign = failed_or_missing.when("unparsed").then(pl.lit("u")).otherwise(pl.lit("a"))
    result: dict[str, Any] = {"state": _join_signs(items, states.select("item_id", sign=state_sign))}
    is_rated = max_rating is not None and run.replies is not None and bool(run.robust["score"].is_not_null().any())
    if is_rated:
        rating = pl.col("score").clip(0, max_rating).round().cast(pl.Int8).cast(pl.String).first()
        result |= {
            RATING: _join_signs(items, run.robust.group_by("item_id").agg(sign=rating)),
            "max_rating": max_rating,
        }
    run_items = items.filter(pl.col("item_id").is_in(run.robust["item_id"].implode()))
    scoring = load_scores(benchmark).SCORES[form]
    extractions: tuple[tuple[Convention, pl.DataFrame], ...] = (("fixed", run.robust), ("authors", run.authors))
    for convention, verdicts in extractions:
        outcomes = scoring.compute_outcomes(RunAnswers(items, verdicts, convention))
        if is_rated:  # The ratings replace the metrics of single items.
            outcomes = {}
        sample_columns = {metric: _find_sample_column(items, frame) for metric, frame in outcomes.items()}
        result[convention] = {
            metric: _compute_item_signs(metric, items, run_items, sample_columns[metric], frame)
            for metric, frame in outcomes.items()
        }
        result["samples"] = sample_columns
    result["authors"] = {
        metric: signs for metric, signs in result["authors"].items() if result["fixed"].get(metric) != signs
    }
    questions = scoring.compute_questions(RunAnswers(items, run.robust)) if scoring.compute_questions else None
    result["question_metric"] = RATING if is_rated else questions.metric if questions else ""
    if questions and set(result["samples"].values()) - {"item_id", None}:
        result |= _compute_item_right(items, questions.rows)
    verdict_pairs = run.robust.join(run.authors, on=["item_id", "role"], suffix="_authors")
    differs = pl.when((pl.col("value") != pl.col("value_authors")).any()).then(pl.lit("1")).otherwise(pl.lit("0"))
    return result | {"extractors_differ": _join_signs(items, verdict_pairs.group_by("item_id").agg(sign=differs))}


def list_metrics(columns: dict[str, Any]) -> list[str]:
    """Return the metrics for which a run has a column."""
    return sorted({*columns["fixed"], *columns["authors"]})


def summarize(columns: dict[str, Any], responses: pl.DataFrame, groups: Iterable[str]) -> RunSummary:
    """Count the items of a run by state, and its failed answers by reason."""
    counts = {sign: columns["state"].count(sign) for sign in "afum"}
    failed = responses.filter(pl.col("error").is_in(list(FAILURE_REASONS)))
    reasons = failed.group_by("error", maintain_order=True).agg(pl.len(), pl.col("message").first())
    rows = reasons.sort(["len", "error"], descending=[True, False]).iter_rows()
    failures = [
        {"reason": reason, "answers": count, "message": redact_paths(display_text(text))[:300]}
        for reason, count, text in rows
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
        sample_nouns={
            metric: SAMPLE_NOUNS[column]
            for metric, column in columns.get("samples", {}).items()
            if column in SAMPLE_NOUNS
        },
    )


def get_item_signs(columns: Mapping[str, Any], metric: str) -> str:
    """Return a metric's sign for each item by the item's own answers, also if the metric counts pairs or videos."""
    if metric == RATING:
        return str(columns[RATING])
    signs = str(columns["fixed"][metric])
    if columns["samples"][metric] == "item_id" or "item_right" not in columns:
        return signs
    pairs = zip(signs, columns["item_right"], strict=True)
    return "".join(NO_SIGN if sign == NO_SIGN else item_sign for sign, item_sign in pairs)


def _compute_item_right(items: pl.DataFrame, questions: pl.DataFrame) -> dict[str, str]:
    """Return the column `item_right`, unless the questions belong to several items, as comparisons of videos do.

    The ids of questions are those of items or requests.
    """
    item_id = pl.when(pl.col("item_id").is_in(items["item_id"].implode())).then("item_id")
    rows = questions.with_columns(item_id.otherwise(pl.col("item_id").str.replace("#[^#]*$", "")).alias("item_id"))
    rows = rows.filter(pl.col("item_id").is_in(items["item_id"].implode()))
    if rows.is_empty():
        return {}
    is_right = (pl.col("right").cast(pl.Float64) >= 1).all()
    sign = pl.when(is_right).then(pl.lit("1")).otherwise(pl.lit("0"))
    return {"item_right": _join_signs(items, rows.group_by("item_id").agg(sign=sign))}


def _find_sample_column(items: pl.DataFrame, outcomes: pl.DataFrame) -> str | None:
    """Return the column of the items that identifies a metric's samples."""
    return next((name for name in SAMPLE_COLUMNS if outcomes["item_id"].is_in(items[name].implode()).all()), None)


def _compute_item_signs(
    metric: str, items: pl.DataFrame, run_items: pl.DataFrame, sample_column: str | None, outcomes: pl.DataFrame
) -> str:
    """Return a metric's sign for each item: the outcome of the sample to which the item belongs.

    If the metric has the name of a task, such as a pair's text score, it applies only to the items of this task.
    """
    if sample_column is None or outcomes.is_empty():
        return NO_SIGN * items.height
    applicable = run_items.filter(pl.col("task") == metric) if metric in items["task"] else run_items
    outcome_sign = pl.when(pl.col("right").cast(pl.Float64) >= 1).then(pl.lit("1")).otherwise(pl.lit("0"))
    signs = outcomes.select(pl.col("item_id").alias(sample_column), sign=outcome_sign)
    results = applicable.select(*dict.fromkeys(("item_id", sample_column))).join(signs, on=sample_column, how="inner")
    return _join_signs(items, results.select("item_id", "sign"))


def _join_signs(items: pl.DataFrame, signs: pl.DataFrame) -> str:
    """Return a text with one sign for each item, `-` for items without a sign."""
    joined = items.select("item_id").join(signs.unique("item_id"), on="item_id", how="left", maintain_order="left")
    return "".join(joined["sign"].fill_null(NO_SIGN))
