"""Stage `metrics`: compute a run's metrics by both conventions, with counts of requests, failures and missing clips."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.health import ANSWERS, REPLIES, health, read_by
from reprise.benchmarks.human_ratings import agreement, read_ratings
from reprise.benchmarks.keys import MetricsKey
from reprise.benchmarks.registry import ScoresModule, load_analyses, load_scores
from reprise.benchmarks.rows import chosen_items, flaw_numbers
from reprise.benchmarks.scoring import Answered, Convention, in_group, with_analysed_groups
from reprise.core.log import log
from reprise.core.schemas import (
    FACTS,
    FAILED_ANSWERS,
    ITEMS,
    METRICS,
    READERS_DIFFER,
    REQUESTS,
    RESPONSES,
    VERDICTS,
    read_of_key,
    read_table,
    write_table,
)
from reprise.models.asking.reasons import REASONS
from reprise.models.keys import RunKey
from reprise.stages.command import In, Out
from reprise.stats.measures import Measure

IMPORTED = "import"
# Each convention with its reader: the first is shown in tables, the second is compared with published numbers.
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
    facts: In[list[Path]],
    metrics: Out[Path],
) -> None:
    items = chosen_items(analysed_items(settings.benchmark, item_table, facts), settings.items)
    if run_settings.answers.adapter == IMPORTED:
        items = items_of_answered_tasks(items, read_table(robust, VERDICTS))
    labels = {"run": run_settings.run, "judge": next(iter(judge), None), "key": run_settings.key}
    scores = load_scores(settings.benchmark)
    labelled_measures: list[tuple[Measure, dict[str, Any]]] = []
    verdicts_of_readers: list[pl.DataFrame] = []
    for convention, reader in CONVENTIONS:
        verdicts = read_of_key({"robust": robust, "authors": authors}[reader], VERDICTS, run_settings.key)
        verdicts_of_readers.append(verdicts)
        measures = measured(scores, settings.form, items, verdicts, settings.level, convention)
        for path in ratings:
            run, level, highest = run_settings.run, settings.level, settings.rated_to
            human_ratings, is_part = read_ratings(path, run, highest), settings.is_part
            measures += agreement(verdicts, items, human_ratings, run, level, convention, highest, is_part=is_part)
        labelled_measures += [(measure, labels | {"convention": convention, "reader": reader}) for measure in measures]
    fixed_labels = labels | dict(zip(("convention", "reader"), CONVENTIONS[0], strict=True))
    response_labels, (verdicts, *_) = fixed_labels | {"judge": None}, verdicts_of_readers
    answer_verdicts = None if replies else verdicts  # Verdicts on judged answers describe the judge's replies.
    counts: list[tuple[Iterable[dict[str, Any]], dict[str, Any]]] = [
        (flaw_numbers(items), fixed_labels),
        ([readers_differ(*verdicts_of_readers)], fixed_labels),
        (failed_answers([responses], "answers"), response_labels),
        (failed_answers(replies, "replies"), fixed_labels),
        (health_numbers([requests], [responses], answer_verdicts, ANSWERS), response_labels),
        (read_by(verdicts), fixed_labels),
        (health_numbers(judge_requests, replies, verdicts, REPLIES), fixed_labels),
    ]
    rows = [number | group_labels for numbers, group_labels in counts for number in numbers]
    rows += [
        row_of(measure, scores.CHANCE.get(measure.metric)) | group_labels for measure, group_labels in labelled_measures
    ]
    frame = pl.DataFrame(rows, schema=METRICS)
    write_table(frame, metrics, METRICS)
    log.info(f"{frame.height} numbers")


def analysed_items(benchmark: str, path: Path, facts: Sequence[Path]) -> pl.DataFrame:
    """Return all items without their texts, in the groups of the release and of the benchmark's analyses."""
    analyses = load_analyses(benchmark)
    if analyses is None:
        return read_table(path, ITEMS, without=("texts",))
    metadata = pl.concat(read_table(facts_path, FACTS) for facts_path in facts) if facts else None
    return with_analysed_groups(read_table(path, ITEMS), metadata, analyses)


def items_of_answered_tasks(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the items of tasks with any verdict; imported predictions miss no clip, so other tasks had no requests."""
    tasks = items.join(verdicts, on="item_id", how="semi")["task"].unique()
    return items.filter(pl.col("task").is_in(tasks.to_list()))


def readers_differ(robust: pl.DataFrame, authors: pl.DataFrame) -> dict[str, Any]:
    both = robust.join(authors, on="request_id", suffix="_authors")
    differing = both.filter(pl.col("value") != pl.col("value_authors")).height
    counts = {"asked": both.height, "scored": both.height} | dict.fromkeys(("failed", "unparsed", "missing"), 0)
    return {"metric": READERS_DIFFER, "group": "answers", "value": float(differing), **counts}


def failed_answers(responses: Sequence[Path], group: str) -> Iterator[dict[str, Any]]:
    """Yield how many answers of a model failed and why; nothing if none failed, or if they are imported."""
    for path in responses:
        answers = read_table(path, RESPONSES, without=RESPONSES.keys() - {"error", "message"})
        failed = answers.filter(pl.col("error").is_in(list(REASONS)))
        if failed.is_empty():
            continue
        reasons = Counter(failed["error"]).most_common()
        counts = {"asked": answers.height, "failed": failed.height, "scored": answers.height - failed.height}
        yield {
            "metric": FAILED_ANSWERS,
            "group": group,
            "value": float(failed.height),
            "note": ", ".join(f"{count} {reason}" for reason, count in reasons)
            + f", such as: {failed.filter(error=reasons[0][0])['message'][0]}",
            **counts,
            **dict.fromkeys(("unparsed", "missing"), 0),
        }


def health_numbers(
    requests: Sequence[Path], responses: Sequence[Path], verdicts: pl.DataFrame | None, group: str
) -> Iterator[dict[str, Any]]:
    for request_path, response_path in zip(requests, responses, strict=True):
        request_table = read_table(request_path, REQUESTS, without=("system", "prompt", "option_texts"))
        yield from health(
            request_table, read_table(response_path, RESPONSES, without=("message", "key")), verdicts, group
        )


def measured(
    scores: ScoresModule,
    form: str,
    items: pl.DataFrame,
    verdicts: pl.DataFrame,
    level: float,
    convention: Convention,
) -> list[Measure]:
    """Return every metric of a form by one convention; `missing` counts the items of a group without a request."""
    # Rank the clusters by name once, so that no metric has to sort them.
    numbered = items.with_columns(pl.col("unit").rank("dense"))
    measures = scores.SCORES[form].measure(Answered(numbered, verdicts, convention), level)
    missing = items.join(verdicts, on="item_id", how="anti")
    groups = {measure.group for measure in measures if measure.missing is None}
    missing_of = {group: in_group(missing, group, scores.GROUPS).height for group in groups}
    return [
        measure if measure.missing is not None else replace(measure, missing=missing_of[measure.group])
        for measure in measures
    ]


def row_of(measure: Measure, chance: float | None) -> dict[str, Any]:
    names = ("metric", "group", "value", "low", "high", "asked", "scored", "failed", "unparsed", "missing")
    numbers = {name: getattr(measure, name) for name in names}
    return numbers if chance is None else numbers | {"p_chance": measure.p_above(chance / 100)}
