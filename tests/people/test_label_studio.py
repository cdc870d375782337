"""Test the import of tasks and videos into a real Label Studio, and its exports as answers.

The server listens on 127.0.0.1, uses a temporary folder, and is terminated with its process group after the tests.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from human_evaluation.settings import AnswerDesign
from human_evaluation.surveys import (
    COLUMNS,
    NO_QUALIFICATION,
    SurveyVideo,
    build_survey_rows,
    label_studio_tasks,
    task_id,
)
from human_evaluation.tasks import Task, as_sheet, count_votes, label_studio_template, read_verdicts
from playwright.sync_api import Page, sync_playwright

from tests.unit.videos import barcode_video

ROOT = Path(__file__).parents[2]
EXECUTABLE = os.environ.get("LABEL_STUDIO", str(ROOT / ".venv-people/bin/label-studio"))
TOKEN, USER, PASSWORD = 5 * "0123abcd", "reviewer@example.org", "Only-for-tests-1"
START_S, END_S = 3600, 60
STEPS_S = 600
SCOPE = "toy/script/all"
TASKS = [
    Task(task_id(SCOPE, f"{n}_pos/text#text_pos"), ("A", "B"), {
        "clip": f"{n}.pos", "question": f"Toy question {n}? A. one, B. two", "choices": "A | B",
    }) for n in range(4)
]  # fmt: skip
DESIGN = AnswerDesign(run="paper/all/toy-script", answers="answers/*.json", seed=3)
VIDEO_NAME = "toy.mp4"


@dataclass
class LabelStudio:
    """A running server and the folder of its videos."""

    url: str
    files: Path

    def ask(self, method: str, path: str, content: Any = None, **headers: str) -> httpx2.Response:
        """Send a request to the API and return the response, which must be a success."""
        headers |= {"Authorization": f"Token {TOKEN}"}
        response = httpx2.request(method, f"{self.url}{path}", json=content, headers=headers, timeout=STEPS_S)
        assert response.is_success, f"{method} {path}: {response.status_code}: {response.text[:500]}"
        return response


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudio]:
    home = tmp_path_factory.mktemp("label-studio")
    files = home / "videos"
    (files / "clips").mkdir(parents=True)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [EXECUTABLE, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    command += ["--username", USER, "--password", PASSWORD, "--user-token", TOKEN]
    environment = os.environ | {
        "HOME": str(home), "LABEL_STUDIO_BASE_DATA_DIR": str(home / "data"),
        "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true", "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(files),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "",
    }  # fmt: skip
    for name in ("PYTHONPATH", "PYTHONHOME"):
        environment.pop(name, None)
    (home / "data").mkdir()
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=home, start_new_session=True
        )
    server = LabelStudio(f"http://127.0.0.1:{port}", files)
    try:
        _wait_until_ready(server, process, home / "log")
        yield server
    finally:
        remaining: list[psutil.Process] = []
        if process.poll() is None:
            leader = psutil.Process(process.pid)
            processes = [leader, *leader.children(recursive=True)]
            os.killpg(process.pid, signal.SIGTERM)
            _, remaining = psutil.wait_procs(processes, timeout=END_S)
            for one in remaining:
                one.kill()
            process.wait()
    assert not remaining, f"Label Studio left {remaining}"


def _wait_until_ready(server: LabelStudio, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-2000:]
        with suppress(httpx2.TransportError):
            if httpx2.get(f"{server.url}/health", timeout=10).is_success:
                return
        time.sleep(1)
    raise TimeoutError(log.read_text()[-2000:])


def question_project(server: LabelStudio, video: Path) -> int:
    """Create a project with the tasks of a survey and its video folder, and return the project's id."""
    video_by_clip = {task.texts["clip"]: SurveyVideo(video, has_sound=False) for task in TASKS}
    design = DESIGN.model_copy(update={"videos": str(server.files)})
    surveys = server.files.parent / "surveys.csv"
    surveys.write_text(as_sheet(build_survey_rows(TASKS, NO_QUALIFICATION, design, video_by_clip), COLUMNS))
    interface = {"title": "Toy", "label_config": label_studio_template("Answer.", ("question",))}
    number = int(server.ask("POST", "/api/projects", interface).json()["id"])
    storage = {"project": number, "path": str(video.parent), "use_blob_urls": False}
    server.ask("POST", "/api/storages/localfiles", storage)
    server.ask("POST", f"/api/projects/{number}/import", label_studio_tasks(surveys, "1"))
    return number


def choice_result(choice: str, object_name: str = "question") -> list[dict[str, Any]]:
    """Return a choice as the interface submits it."""
    return [{"from_name": "verdict", "to_name": object_name, "type": "choices", "value": {"choices": [choice]}}]


def annotate(server: LabelStudio, task: int, choice: str | None, object_name: str = "question") -> int:
    """Submit a choice, or skip the task, and return the annotation's id."""
    content = {"result": choice_result(choice, object_name) if choice else [], "was_cancelled": choice is None}
    return int(server.ask("POST", f"/api/tasks/{task}/annotations/", content).json()["id"])


def tasks_of(server: LabelStudio, project: int) -> dict[str, int]:
    """Return the id in Label Studio of each task."""
    tasks = server.ask("GET", f"/api/tasks?project={project}&fields=all&page_size=100").json()["tasks"]
    return {task["data"]["task_id"]: task["id"] for task in tasks}


def export(server: LabelStudio, project: int, path: Path) -> Path:
    """Write the JSON export of a project."""
    path.write_bytes(
        server.ask("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true").content
    )
    return path


PAGE_MS = 300_000
CHOICES_BY_TASK = {
    TASKS[0].task_id: ["A"],
    TASKS[1].task_id: ["B"],
    TASKS[2].task_id: ["A", "B"],
    TASKS[3].task_id: [None],
}


@pytest.fixture(scope="module")
def video(label_studio: LabelStudio) -> Path:
    return barcode_video(label_studio.files / "clips" / VIDEO_NAME)


@pytest.fixture(scope="module")
def exports(label_studio: LabelStudio, video: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Return exports of a project after one answer, after all answers, and after a correction."""
    folder = tmp_path_factory.mktemp("exports")
    project = question_project(label_studio, video)
    numbers = tasks_of(label_studio, project)
    assert numbers.keys() == {task.task_id for task in TASKS}
    first = annotate(label_studio, numbers[TASKS[0].task_id], "A")
    partial = export(label_studio, project, folder / "half.json")
    for task, choices in list(CHOICES_BY_TASK.items())[1:]:
        for choice in choices:
            annotate(label_studio, numbers[task], choice)
    complete = export(label_studio, project, folder / "whole.json")
    label_studio.ask("PATCH", f"/api/annotations/{first}/", {"result": choice_result("B")})
    corrected = export(label_studio, project, folder / "corrected.json")
    if "RECORD" in os.environ:  # Update the recorded exports of the unit tests.
        for path in (partial, complete, corrected):
            shutil.copy(path, Path(os.environ["RECORD"]) / f"label-studio-{path.name}")
    return partial, complete, corrected


@contextmanager
def page_of(server: LabelStudio, project: int, task: int) -> Iterator[Page]:
    """Open a task in a browser and wait until its video has loaded."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PAGE_MS)
        page.goto(f"{server.url}/user/login")
        page.fill("input[name=email]", USER)
        page.fill("input[name=password]", PASSWORD)
        page.click("button[type=submit]")
        page.wait_for_url(lambda address: "login" not in address)
        page.goto(f"{server.url}/projects/{project}/data?task={task}")
        page.wait_for_selector("video", state="attached")
        page.wait_for_function("document.querySelector('video').readyState >= 2")
        yield page
        browser.close()


def test_a_browser_plays_the_video_and_shows_the_choices(label_studio: LabelStudio, exports: tuple[Path, ...]) -> None:
    task = json.loads(exports[1].read_text())[0]
    with page_of(label_studio, task["project"], task["id"]) as page:
        page.evaluate("document.querySelector('video').muted = true; document.querySelector('video').play()")
        page.wait_for_function("document.querySelector('video').currentTime > 0.5")
        page_text = page.inner_text("body")
    assert task["data"]["question"] in page_text and "A[1]" in page_text and "B[2]" in page_text


def test_exports_are_answers(exports: tuple[Path, ...]) -> None:
    partial, complete, corrected = exports
    assert [verdict.task_id for verdict in read_verdicts([partial])] == [TASKS[0].task_id]
    votes = count_votes(TASKS, read_verdicts([partial, complete]))
    (annotator,) = votes.by_task[TASKS[0].task_id]
    assert annotator.startswith("label-studio ")
    assert votes.by_task == {TASKS[0].task_id: {annotator: "A"}, TASKS[1].task_id: {annotator: "B"}}
    assert [problem.problem for problem in votes.problems] == ["two_verdicts"]
    votes = count_votes(TASKS, read_verdicts([corrected]))
    assert votes.by_task == {TASKS[0].task_id: {annotator: "B"}, TASKS[1].task_id: {annotator: "B"}}


def test_the_recorded_export_has_the_current_fields(exports: tuple[Path, ...]) -> None:
    recorded = Path(__file__).parents[1] / "data/people/label-studio-whole.json"
    current_export, recorded_export = (json.loads(path.read_text())[0] for path in (exports[1], recorded))
    assert (
        recorded_export.keys() <= current_export.keys()
        and recorded_export["annotations"][0].keys() <= current_export["annotations"][0].keys()
    )
