"""Build surveys: distribute tasks and a qualification. The names of tasks do not reveal the right answer.

Surveys are written as a csv file, and as tasks and a template for Label Studio.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from reprise.core.errors import UserError, raise_if_machine_fault
from reprise.core.files import resolve_inside, verify_sealed_text
from reprise.core.plain import unescape_cell
from reprise.core.tabular import read_csv_rows
from reprise.media.errors import MediaError

from human_evaluation.draws import shuffled
from human_evaluation.settings import SurveyDesign
from human_evaluation.slides import has_sound
from human_evaluation.tasks import Task, label_studio_task, opaque_name

QUESTION_COLUMNS = ("question_id", "video", "question", "options", "answer")
OPTION_SEPARATOR = " | "
QUALIFICATION = "qualification"  # name of the survey with the questions of the qualification
COLUMNS = (
    "survey", "task_id", "digest", "video", "sound", "question", "choices", "reviewer", "verdict",
)  # fmt: skip


class QualificationTest(NamedTuple):
    """Questions that annotators must answer right before their other answers count."""

    tasks: list[Task]
    right_answers: Mapping[str, str]  # task id -> option
    videos: Mapping[str, Path]  # task id -> video


NO_QUALIFICATION = QualificationTest([], {}, {})


def task_id(scope: str, *names: str) -> str:
    """Return the opaque name of a task. The scope is the group and its sampling."""
    return opaque_name("\n".join((scope, *names)), 16)


def build_question_tasks(scope: str, requests: pl.DataFrame) -> list[Task]:
    """Return one task per request, in the order of the requests. The options are the choices."""
    tasks = []
    for request_id, options, clip, prompt in requests.select("request_id", "options", "clip_id", "prompt").iter_rows():
        if not options:
            raise UserError(f"{request_id}: has no options that annotators can choose. Name a protocol with options.")
        tasks.append(_task(task_id(scope, request_id), tuple(options), clip, prompt))
    return tasks


def _task(name: str, options: tuple[str, ...], clip: str, question: str) -> Task:
    """Return the task of a question about a clip."""
    return Task(name, options, {"clip": clip, "question": question, "choices": OPTION_SEPARATOR.join(options)})


def load_qualification(scope: str, design: SurveyDesign) -> QualificationTest:
    """Return the qualification of a group, which is empty if the design has none."""
    if design.qualification is None:
        return NO_QUALIFICATION
    path, min_right_count = design.qualification.questions, design.qualification.right
    qualification = read_qualification(scope, Path(path))
    if min_right_count > len(qualification.tasks):
        raise UserError(
            f"{path}: has {len(qualification.tasks)} questions, "
            f"fewer than `right: {min_right_count}`. Add questions or lower it."
        )
    return qualification


def read_qualification(scope: str, path: Path) -> QualificationTest:
    """Read and check the questions of a qualification. The right answer must be one of the options."""
    if not path.is_file():
        raise UserError(
            f"{path}: the file with the questions of the qualification does not exist. Correct `questions:`."
        )
    tasks, right_answers, videos = [], {}, {}
    for number, row in enumerate(read_csv_rows(path, QUESTION_COLUMNS), start=1):
        name, options = task_id(scope, QUALIFICATION, row["question_id"]), tuple(row["options"].split(OPTION_SEPARATOR))
        if row["answer"] not in options or len(options) < 2:
            allowed = "at least two options, one of which is the answer"
            raise UserError(f"{path}: row {number}: found '{row['answer']}' of '{row['options']}'; needed: {allowed}.")
        if name in right_answers:
            raise UserError(f"{path}: row {number}: question '{row['question_id']}' appears twice.")
        tasks.append(_task(name, options, row["video"], row["question"]))
        right_answers[name] = row["answer"]
        if row["video"]:
            video = resolve_inside(path.parent, row["video"])
            if video is None or not video.is_file():
                raise UserError(
                    f"{path}: row {number}: no video '{row['video']}' in {path.parent}/. "
                    "Put the video into this folder."
                )
            videos[name] = path.parent / row["video"]
    return QualificationTest(tasks, right_answers, videos)


def assign_surveys(names: Sequence[str], count: int | None, size: int | None) -> dict[str, int]:
    """Return the number of the survey of each name: `count` surveys of equal size, or surveys of `size` names.

    Without `count` and `size`, all names are in one survey.
    """
    return {name: (position // size if size else position % (count or 1)) + 1 for position, name in enumerate(names)}


class SurveyVideo(NamedTuple):
    """The video that annotators see with a question."""

    path: Path
    has_sound: bool


def qualification_videos(qualification: QualificationTest, questions: str) -> dict[str, SurveyVideo]:
    """Return the videos of a qualification. Raise a UserError that names `questions` if a video cannot be decoded."""
    videos = {}
    for number, task in enumerate(qualification.tasks, start=1):
        if path := qualification.videos.get(task.task_id):
            try:
                videos[task.task_id] = SurveyVideo(path, has_sound(path))
            except MediaError as error:
                raise_if_machine_fault(error)
                raise UserError(f"{questions}: row {number}: {path}: {error.status}: {error.message}.") from error
    return videos


def build_survey_rows(
    tasks: Sequence[Task], qualification: QualificationTest, design: SurveyDesign, videos: Mapping[str, SurveyVideo]
) -> list[dict[str, Any]]:
    """Return the rows of all surveys, the qualification first, with questions in random order.

    Surveys are assigned before questions without a video are dropped. Otherwise, a video that is added later would
    change the surveys of other questions.
    """
    task_by_id = {task.task_id: task for task in tasks}
    survey_by_task = assign_surveys(shuffled(list(task_by_id), design.seed), design.surveys, design.per_survey)
    rows = [_row(QUALIFICATION, task, design, videos.get(task.task_id)) for task in qualification.tasks]
    ordered_ids = sorted(survey_by_task, key=survey_by_task.__getitem__)  # by survey, in the random order within each
    with_videos = [(name, videos.get(task_by_id[name].texts["clip"])) for name in ordered_ids]
    return rows + [
        _row(str(survey_by_task[name]), task_by_id[name], design, video) for name, video in with_videos if video
    ]


def _row(survey: str, task: Task, design: SurveyDesign, video: SurveyVideo | None) -> dict[str, Any]:
    """Return the row of a task in a survey; annotators fill in `reviewer` and `verdict`."""
    relative_path, sound = "", ""
    if video:
        path, root = video.path.resolve(), Path(design.videos).resolve()
        if not path.is_relative_to(root):
            raise UserError(
                f"{video.path}: is not inside {root}, the folder of `videos:`. Name a folder that contains the video."
            )
        relative_path, sound = path.relative_to(root).as_posix(), "yes" if video.has_sound else "no"
    return {
        "survey": survey, "task_id": task.task_id, "digest": task.digest, "video": relative_path, "sound": sound,
        "question": task.texts["question"], "choices": task.texts["choices"], "reviewer": "", "verdict": "",
    }  # fmt: skip


def label_studio_tasks(surveys: Path, survey: str) -> list[dict[str, Any]]:
    """Return one survey of a file, or the qualification, as tasks that Label Studio can import."""
    rows = [
        {name: unescape_cell(cell) for name, cell in row.items()}
        for row in read_csv_rows(verify_sealed_text(surveys), COLUMNS)
    ]
    names = list(dict.fromkeys(row["survey"] for row in rows))
    if survey not in names:
        raise UserError(f"{surveys}: no survey '{survey}'. Found: {', '.join(names)}.")
    selected = (row for row in rows if row["survey"] == survey)
    return [label_studio_task(row, row["video"], row["choices"].split(OPTION_SEPARATOR)) for row in selected]
