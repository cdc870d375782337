"""What goes out to people: surveys as a csv file, and as tasks and a template for Label Studio."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.construction.filters import shuffled
from reprise.construction.label_studio import as_task
from reprise.construction.review import Task
from reprise.core.checksums import sealed_text
from reprise.core.errors import UserError, stop_on_fault
from reprise.core.plain import of_cell
from reprise.core.tabular import csv_rows
from reprise.media.errors import MediaError
from reprise.media.slides import has_sound
from reprise.people.settings import Asked
from reprise.people.tasks import BETWEEN, QUALIFICATION, Qualifying, in_surveys

COLUMNS = (
    "survey", "task_id", "digest", "video", "sound", "question", "choices", "reviewer", "verdict",
)  # fmt: skip
BEFORE = QUALIFICATION


class Shown(NamedTuple):
    """The video of a question."""

    path: Path
    has_sound: bool


def qualification_videos(tested: Qualifying, questions: str) -> dict[str, Shown]:
    """The videos of a qualification, each of which must be one; `questions` is its file."""
    found = {}
    for number, task in enumerate(tested.tasks, start=1):
        if path := tested.videos.get(task.task_id):
            try:
                found[task.task_id] = Shown(path, has_sound(path))
            except MediaError as error:
                stop_on_fault(error)
                raise UserError(f"{questions}: row {number}: {path}: {error.status}: {error.message}.") from error
    return found


def survey_rows(
    tasks: Sequence[Task], tested: Qualifying, design: Asked, videos: Mapping[str, Shown]
) -> list[dict[str, Any]]:
    """All surveys, the qualification first; the order of the questions is drawn.

    A question without a video is dealt and left out, so that no other changes its survey when its clip comes or goes.
    """
    known = {task.task_id: task for task in tasks}
    dealt = in_surveys(shuffled(list(known), design.seed), design.surveys, design.per_survey)
    rows = [_row(BEFORE, task, design, videos.get(task.task_id)) for task in tested.tasks]
    placed = sorted(dealt, key=dealt.__getitem__)  # of a survey, in the order that was drawn
    there = [(name, videos.get(known[name].shown["clip"])) for name in placed]
    return rows + [_row(str(dealt[name]), known[name], design, shown) for name, shown in there if shown]


def _row(survey: str, task: Task, design: Asked, shown: Shown | None) -> dict[str, Any]:
    return {
        "survey": survey,
        "task_id": task.task_id,
        "digest": task.digest,
        "video": address(shown.path, design.videos) if shown else "",
        "sound": "" if shown is None else "yes" if shown.has_sound else "no",
        "question": task.shown["question"],
        "choices": task.shown["choices"],
        "reviewer": "",
        "verdict": "",
    }


def address(path: Path, folder: str) -> str:
    """A video's path below the folder whose videos the survey's site shows."""
    root = Path(folder).resolve()
    if not path.resolve().is_relative_to(root):
        raise UserError(
            f"{path}: is not inside {root}, the folder of the videos. Let `videos:` name one that holds it."
        )
    return path.resolve().relative_to(root).as_posix()


def label_studio_tasks(surveys: Path, survey: str) -> list[dict[str, Any]]:
    """One survey of a file, or the qualification, as Label Studio imports it."""
    rows = [{name: of_cell(cell) for name, cell in row.items()} for row in csv_rows(sealed_text(surveys), COLUMNS)]
    found = list(dict.fromkeys(row["survey"] for row in rows))
    if survey not in found:
        raise UserError(f"{surveys}: no survey '{survey}'. Found: {', '.join(found)}.")
    mine = (row for row in rows if row["survey"] == survey)
    return [as_task(row, row["video"], row["choices"].split(BETWEEN)) for row in mine]
