"""What goes out to people: surveys as a csv file, and as tasks and a template for Label Studio."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.construction.draws import shuffled
from reprise.construction.label_studio import as_task
from reprise.construction.review import Task
from reprise.core.errors import UserError
from reprise.people.settings import Asked
from reprise.people.tasks import BETWEEN, Qualifying, in_surveys

COLUMNS = (
    "survey", "task_id", "digest", "clip", "video", "sound", "question", "choices", "reviewer", "verdict",
)  # fmt: skip
BEFORE = "qualification"


class Shown(NamedTuple):
    """The video of a question."""

    path: Path
    has_sound: bool


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
        "clip": task.shown["clip"],
        "video": address(shown.path, design.videos) if shown else "",
        "sound": "" if shown is None else "yes" if shown.has_sound else "no",
        "question": task.shown["question"],
        "choices": BETWEEN.join(task.choices),
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


def label_studio_tasks(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The surveys as Label Studio imports them."""
    return [as_task(row, str(row["video"]), str(row["choices"]).split(BETWEEN)) for row in rows]
