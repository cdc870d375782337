"""Ratings of models' answers: which answers people rate, and the mean of several raters."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.human_ratings import RATED, Rated
from reprise.benchmarks.rows import Item, items_of
from reprise.construction.draws import shuffled
from reprise.construction.review import Task, Votes
from reprise.core.errors import UserError
from reprise.reading.ratings import SCALES

READER = "robust"
"""whose reading of a model's reply people see, which is what tables show"""


def rating_requests(
    items: pl.DataFrame, answers: Mapping[str, pl.DataFrame], questions: int, seed: int
) -> list[dict[str, Any]]:
    """A request a person for each answer, by run, to the questions that are drawn of those that all runs were asked.

    An answer that failed or could not be read is not shown: there is nothing to rate.
    """
    given = {run: dict(_given(run, table)) for run, table in answers.items()}
    asked = set.intersection(*(set(table.filter(reader=READER)["item_id"]) for table in answers.values()))
    drawn = set(shuffled(sorted(asked), seed)[:questions])
    chosen = items_of(items.filter(pl.col("item_id").is_in(drawn)))
    return [
        _request(item, run, given_answer)
        for run, found in given.items()
        for item in chosen
        if (given_answer := found.get(item.item_id)) is not None
    ]


class Given(NamedTuple):
    """An answer that people rate, and the ratings that they may give."""

    text: str
    scale: tuple[str, ...]


def _given(run: str, answers: pl.DataFrame) -> Iterator[tuple[str, Given]]:
    for row in answers.filter(reader=READER, error="").iter_rows(named=True):
        scale = tuple(row["replies"])
        if scale not in SCALES.values():
            raise UserError(f"{run}: its answers choose an option. Name runs of a protocol whose answers are rated.")
        yield row["item_id"], Given(row["text"], scale)


def _request(item: Item, run: str, answer: Given) -> dict[str, Any]:
    shown = {"Question": item.texts["question"], "Groundtruth answer": item.answer, "Candidate answer": answer.text}
    return {
        "request_id": f"{item.item_id}#{run}",
        "item_id": item.item_id,
        "clip_id": item.clip_id,
        "role": run,
        "ask": "choose",
        "system": "",
        "prompt": "\n".join(f"{what}: {text}" for what, text in shown.items()),
        "options": list(answer.scale),
        "option_texts": [],
        "expected": "",
        "max_tokens": 1,
    }


def mean_of(given: Mapping[str, str], workers: int) -> float | None:
    """The mean of an answer's ratings by people; none before enough of them have rated it."""
    return sum(map(int, given.values())) / len(given) if len(given) >= workers else None


def rated(requests: pl.DataFrame, tasks: Sequence[Task], votes: Votes, workers: int) -> pl.DataFrame:
    """The answers that enough people rated, in the shape of all human ratings."""
    rows: list[Rated] = []
    for task, (run, item) in zip(tasks, requests.select("role", "item_id").iter_rows(), strict=True):
        mean = mean_of(votes.by_task.get(task.task_id, {}), workers)
        if mean is not None:
            rows.append(Rated(run, item, mean))
    return pl.DataFrame(rows, schema=RATED, orient="row")


def waiting(requests: pl.DataFrame, tasks: Sequence[Task], votes: Votes, workers: int) -> list[str]:
    """The answers that wait for more people."""
    return [
        name
        for task, name in zip(tasks, requests["request_id"], strict=True)
        if len(votes.by_task.get(task.task_id, {})) < workers
    ]
