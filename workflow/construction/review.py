"""Review of a construction by people: what their verdicts come to, and the tasks that still need some."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl
from human_evaluation.tasks import Problem, Task, Votes

from construction.filters import KEPT, Row
from construction.settings import ReviewSettings

MOST_LISTED = 16  # choices of a task in a csv file


class Reviewed(NamedTuple):
    reviewed: list[Row]
    votes: list[Row]  # single verdicts that only statistics read
    tasks: list[Row]
    shown: Sequence[str]  # what people see of a task
    problems: list[Problem]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("task_id", "digest", *self.shown, "choices", "judged_by", "reviewer", "verdict")


def decided(tasks: Sequence[Task], votes: Votes, how: ReviewSettings) -> dict[str, Row]:
    """By task: how many judged it, how many in favour, and the filter that drops it, if one does."""
    found = {}
    for task in tasks:
        given = votes.by_task.get(task.task_id, {})
        in_favour = sum(verdict == task.choices[0] for verdict in given.values())
        verdict = KEPT
        if len(given) < how.votes:
            if how.undecided == "drop":
                verdict = {"filter": "not_reviewed", "why": f"judged by {len(given)} of {how.votes}"}
        elif 2 * in_favour <= len(given):
            said = ", ".join(f"{who}: {verdict}" for who, verdict in sorted(given.items()))
            verdict = {"filter": "refused", "why": said}
        found[task.task_id] = {"votes": len(given), "in_favour": in_favour, **verdict}
    return found


def judged(samples: pl.DataFrame, decisions: Mapping[str, Row]) -> list[Row]:
    """The samples with what was decided on each; one that was dropped before stays so."""
    return [
        row | ({"votes": 0, "in_favour": 0} if row["filter"] else decisions[row["sample_id"]])
        for row in samples.iter_rows(named=True)
    ]


def task_rows(tasks: Sequence[Task], votes: Votes, needed: int) -> list[Row]:
    """The tasks as people get them, those that still need verdicts first; of many choices only how they begin."""
    rows = [
        {
            "task_id": task.task_id,
            "digest": task.digest,
            **task.shown,
            "choices": " | ".join([*task.choices[:MOST_LISTED], *(["..."] if len(task.choices) > MOST_LISTED else [])]),
            "options": task.choices,
            "judged_by": ", ".join(sorted(votes.by_task.get(task.task_id, {}))),
            "reviewer": "",
            "verdict": "",
        }
        for task in tasks
    ]
    return sorted(rows, key=lambda row: len(votes.by_task.get(row["task_id"], {})) >= needed)
