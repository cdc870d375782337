"""Stage `metrics`: a run's numbers, by both conventions, with what was asked, failed, unread and missing."""

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
# A convention and the reader that goes with it: what tables show, and what is compared with published numbers.
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
        items = of_answered_tasks(items, read_table(robust, VERDICTS))
    named = {"run": run_settings.run, "judge": next(iter(judge), None), "key": run_settings.key}
    scores = load_scores(settings.benchmark)
    found: list[tuple[Measure, dict[str, Any]]] = []
    readings: list[pl.DataFrame] = []
    for convention, reader in CONVENTIONS:
        read = read_of_key({"robust": robust, "authors": authors}[reader], VERDICTS, run_settings.key)
        readings.append(read)
        measures = measured(scores, settings.form, items, read, settings.level, convention)
        for path in ratings:
            run, level, highest = run_settings.run, settings.level, settings.rated_to
            given, is_part = read_ratings(path, run, highest), settings.is_part
            measures += agreement(read, items, given, run, level, convention, highest, is_part=is_part)
        found += [(one, named | {"convention": convention, "reader": reader}) for one in measures]
    names = named | dict(zip(("convention", "reader"), CONVENTIONS[0], strict=True))
    unjudged, (read, *_) = names | {"judge": None}, readings
    of_answers = None if replies else read  # verdicts on judged answers tell what the judge's replies are
    counts: list[tuple[Iterable[dict[str, Any]], dict[str, Any]]] = [
        (flaw_numbers(items), names),
        ([readers_differ(*readings)], names),
        (failed_answers([responses], "answers"), unjudged),
        (failed_answers(replies, "replies"), names),
        (health_numbers([requests], [responses], of_answers, ANSWERS), unjudged),
        (read_by(read), names),
        (health_numbers(judge_requests, replies, read, REPLIES), names),
    ]
    rows = [number | own for numbers, own in counts for number in numbers]
    rows += [row_of(one, scores.CHANCE.get(one.metric)) | own for one, own in found]
    frame = pl.DataFrame(rows, schema=METRICS)
    write_table(frame, metrics, METRICS)
    log.info(f"{frame.height} numbers")


def analysed_items(benchmark: str, path: Path, facts: Sequence[Path]) -> pl.DataFrame:
    """All items, without their texts, in the groups of the release and of the benchmark's analyses."""
    analyses = load_analyses(benchmark)
    if analyses is None:
        return read_table(path, ITEMS, without=("texts",))
    measured = pl.concat(read_table(one, FACTS) for one in facts) if facts else None
    return with_analysed_groups(read_table(path, ITEMS), measured, analyses)


def of_answered_tasks(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """The items of tasks with any verdict: imported answers miss no clip, so that the other tasks were not asked."""
    tasks = items.join(verdicts, on="item_id", how="semi")["task"].unique()
    return items.filter(pl.col("task").is_in(tasks.to_list()))


def readers_differ(robust: pl.DataFrame, authors: pl.DataFrame) -> dict[str, Any]:
    both = robust.join(authors, on="request_id", suffix="_authors")
    differing = both.filter(pl.col("value") != pl.col("value_authors")).height
    counts = {"asked": both.height, "scored": both.height} | dict.fromkeys(("failed", "unparsed", "missing"), 0)
    return {"metric": READERS_DIFFER, "group": "answers", "value": float(differing), **counts}


def failed_answers(responses: Sequence[Path], group: str) -> Iterator[dict[str, Any]]:
    """How many answers of a model failed and why; no number where none did, or where they were made elsewhere."""
    for path in responses:
        read = read_table(path, RESPONSES, without=RESPONSES.keys() - {"error", "message"})
        failed = read.filter(pl.col("error").is_in(list(REASONS)))
        if failed.is_empty():
            continue
        reasons = Counter(failed["error"]).most_common()
        counts = {"asked": read.height, "failed": failed.height, "scored": read.height - failed.height}
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
    for asked, given in zip(requests, responses, strict=True):
        questions = read_table(asked, REQUESTS, without=("system", "prompt", "option_texts"))
        yield from health(questions, read_table(given, RESPONSES, without=("message", "key")), verdicts, group)


def measured(
    scores: ScoresModule,
    form: str,
    items: pl.DataFrame,
    verdicts: pl.DataFrame,
    level: float,
    convention: Convention,
) -> list[Measure]:
    """Every metric of a form by one convention; `missing` counts a group's items that were never asked."""
    # Clusters as numbers in the order of their names: sorted once, not for every metric.
    numbered = items.with_columns(pl.col("unit").rank("dense"))
    found = scores.SCORES[form].measure(Answered(numbered, verdicts, convention), level)
    missing = items.join(verdicts, on="item_id", how="anti")
    groups = {one.group for one in found if one.missing is None}
    missing_of = {group: in_group(missing, group, scores.GROUPS).height for group in groups}
    return [one if one.missing is not None else replace(one, missing=missing_of[one.group]) for one in found]


def row_of(one: Measure, chance: float | None) -> dict[str, Any]:
    names = ("metric", "group", "value", "low", "high", "asked", "scored", "failed", "unparsed", "missing")
    numbers = {name: getattr(one, name) for name in names}
    return numbers if chance is None else numbers | {"p_chance": one.p_above(chance / 100)}
