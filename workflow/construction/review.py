"""Review of a construction by annotators: aggregate their verdicts and list the tasks that need more."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl
from human_evaluation.tasks import RowProblem, Task, Votes

from construction.filters import KEPT, Row
from construction.settings import ReviewSettings

MAX_LISTED_CHOICES = 16  # the largest number of choices that the csv file lists for a task


class ReviewResult(NamedTuple):
    """What a review writes: decided samples, the verdicts behind them, and the tasks for annotators."""

    reviewed: list[Row]  # the samples with their votes; those that the verdicts drop are marked
    votes: list[Row]  # individual verdicts, read only by statistics
    tasks: list[Row]
    shown_columns: Sequence[str]  # the columns of a task that annotators see
    problems: list[RowProblem]  # rows of annotators' files that do not count, with the reason

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the csv file with the tasks."""
        return ("task_id", "digest", *self.shown_columns, "choices", "judged_by", "reviewer", "verdict")


def decide(tasks: Sequence[Task], votes: Votes, settings: ReviewSettings) -> dict[str, Row]:
    """Return the decision on each task: the numbers of votes and of votes in favour, and the filter that drops it."""
    decisions = {}
    for task in tasks:
        verdict_by_person = votes.by_task.get(task.task_id, {})
        vote_count = len(verdict_by_person)
        accepting_verdict = task.choices[0]
        in_favour = sum(verdict == accepting_verdict for verdict in verdict_by_person.values())
        filter_columns = KEPT
        if vote_count < settings.votes:
            if settings.undecided == "drop":
                filter_columns = {"filter": "not_reviewed", "why": f"judged by {vote_count} of {settings.votes}"}
        elif 2 * in_favour <= vote_count:  # no majority in favour
            verdict_list = ", ".join(f"{person}: {verdict}" for person, verdict in sorted(verdict_by_person.items()))
            filter_columns = {"filter": "refused", "why": verdict_list}
        decisions[task.task_id] = {"votes": vote_count, "in_favour": in_favour, **filter_columns}
    return decisions


def apply_decisions(samples: pl.DataFrame, decisions: Mapping[str, Row]) -> list[Row]:
    """Return the samples with the decision on each; samples dropped earlier stay dropped."""
    return [
        row | ({"votes": 0, "in_favour": 0} if row["filter"] else decisions[row["sample_id"]])
        for row in samples.iter_rows(named=True)
    ]


def task_rows(tasks: Sequence[Task], votes: Votes, needed_votes: int) -> list[Row]:
    """Return the rows of annotators' tasks, those that need more verdicts first, with long lists of choices cut."""
    open_rows: list[Row] = []
    complete_rows: list[Row] = []
    for task in tasks:
        reviewers = sorted(votes.by_task.get(task.task_id, {}))
        listed_choices = list(task.choices[:MAX_LISTED_CHOICES])
        if len(task.choices) > MAX_LISTED_CHOICES:
            listed_choices.append("...")
        row = {
            "task_id": task.task_id,
            "digest": task.digest,
            **task.texts,
            "choices": " | ".join(listed_choices),
            "options": task.choices,  # all choices, for Label Studio
            "judged_by": ", ".join(reviewers),
            "reviewer": "",
            "verdict": "",
        }
        (complete_rows if len(reviewers) >= needed_votes else open_rows).append(row)
    return [*open_rows, *complete_rows]
