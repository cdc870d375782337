"""Stage `metrics`: compute a run's metrics by both conventions, with counts of requests, failures and missing clips."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.annotations import flaw_metric_rows, select_items
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
    read_table_of_key,
    write_table,
)
from reprise.models.inference.reasons import FAILURE_REASONS
from reprise.models.keys import RunKey
from reprise.stages.command import In, Out
from reprise.stats.measures import Measure

IMPORTED = "import"
# Each convention with its extractor: the first is shown in tables, the second is compared with published numbers.
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
    labelled_measures: list[tuple[Measure, dict[str, Any]]] = []
    verdicts_by_convention: list[pl.DataFrame] = []
    for convention, extractor in CONVENTIONS:
        verdicts = read_table_of_key({"robust": robust, "authors": authors}[extractor], VERDICTS, run_settings.key)
        verdicts_by_convention.append(verdicts)
        measures = compute_metrics(scores, settings.form, items, verdicts, settings.level, convention)
        for path in ratings:
            run, level, highest = run_settings.run, settings.level, settings.rated_to
            human_ratings = read_ratings(path, run, highest)
            measures += measure_judge_error(
                verdicts, items, human_ratings, run, level, convention, highest, is_sample=settings.is_sample
            )
        labelled_measures += [
            (measure, labels | {"convention": convention, "extractor": extractor}) for measure in measures
        ]
    fixed_labels = labels | dict(zip(("convention", "extractor"), CONVENTIONS[0], strict=True))
    response_labels, (verdicts, *_) = fixed_labels | {"judge": None}, verdicts_by_convention
    answer_verdicts = None if replies else verdicts  # Verdicts on judged answers describe the judge's replies.
    counts: list[tuple[Iterable[dict[str, Any]], dict[str, Any]]] = [
        (flaw_metric_rows(items), fixed_labels),
        ([count_extractor_differences(*verdicts_by_convention)], fixed_labels),
        (count_failed_answers([responses], "answers"), response_labels),
        (count_failed_answers(replies, "replies"), fixed_labels),
        (compute_health([requests], [responses], answer_verdicts, ANSWERS), response_labels),
        (compute_extractor_shares(verdicts), fixed_labels),
        (compute_health(judge_requests, replies, verdicts, REPLIES), fixed_labels),
    ]
    form_chances = scores.SCORES[settings.form].chance
    rows = [number | group_labels for numbers, group_labels in counts for number in numbers]
    rows += [
        make_metric_row(measure, form_chances.get(measure.metric, scores.CHANCE.get(measure.metric))) | group_labels
        for measure, group_labels in labelled_measures
    ]
    frame = pl.DataFrame(rows, schema=METRICS)
    write_table(frame, metrics, METRICS)
    log.info(f"{frame.height} numbers")


def read_analysed_items(benchmark: str, path: Path, clip_metadata: Sequence[Path]) -> pl.DataFrame:
    """Return all items without their texts, in the groups of the release and of the benchmark's analyses."""
    analyses = load_analyses(benchmark)
    if analyses is None:
        return read_table(path, ITEMS, without=("texts",))
    metadata = (
        pl.concat(read_table(metadata_path, CLIP_METADATA) for metadata_path in clip_metadata)
        if clip_metadata
        else None
    )
    return add_analysis_groups(read_table(path, ITEMS), metadata, analyses)


def filter_answered_tasks(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the items of tasks with any verdict; imported predictions miss no clip, so other tasks had no requests."""
    tasks = items.join(verdicts, on="item_id", how="semi")["task"].unique()
    return items.filter(pl.col("task").is_in(tasks.to_list()))


def count_extractor_differences(robust: pl.DataFrame, authors: pl.DataFrame) -> dict[str, Any]:
    both = robust.join(authors, on="request_id", suffix="_authors")
    differing = both.filter(pl.col("value") != pl.col("value_authors")).height
    counts = {"requested": both.height, "scored": both.height} | dict.fromkeys(("failed", "unparsed", "missing"), 0)
    return {"metric": EXTRACTORS_DIFFER, "group": "answers", "value": float(differing), **counts}


def count_failed_answers(responses: Sequence[Path], group: str) -> Iterator[dict[str, Any]]:
    """Yield how many answers of a model failed and why; nothing if none failed, or if they are imported."""
    for path in responses:
        answers = read_table(path, RESPONSES, without=RESPONSES.keys() - {"error", "message"})
        failed = answers.filter(pl.col("error").is_in(list(FAILURE_REASONS)))
        if failed.is_empty():
            continue
        reasons = Counter(failed["error"]).most_common()
        counts = {"requested": answers.height, "failed": failed.height, "scored": answers.height - failed.height}
        yield {
            "metric": FAILED_ANSWERS,
            "group": group,
            "value": float(failed.height),
            "note": ", ".join(f"{count} {reason}" for reason, count in reasons)
            + f", such as: {failed.filter(error=reasons[0][0])['message'][0]}",
            **counts,
            **dict.fromkeys(("unparsed", "missing"), 0),
        }


def compute_health(
    requests: Sequence[Path], responses: Sequence[Path], verdicts: pl.DataFrame | None, group: str
) -> Iterator[dict[str, Any]]:
    for request_path, response_path in zip(requests, responses, strict=True):
        request_table = read_table(request_path, REQUESTS, without=("system", "prompt", "option_texts"))
        yield from compute_health_metrics(
            request_table, read_table(response_path, RESPONSES, without=("message", "key")), verdicts, group
        )


def compute_metrics(
    scores: ScoresModule,
    form: str,
    items: pl.DataFrame,
    verdicts: pl.DataFrame,
    level: float,
    convention: Convention,
) -> list[Measure]:
    """Return every metric of a form by one convention; `missing` counts the items of a group without a request."""
    # Rank the clusters by name once, so that no metric has to sort them.
    numbered = items.with_columns(pl.col("cluster").rank("dense"))
    measures = scores.SCORES[form].compute_measures(RunAnswers(numbered, verdicts, convention), level)
    missing = items.join(verdicts, on="item_id", how="anti")
    groups = {measure.group for measure in measures if measure.missing is None}
    missing_by_group = {group: filter_group(missing, group, scores.GROUPS).height for group in groups}
    return [
        measure if measure.missing is not None else replace(measure, missing=missing_by_group[measure.group])
        for measure in measures
    ]


def make_metric_row(measure: Measure, chance: float | None) -> dict[str, Any]:
    names = ("metric", "group", "value", "low", "high", "requested", "scored", "failed", "unparsed", "missing")
    numbers = {name: getattr(measure, name) for name in names}
    return numbers if chance is None else numbers | {"p_chance": measure.p_above(chance / 100)}
