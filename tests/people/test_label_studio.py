"""Tasks go into a real Label Studio with videos that play, and its exports come back as answers.

It listens on 127.0.0.1, has a folder of its own, and ends with the tests, by its process group.
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
from human_evaluation.surveys import COLUMNS, NO_QUALIFICATION, SurveyVideo, label_studio_tasks, survey_rows, task_id
from human_evaluation.tasks import Task, as_sheet, count_votes, label_studio_template, read_verdicts
from playwright.sync_api import Page, sync_playwright

from tests.unit.videos import barcode_video

ROOT = Path(__file__).parents[2]
PROGRAM = os.environ.get("LABEL_STUDIO", str(ROOT / ".venv-people/bin/label-studio"))
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
NAME = "toy.mp4"


@dataclass
class LabelStudio:
    """A server that answers, and the folder whose videos it shows."""

    url: str
    files: Path

    def ask(self, method: str, path: str, content: Any = None, **headers: str) -> httpx2.Response:
        """An answer of its API; any other than a success fails the test with what it says."""
        headers |= {"Authorization": f"Token {TOKEN}"}
        found = httpx2.request(method, f"{self.url}{path}", json=content, headers=headers, timeout=STEPS_S)
        assert found.is_success, f"{method} {path}: {found.status_code}: {found.text[:500]}"
        return found


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudio]:
    home = tmp_path_factory.mktemp("label-studio")
    files = home / "videos"
    (files / "clips").mkdir(parents=True)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [PROGRAM, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
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
    running = LabelStudio(f"http://127.0.0.1:{port}", files)
    try:
        _wait(running, process, home / "log")
        yield running
    finally:
        left: list[psutil.Process] = []
        if process.poll() is None:
            group = psutil.Process(process.pid)
            everybody = [group, *group.children(recursive=True)]
            os.killpg(process.pid, signal.SIGTERM)
            _, left = psutil.wait_procs(everybody, timeout=END_S)
            for one in left:
                one.kill()
            process.wait()
    assert not left, f"Label Studio left {left}"


def _wait(running: LabelStudio, process: subprocess.Popen[bytes], log: Path) -> None:
    latest = time.monotonic() + START_S
    while time.monotonic() < latest:
        assert process.poll() is None, log.read_text()[-2000:]
        with suppress(httpx2.TransportError):
            if httpx2.get(f"{running.url}/health", timeout=10).is_success:
                return
        time.sleep(1)
    raise TimeoutError(log.read_text()[-2000:])


def question_project(server: LabelStudio, video: Path) -> int:
    """A project with the tasks of a survey and the folder of its videos; its number."""
    shown = {task.texts["clip"]: SurveyVideo(video, has_sound=False) for task in TASKS}
    design = DESIGN.model_copy(update={"videos": str(server.files)})
    surveys = server.files.parent / "surveys.csv"
    surveys.write_text(as_sheet(survey_rows(TASKS, NO_QUALIFICATION, design, shown), COLUMNS))
    interface = {"title": "Toy", "label_config": label_studio_template("Answer.", ("question",))}
    number = int(server.ask("POST", "/api/projects", interface).json()["id"])
    storage = {"project": number, "path": str(video.parent), "use_blob_urls": False}
    server.ask("POST", "/api/storages/localfiles", storage)
    server.ask("POST", f"/api/projects/{number}/import", label_studio_tasks(surveys, "1"))
    return number


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


PAGE_MS = 300_000
SAID = {TASKS[0].task_id: ["A"], TASKS[1].task_id: ["B"], TASKS[2].task_id: ["A", "B"], TASKS[3].task_id: [None]}


@pytest.fixture(scope="module")
def video(label_studio: LabelStudio) -> Path:
    return barcode_video(label_studio.files / "clips" / NAME)


@pytest.fixture(scope="module")
def exports(label_studio: LabelStudio, video: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """A project's export after one answer, after all, and after one was corrected."""
    folder = tmp_path_factory.mktemp("exports")
    project = question_project(label_studio, video)
    numbers = tasks_of(label_studio, project)
    assert numbers.keys() == {task.task_id for task in TASKS}
    first = annotate(label_studio, numbers[TASKS[0].task_id], "A")
    half = export(label_studio, project, folder / "half.json")
    for task, choices in list(SAID.items())[1:]:
        for choice in choices:
            annotate(label_studio, numbers[task], choice)
    whole = export(label_studio, project, folder / "whole.json")
    label_studio.ask("PATCH", f"/api/annotations/{first}/", {"result": chosen("B")})
    corrected = export(label_studio, project, folder / "corrected.json")
    if "RECORD" in os.environ:  # the fixture of the unit tests
        for path in (half, whole, corrected):
            shutil.copy(path, Path(os.environ["RECORD"]) / f"label-studio-{path.name}")
    return half, whole, corrected


@contextmanager
def page_of(server: LabelStudio, project: int, task: int) -> Iterator[Page]:
    """A task in a browser, with its video loaded."""
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
        shown = page.inner_text("body")
    assert task["data"]["question"] in shown and "A[1]" in shown and "B[2]" in shown


def test_exports_are_answers(exports: tuple[Path, ...]) -> None:
    half, whole, corrected = exports
    assert [one.task_id for one in read_verdicts([half])] == [TASKS[0].task_id]
    votes = count_votes(TASKS, read_verdicts([half, whole]))
    (person,) = votes.by_task[TASKS[0].task_id]
    assert person.startswith("label-studio ")
    assert votes.by_task == {TASKS[0].task_id: {person: "A"}, TASKS[1].task_id: {person: "B"}}
    assert [one.problem for one in votes.problems] == ["two_verdicts"]
    votes = count_votes(TASKS, read_verdicts([corrected]))
    assert votes.by_task == {TASKS[0].task_id: {person: "B"}, TASKS[1].task_id: {person: "B"}}


def test_the_recorded_export_has_this_shape(exports: tuple[Path, ...]) -> None:
    recorded = Path(__file__).parents[1] / "data/people/label-studio-whole.json"
    now, before = (json.loads(path.read_text())[0] for path in (exports[1], recorded))
    assert before.keys() <= now.keys() and before["annotations"][0].keys() <= now["annotations"][0].keys()
