"""Build surveys: tasks, a qualification and their distribution, under names that do not reveal the right answer.

Surveys are written as a csv file, and as tasks and a template for Label Studio.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from reprise.core.errors import UserError, stop_on_fault
from reprise.core.files import inside, sealed_text
from reprise.core.plain import of_cell
from reprise.core.tabular import csv_rows
from reprise.media.errors import MediaError

from human_evaluation.draws import shuffled
from human_evaluation.settings import Asked
from human_evaluation.slides import has_sound
from human_evaluation.tasks import Task, as_task, name_of

QUESTION_COLUMNS = ("question_id", "video", "question", "options", "answer")
BETWEEN = " | "
QUALIFICATION = "qualification"
COLUMNS = (
    "survey", "task_id", "digest", "video", "sound", "question", "choices", "reviewer", "verdict",
)  # fmt: skip


class Qualifying(NamedTuple):
    tasks: list[Task]
    right: Mapping[str, str]
    videos: Mapping[str, Path]


NOT_TESTED = Qualifying([], {}, {})


def task_id(scope: str, *names: str) -> str:
    """Return a task's opaque name, which differs between groups and settings."""
    return name_of("\n".join((scope, *names)), 16)


def question_tasks(scope: str, requests: pl.DataFrame) -> list[Task]:
    """Return a task per question of a run in request order, with the question's options as choices."""
    tasks = []
    for name, options, clip, prompt in requests.select("request_id", "options", "clip_id", "prompt").iter_rows():
        if not options:
            raise UserError(f"{name}: a free answer, which people cannot choose. Name a protocol that offers options.")
        tasks.append(_task(task_id(scope, name), tuple(options), clip, prompt))
    return tasks


def _task(name: str, options: tuple[str, ...], clip: str, question: str) -> Task:
    return Task(name, options, {"clip": clip, "question": question, "choices": BETWEEN.join(options)})


def qualification_of(scope: str, design: Asked) -> Qualifying:
    if design.qualification is None:
        return NOT_TESTED
    path, needed = design.qualification.questions, design.qualification.right
    qualification = qualification_tasks(scope, Path(path))
    if needed > len(qualification.tasks):
        raise UserError(
            f"{path}: has {len(qualification.tasks)} questions, and `right: {needed}` of the group needs more."
        )
    return qualification


def qualification_tasks(scope: str, path: Path) -> Qualifying:
    """Read the questions of a qualification and check that the options of each contain its right answer."""
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
    """Return the survey number of each name, from 1: `count` surveys of equal size, or surveys of `size` names."""
    return {name: (place // size if size else place % (count or 1)) + 1 for place, name in enumerate(names)}


class Shown(NamedTuple):
    path: Path
    has_sound: bool


def qualification_videos(qualification: Qualifying, questions: str) -> dict[str, Shown]:
    """Return the videos of a qualification and check that each can be decoded; `questions` is its file for messages."""
    videos = {}
    for number, task in enumerate(qualification.tasks, start=1):
        if path := qualification.videos.get(task.task_id):
            try:
                videos[task.task_id] = Shown(path, has_sound(path))
            except MediaError as error:
                stop_on_fault(error)
                raise UserError(f"{questions}: row {number}: {path}: {error.status}: {error.message}.") from error
    return videos


def survey_rows(
    tasks: Sequence[Task], qualification: Qualifying, design: Asked, videos: Mapping[str, Shown]
) -> list[dict[str, Any]]:
    """Return the rows of all surveys, the qualification first, with questions in random order.

    A question without a video is assigned to a survey before it is dropped. Otherwise, other questions would change
    their survey when a clip is added or removed.
    """
    task_of = {task.task_id: task for task in tasks}
    survey_of = in_surveys(shuffled(list(task_of), design.seed), design.surveys, design.per_survey)
    rows = [_row(QUALIFICATION, task, design, videos.get(task.task_id)) for task in qualification.tasks]
    ordered = sorted(survey_of, key=survey_of.__getitem__)  # by survey, in the random order within each
    with_videos = [(name, videos.get(task_of[name].shown["clip"])) for name in ordered]
    return rows + [_row(str(survey_of[name]), task_of[name], design, video) for name, video in with_videos if video]


def _row(survey: str, task: Task, design: Asked, clip: Shown | None) -> dict[str, Any]:
    video, sound, root = "", "", Path(design.videos).resolve()
    if clip:
        path, sound = clip.path.resolve(), "yes" if clip.has_sound else "no"
        if not path.is_relative_to(root):
            raise UserError(
                f"{clip.path}: is not inside {root}, the folder of the videos. Let `videos:` name one that holds it."
            )
        video = path.relative_to(root).as_posix()
    return {
        "survey": survey, "task_id": task.task_id, "digest": task.digest, "video": video, "sound": sound,
        "question": task.shown["question"], "choices": task.shown["choices"], "reviewer": "", "verdict": "",
    }  # fmt: skip


def label_studio_tasks(surveys: Path, survey: str) -> list[dict[str, Any]]:
    """Return one survey of a file, or the qualification, as tasks that Label Studio can import."""
    rows = [{name: of_cell(cell) for name, cell in row.items()} for row in csv_rows(sealed_text(surveys), COLUMNS)]
    names = list(dict.fromkeys(row["survey"] for row in rows))
    if survey not in names:
        raise UserError(f"{surveys}: no survey '{survey}'. Found: {', '.join(names)}.")
    selected = (row for row in rows if row["survey"] == survey)
    return [as_task(row, row["video"], row["choices"].split(BETWEEN)) for row in selected]
