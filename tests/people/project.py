"""A small project of toy questions, made from our tasks and template."""

from pathlib import Path
from typing import Any

from reprise.construction.review import Task, as_sheet, template
from reprise.people.settings import AnswerDesign
from reprise.people.surveys import BETWEEN, COLUMNS, NOT_TESTED, Shown, label_studio_tasks, survey_rows, task_id

from tests.people.conftest import LabelStudio

CHOICES = ("A", "B")
SCOPE = "toy/script/all"
TASKS = [
    Task(
        task_id(SCOPE, f"{number}_pos/text#text_pos"),
        CHOICES,
        {
            "clip": f"{number}.pos",
            "question": f"Toy question {number}? A. one, B. two",
            "choices": BETWEEN.join(CHOICES),
        },
    )
    for number in range(4)
]
DESIGN = AnswerDesign(run="paper/all/toy-script", answers="answers/*.json", seed=3)
NAME = "toy.mp4"


def make_project(server: LabelStudio, interface: str, video: Path, tasks: list[dict[str, Any]]) -> int:
    """A project with a template, the folder of videos and tasks; its number."""
    number = int(server.ask("POST", "/api/projects", {"title": "Toy", "label_config": interface}).json()["id"])
    server.ask(
        "POST", "/api/storages/localfiles", {"project": number, "path": str(video.parent), "use_blob_urls": False}
    )
    server.ask("POST", f"/api/projects/{number}/import", tasks)
    return number


def question_project(server: LabelStudio, video: Path) -> int:
    """A project of a survey."""
    shown = {task.shown["clip"]: Shown(video, has_sound=False) for task in TASKS}
    design = DESIGN.model_copy(update={"videos": str(server.files)})
    surveys = server.files.parent / "surveys.csv"
    surveys.write_text(as_sheet(survey_rows(TASKS, NOT_TESTED, design, shown), COLUMNS))
    return make_project(server, template("Answer.", ("question",)), video, label_studio_tasks(surveys, "1"))


def chosen(choice: str, beside: str = "question") -> list[dict[str, Any]]:
    """A choice as the interface submits it."""
    return [{"from_name": "verdict", "to_name": beside, "type": "choices", "value": {"choices": [choice]}}]


def annotate(server: LabelStudio, task: int, choice: str | None, beside: str = "question") -> int:
    """Submit a choice, or skip the task; the annotation's number."""
    content = {"result": chosen(choice, beside) if choice else [], "was_cancelled": choice is None}
    return int(server.ask("POST", f"/api/tasks/{task}/annotations/", content).json()["id"])


def tasks_of(server: LabelStudio, project: int) -> dict[str, int]:
    """Our id of each task -> its number there."""
    found = server.ask("GET", f"/api/tasks?project={project}&fields=all&page_size=100").json()["tasks"]
    return {one["data"]["task_id"]: one["id"] for one in found}


def export(server: LabelStudio, project: int, path: Path) -> Path:
    """What its export as JSON gives."""
    path.write_bytes(
        server.ask("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true").content
    )
    return path
