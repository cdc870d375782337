"""Cross-validation: people who did not write a question say whether it and its answer are right."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.construction.filters import Row, kept
from reprise.construction.review import (
    Problem,
    Reviewed,
    Task,
    Verdict,
    counted,
    decided,
    known_as,
    read_verdicts,
    task_rows,
)
from reprise.construction.settings import MmbenchVideoSettings

CHOICES = ("correct", "answer is wrong", "ability is wrong", "breaks a guideline", "cannot be told from the video")
TASK_COLUMNS = (
    "task_id", "digest", "video", "question", "answer", "dimensions", "warnings", "choices", "judged_by", "reviewer",
    "verdict",
)  # fmt: skip


def question_tasks(samples: pl.DataFrame) -> list[Task]:
    """The questions that people check, as they see them."""
    return [
        Task(
            row["sample_id"],
            CHOICES,
            {name: row[name] for name in ("video", "question", "answer")}
            | {name: "; ".join(row[name]) for name in ("dimensions", "warnings")},
        )
        for row in kept(samples).iter_rows(named=True)
    ]


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: MmbenchVideoSettings) -> Reviewed:
    """The questions with what people said of them, and what is left for people to do."""
    tasks, needed = question_tasks(tables["samples"]), settings.review.votes
    authors = dict(tables["samples"].select("sample_id", "annotator").iter_rows())
    given, own = _of_others(read_verdicts(verdicts), authors)
    votes = counted(tasks, given)
    decisions = decided(tasks, votes, needed, settings.review.undecided == "keep")
    reviewed: list[Row] = [
        {**row, "votes": 0, "in_favour": 0} | ({} if row["filter"] else decisions[row["sample_id"]])
        for row in tables["samples"].iter_rows(named=True)
    ]
    said = [{"task_id": task, "verdict": one} for task, by in votes.by_task.items() for one in by.values()]
    return Reviewed(reviewed, said, task_rows(tasks, votes, needed), TASK_COLUMNS, [*own, *votes.problems])


def _of_others(found: Sequence[Verdict], authors: Mapping[str, str]) -> tuple[list[Verdict], list[Problem]]:
    """The verdicts, without those of people on their own questions."""
    is_own = [known_as(one.reviewer) == known_as(authors.get(one.task_id, "")) != "" for one in found]
    problems = [
        Problem(one.where, "own_question", f"'{one.reviewer}' wrote {one.task_id}")
        for one, own in zip(found, is_own, strict=True)
        if own
    ]
    return [one for one, own in zip(found, is_own, strict=True) if not own], problems
