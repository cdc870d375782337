"""Stage `metrics`: compute a run's metrics under both conventions, with counts of failed and missing answers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.annotations import build_flaw_metric_rows, select_items
from reprise.benchmarks.health import ANSWERS, REPLIES, compute_extractor_shares, compute_health_metrics
from reprise.benchmarks.human_ratings import measure_judge_error, read_ratings
from reprise.benchmarks.keys import MetricsKey
from reprise.benchmarks.registry import ScoresModule, load_analyses, load_scores
from reprise.benchmarks.scoring import Convention, RunAnswers, add_analysis_groups, filter_group
from reprise.core.log import log
from reprise.core.schemas import (
    CLIP_METADATA,
    EXTRACTORS_DIFFER,
    FAILED_ANSWERS,
    ITEMS,
    METRICS,
    REQUESTS,
    RESPONSES,
    VERDICTS,
    read_table,
    read_table_with_key,
    write_table,
)
from reprise.models.inference.reasons import FAILURE_REASONS
from reprise.models.keys import RunKey
from reprise.stages.command import In, Out
from reprise.stats.measures import Measure

IMPORTED = "import"  # adapter of runs with imported predictions
# Each convention with its extractor. Tables show the first; the second is for comparison with published numbers.
CONVENTIONS: tuple[tuple[Convention, str], ...] = (("fixed", "robust"), ("authors", "authors"))


def main(
    settings: MetricsKey,
    run_settings: RunKey,
    judge: list[str],
    item_table: In[Path],
    robust: In[Path],
    authors: In[Path],
    ratings: In[list[Path]],
    requests: In[Path],
    responses: In[Path],
    judge_requests: In[list[Path]],
    replies: In[list[Path]],
    clip_metadata: In[list[Path]],
    metrics: Out[Path],
) -> None:
    items = select_items(read_analysed_items(settings.benchmark, item_table, clip_metadata), settings.items)
    if run_settings.answers.adapter == IMPORTED:
        items = filter_answered_tasks(items, read_table(robust, VERDICTS))
    labels = {"run": run_settings.run, "judge": next(iter(judge), None), "key": run_settings.key}
    scores = load_scores(settings.benchmark)
    # Each measure, and each group of metric rows below, has labels: the columns that all its rows share.
    labelled_measures: list[tuple[Measure, dict[str, Any]]] = []
    verdicts_by_convention: list[pl.DataFrame] = []
    for convention, extractor in CONVENTIONS:
        verdicts = read_table_with_key({"robust": robust, "authors": authors}[extractor], VERDICTS, run_settings.key)
        verdicts_by_convention.append(verdicts)
        measures = compute_metrics(scores, settings.form, items, verdicts, settings.level, convention)
        for path in ratings:
            run, level, max_rating = run_settings.run, settings.level, settings.max_rating
            human_ratings = read_ratings(path, run, max_rating)
            measures += measure_judge_error(
                verdicts, items, human_ratings, run, level, convention, max_rating, is_sample=settings.is_sample
            )
        labelled_measures += [
            (measure, labels | {"convention": convention, "extractor": extractor}) for measure in measures
        ]
    fixed_convention, robust_extractor = CONVENTIONS[0]
    fixed_labels = labels | {"convention": fixed_convention, "extractor": robust_extractor}
    response_labels = fixed_labels | {"judge": None}  # Counts of the model's responses do not depend on the judge.
    verdicts = verdicts_by_convention[0]
    answer_verdicts = None if replies else verdicts  # With a judge, verdicts describe the judge's replies.
    labelled_rows: list[tuple[Iterable[dict[str, Any]], dict[str, Any]]] = [
        (build_flaw_metric_rows(items), fixed_labels),
        ([count_extractor_differences(*verdicts_by_convention)], fixed_labels),
        (count_failed_answers([responses], "answers"), response_labels),
        (count_failed_answers(replies, "replies"), fixed_labels),
        (compute_health([requests], [responses], answer_verdicts, ANSWERS), response_labels),
        (compute_extractor_shares(verdicts), fixed_labels),
        (compute_health(judge_requests, replies, verdicts, REPLIES), fixed_labels),
    ]
    form_chances = scores.SCORES[settings.form].chance
    rows = [metric_row | row_labels for metric_rows, row_labels in labelled_rows for metric_row in metric_rows]
    rows += [
        build_metric_row(measure, form_chances.get(measure.metric, scores.CHANCE.get(measure.metric))) | row_labels
        for measure, row_labels in labelled_measures
    ]
    metric_table = pl.DataFrame(rows, schema=METRICS)
    write_table(metric_table, metrics, METRICS)
    log.info(f"{metric_table.height} numbers")


def read_analysed_items(benchmark: str, path: Path, clip_metadata: Sequence[Path]) -> pl.DataFrame:
    """Return all items without their texts, in the groups of the release and of the benchmark's analyses."""
    analyses = load_analyses(benchmark)
    if analyses is None:
        return read_table(path, ITEMS, skipped_columns=("texts",))
    metadata = (
        pl.concat(read_table(metadata_path, CLIP_METADATA) for metadata_path in clip_metadata)
        if clip_metadata
        else None
    )
    return add_analysis_groups(read_table(path, ITEMS), metadata, analyses)


def filter_answered_tasks(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the items of tasks that have verdicts; the imported predictions do not cover the other tasks."""
    tasks = items.join(verdicts, on="item_id", how="semi")["task"].unique()
    return items.filter(pl.col("task").is_in(tasks.to_list()))


def count_extractor_differences(robust: pl.DataFrame, authors: pl.DataFrame) -> dict[str, Any]:
    """Return a metric row with the number of answers from which the two extractors extract different options."""
    joined = robust.join(authors, on="request_id", suffix="_authors")
    difference_count = joined.filter(pl.col("value") != pl.col("value_authors")).height
    counts = {"requested": joined.height, "scored": joined.height} | dict.fromkeys(("failed", "unparsed", "missing"), 0)
    return {"metric": EXTRACTORS_DIFFER, "group": "answers", "value": float(difference_count), **counts}


def count_failed_answers(responses: Sequence[Path], group: str) -> Iterator[dict[str, Any]]:
    """Yield a metric row with the number and the reasons of failed responses, for each table that has some."""
    for path in responses:
        answers = read_table(path, RESPONSES, skipped_columns=RESPONSES.keys() - {"error", "message"})
        failed_answers = answers.filter(pl.col("error").is_in(list(FAILURE_REASONS)))
        if failed_answers.is_empty():
            continue
        reasons = Counter(failed_answers["error"]).most_common()
        counts = {
            "requested": answers.height,
            "failed": failed_answers.height,
            "scored": answers.height - failed_answers.height,
        }
        yield {
            "metric": FAILED_ANSWERS,
            "group": group,
            "value": float(failed_answers.height),
            "note": ", ".join(f"{count} {reason}" for reason, count in reasons)
            + f", such as: {failed_answers.filter(error=reasons[0][0])['message'][0]}",
            **counts,
            **dict.fromkeys(("unparsed", "missing"), 0),
        }


def compute_health(
    requests: Sequence[Path], responses: Sequence[Path], verdicts: pl.DataFrame | None, group: str
) -> Iterator[dict[str, Any]]:
    """Yield the health metrics of a run's answers or of a judge's replies, which `group` names."""
    for request_path, response_path in zip(requests, responses, strict=True):
        request_table = read_table(request_path, REQUESTS, skipped_columns=("system", "prompt", "option_texts"))
        yield from compute_health_metrics(
            request_table, read_table(response_path, RESPONSES, skipped_columns=("message", "key")), verdicts, group
        )


def compute_metrics(
    scores: ScoresModule,
    form: str,
    items: pl.DataFrame,
    verdicts: pl.DataFrame,
    level: float,
    convention: Convention,
) -> list[Measure]:
    """Return every metric of a form under one convention; `missing` counts a group's items without a request."""
    # Numbers replace the names of clusters, because every metric sorts the clusters.
    ranked_items = items.with_columns(pl.col("cluster").rank("dense"))
    measures = scores.SCORES[form].compute_measures(RunAnswers(ranked_items, verdicts, convention), level)
    missing_items = items.join(verdicts, on="item_id", how="anti")
    groups = {measure.group for measure in measures if measure.missing is None}
    missing_by_group = {group: filter_group(missing_items, group, scores.GROUPS).height for group in groups}
    return [
        measure if measure.missing is not None else replace(measure, missing=missing_by_group[measure.group])
        for measure in measures
    ]


def build_metric_row(measure: Measure, chance: float | None) -> dict[str, Any]:
    """Return a measure as a metric row, with its p-value against the chance level in percent if there is one."""
    names = ("metric", "group", "value", "low", "high", "requested", "scored", "failed", "unparsed", "missing")
    numbers = {name: getattr(measure, name) for name in names}
    return numbers if chance is None else numbers | {"p_chance": measure.p_above(chance / 100)}
