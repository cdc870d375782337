"""Review of a construction by annotators: aggregate their verdicts and list the tasks that need more."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl
from human_evaluation.tasks import RowProblem, Task, Votes

from construction.filters import KEPT, Row
from construction.settings import ReviewSettings

MAX_LISTED_CHOICES = 16  # the largest number of choices that the csv file lists for a task


class ReviewResult(NamedTuple):
    reviewed: list[Row]
    votes: list[Row]  # individual verdicts, read only by statistics
    tasks: list[Row]
    shown_columns: Sequence[str]  # the columns of a task that annotators see
    problems: list[RowProblem]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("task_id", "digest", *self.shown_columns, "choices", "judged_by", "reviewer", "verdict")


def decide(tasks: Sequence[Task], votes: Votes, settings: ReviewSettings) -> dict[str, Row]:
    """Return the decision on each task: its numbers of votes and of votes in favour, and the filter that drops it."""
    decisions = {}
    for task in tasks:
        verdicts = votes.by_task.get(task.task_id, {})
        in_favour = sum(verdict == task.choices[0] for verdict in verdicts.values())
        verdict = KEPT
        if len(verdicts) < settings.votes:
            if settings.undecided == "drop":
                verdict = {"filter": "not_reviewed", "why": f"judged by {len(verdicts)} of {settings.votes}"}
        elif 2 * in_favour <= len(verdicts):
            verdict_list = ", ".join(f"{person}: {verdict}" for person, verdict in sorted(verdicts.items()))
            verdict = {"filter": "refused", "why": verdict_list}
        decisions[task.task_id] = {"votes": len(verdicts), "in_favour": in_favour, **verdict}
    return decisions


def apply_decisions(samples: pl.DataFrame, decisions: Mapping[str, Row]) -> list[Row]:
    """Return the samples with the decision on each; samples dropped earlier stay dropped."""
    return [
        row | ({"votes": 0, "in_favour": 0} if row["filter"] else decisions[row["sample_id"]])
        for row in samples.iter_rows(named=True)
    ]


def task_rows(tasks: Sequence[Task], votes: Votes, needed_votes: int) -> list[Row]:
    """Return the rows of annotators' tasks, those that need more verdicts first, with long lists of choices cut."""
    rows = [
        {
            "task_id": task.task_id,
            "digest": task.digest,
            **task.texts,
            "choices": " | ".join(
                [*task.choices[:MAX_LISTED_CHOICES], *(["..."] if len(task.choices) > MAX_LISTED_CHOICES else [])]
            ),
            "options": task.choices,
            "judged_by": ", ".join(sorted(votes.by_task.get(task.task_id, {}))),
            "reviewer": "",
            "verdict": "",
        }
        for task in tasks
    ]
    return sorted(rows, key=lambda row: len(votes.by_task.get(row["task_id"], {})) >= needed_votes)
