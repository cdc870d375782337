"""Ratings of models' answers: which answers people rate, and the mean of several raters."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reprise.benchmarks.human_ratings import RATED
from reprise.benchmarks.rows import items_of
from reprise.construction.filters import shuffled
from reprise.construction.review import Task, Votes
from reprise.core.errors import UserError
from reprise.reading.ratings import SCALES

READER = "robust"  # whose reading of a model's reply people see, which is what tables show


def rating_requests(
    items: pl.DataFrame, answers: Mapping[str, pl.DataFrame], questions: int, seed: int
) -> list[dict[str, Any]]:
    """A request a person for each answer, by run, to the questions that are drawn of those that all runs were asked.

    An answer that failed or could not be read is not shown: there is nothing to rate.
    """
    asked = set.intersection(*(set(table.filter(reader=READER)["item_id"]) for table in answers.values()))
    drawn = set(shuffled(asked, seed)[:questions])
    chosen = items_of(items.filter(pl.col("item_id").is_in(drawn)))
    rows = []
    for run, table in answers.items():
        given = table.filter(reader=READER, error="")
        answered = {row["item_id"]: row for row in given.iter_rows(named=True)}
        if not {tuple(row["replies"]) for row in answered.values()} <= set(SCALES.values()):
            raise UserError(f"{run}: its answers choose an option. Name runs of a protocol whose answers are rated.")
        for item in (item for item in chosen if item.item_id in answered):
            shown = {
                "Question": item.texts["question"],
                "Groundtruth answer": item.answer,
                "Candidate answer": answered[item.item_id]["text"],
            }
            rows.append({
                "request_id": f"{item.item_id}#{run}", "item_id": item.item_id, "clip_id": item.clip_id, "role": run,
                "ask": "choose", "system": "", "prompt": "\n".join(f"{what}: {text}" for what, text in shown.items()),
                "options": list(answered[item.item_id]["replies"]), "option_texts": [], "expected": "", "max_tokens": 1,
            })  # fmt: skip
    return rows


def rated(requests: pl.DataFrame, tasks: Sequence[Task], votes: Votes, workers: int) -> tuple[pl.DataFrame, list[str]]:
    """The means of the answers that enough people rated, in the shape of all human ratings; and what waits for more."""
    rows, waiting = [], []
    for task, request in zip(tasks, requests.iter_rows(named=True), strict=True):
        given = votes.by_task.get(task.task_id, {})
        if len(given) < workers:
            waiting.append(request["request_id"])
        else:
            rows.append((request["role"], request["item_id"], sum(map(int, given.values())) / len(given)))
    return pl.DataFrame(rows, schema=RATED, orient="row"), waiting
