"""The review of VELOCITI's samples: kept only if both captions fit."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from reprise.construction.review import Reviewed, counted, decided, read_verdicts, task_rows
from reprise.construction.settings import VelocitiSettings
from reprise.construction.velociti.tasks import caption_tasks, sample_tasks

TASK_COLUMNS = (
    "task_id", "digest", "video", "event", "positive", "negative", "choices", "judged_by", "reviewer", "verdict",
)  # fmt: skip


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: VelocitiSettings) -> Reviewed:
    """The samples with what people said of them, and what is left for people to do."""
    of_samples, of_captions = sample_tasks(tables["samples"]), caption_tasks(tables, settings)
    tasks = [*of_samples, *of_captions]
    votes = counted(tasks, read_verdicts(verdicts))
    needed = settings.review.votes
    decisions = decided(of_samples, votes, needed, settings.review.undecided == "keep")
    rows = [
        {**row, **decisions[row["sample_id"]]} if not row["filter"] else {**row, "votes": 0, "in_favour": 0}
        for row in tables["samples"].iter_rows(named=True)
    ]
    captions = [
        {"task_id": task.task_id, "verdict": verdict}
        for task in of_captions
        for verdict in votes.by_task.get(task.task_id, {}).values()
    ]
    return Reviewed(rows, captions, task_rows(tasks, votes, needed), TASK_COLUMNS, votes.problems)
