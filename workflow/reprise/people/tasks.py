"""The questions as tasks for people, under names that tell nobody which answer is right."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.construction.review import Task, name_of
from reprise.core.errors import UserError
from reprise.core.files import inside
from reprise.core.tabular import csv_rows
from reprise.people.settings import Asked

QUESTION_COLUMNS = ("question_id", "video", "question", "options", "answer")
BETWEEN = " | "
ID_LENGTH = 16
QUALIFICATION = "qualification"


class Qualifying(NamedTuple):
    """The questions of a qualification, and what is right."""

    tasks: list[Task]
    right: Mapping[str, str]
    videos: Mapping[str, Path]


NOT_TESTED = Qualifying([], {}, {})


def task_id(scope: str, *names: str) -> str:
    """A task's name for people: it tells nothing, and is another one in another group or setting."""
    return name_of("\n".join((scope, *names)), ID_LENGTH)


def question_tasks(scope: str, requests: pl.DataFrame) -> list[Task]:
    """A task for each question of a run, in their order; each offers the options of the question."""
    tasks = []
    for name, options, clip, prompt in requests.select("request_id", "options", "clip_id", "prompt").iter_rows():
        if not options:
            raise UserError(f"{name}: a free answer, which people cannot choose. Name a protocol that offers options.")
        tasks.append(_task(task_id(scope, name), tuple(options), clip, prompt))
    return tasks


def _task(name: str, options: tuple[str, ...], clip: str, question: str) -> Task:
    return Task(name, options, {"clip": clip, "question": question, "choices": BETWEEN.join(options)})


def qualification_of(scope: str, design: Asked) -> Qualifying:
    """The questions of a design's qualification; none without one."""
    if design.qualification is None:
        return NOT_TESTED
    path, needed = Path(design.qualification.questions), design.qualification.right
    found = qualification_tasks(scope, path)
    if needed > len(found.tasks):
        raise UserError(
            f"{path}: has {len(found.tasks)} questions, and `right: {needed}` of the group needs more of them."
        )
    return found


def qualification_tasks(scope: str, path: Path) -> Qualifying:
    """The questions of a qualification, each with its right answer among its options."""
    if not path.is_file():
        raise UserError(f"{path}: no such file, which should hold the questions of a qualification.")
    tasks, right, videos = [], {}, {}
    for number, row in enumerate(csv_rows(path, QUESTION_COLUMNS), start=1):
        name, options = task_id(scope, QUALIFICATION, row["question_id"]), tuple(row["options"].split(BETWEEN))
        if row["answer"] not in options or len(options) < 2:
            allowed = "two options or more, and the answer among them"
            raise UserError(f"{path}: row {number}: found '{row['answer']}' of '{row['options']}'; needed: {allowed}.")
        if name in right:
            raise UserError(f"{path}: row {number}: question '{row['question_id']}' stands there twice.")
        tasks.append(_task(name, options, row["video"], row["question"]))
        right[name] = row["answer"]
        if row["video"]:
            video = inside(path.parent, row["video"])
            if video is None or not video.is_file():
                raise UserError(
                    f"{path}: row {number}: no video '{row['video']}' in {path.parent}/: it must lie beside this file, "
                    "or in a folder there."
                )
            videos[name] = path.parent / row["video"]
    return Qualifying(tasks, right, videos)


def in_surveys(names: Sequence[str], count: int | None, size: int | None) -> dict[str, int]:
    """Survey of each name, from 1 on: dealt out evenly to a number of surveys, or so many to each."""
    if size is not None:
        return {name: place // size + 1 for place, name in enumerate(names)}
    return {name: place % (count or 1) + 1 for place, name in enumerate(names)}
