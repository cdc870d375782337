"""Numbers of people's ratings: what the paper states beside ours, their agreement, each person by a number."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from reprise.construction.review import Task
from reprise.people.answers import Counted
from reprise.people.rating import rated, waiting
from reprise.people.settings import RatingDesign
from reprise.people.statistics import ALL_COUNT, Number, agreement, people_lines

# MMBench-Video, 4.4: two of the authors, 100 questions, two models.
PAPER: Mapping[str, Mapping[str, float]] = {
    "mmbench_video": {"questions": 100, "answers to rate": 200, "people": 2, "ratings an answer": 2},
}
RATER_COLUMNS = ("worker", "counts", "qualification_right", "answers", "mean")


def rating_numbers(
    benchmark: str, requests: pl.DataFrame, tasks: Sequence[Task], counted: Counted, design: RatingDesign
) -> list[Number]:
    """What was put to people, who rated, how far they agree, and how good they find each run."""
    paper, votes = PAPER.get(benchmark, {}), counted.votes
    counts = [len(given) for given in votes.by_task.values()]
    unrated = waiting(requests, tasks, votes, design.workers)
    ours: list[tuple[str, float | None, str]] = [
        ("questions", requests["item_id"].n_unique(), f"to draw: {design.questions}"),
        ("answers to rate", len(tasks), "those that failed are left out"),
        *people_lines(counted, "rate"),
        ("ratings that count", sum(counts), ""),
        ("ratings an answer", min(counts, default=0), f"the fewest; the most: {max(counts, default=0)}"),
        ("answers with a mean", len(tasks) - len(unrated), ""),
        ("answers that too few people rated", len(unrated), f"needed: {design.workers}"),
        ("answers that more people rated", sum(count > design.workers for count in counts), ALL_COUNT),
        ("rows that do not count", len(votes.problems), "named in problems.csv"),
        ("Krippendorff's alpha", *agreement(tasks, votes, design, "interval")),
        *_means(requests, rated(requests, tasks, votes, design.workers)),
    ]
    return [Number(what, paper.get(what), value, note) for what, value, note in ours]


def _means(requests: pl.DataFrame, ratings: pl.DataFrame) -> Iterator[tuple[str, float | None, str]]:
    for run in requests["role"].unique(maintain_order=True):
        mine = ratings.filter(run=run)["rating"].to_list()
        yield f"mean rating of {run}", sum(mine) / len(mine) if mine else None, f"of {len(mine)} answers"


def rater_rows(counted: Counted) -> list[dict[str, Any]]:
    """A row a person, by number: how many answers they rated, and the mean of their ratings that count."""
    said: dict[int, list[int]] = {}
    for given in counted.votes.by_task.values():
        for person, rating in given.items():
            said.setdefault(int(person), []).append(int(rating))
    return [
        {
            "worker": worker.number,
            "counts": worker.refused or "yes",
            "qualification_right": worker.right,
            "answers": worker.given,
            "mean": sum(ratings) / len(ratings) if (ratings := said.get(worker.number, [])) else "",
        }
        for worker in sorted(counted.workers, key=lambda worker: worker.number)
    ]
