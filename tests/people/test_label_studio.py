"""Tasks go into a real Label Studio with videos that play, and its exports come back as answers."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, sync_playwright
from reprise.construction.review import (
    LOCAL_FILES,
    Task,
    as_task,
    counted,
    read_verdicts,
    task_rows,
    template,
)
from reprise.construction.velociti.review import OF_CAPTIONS, OF_SAMPLES
from reprise.media.probe import open_video

from tests.people.conftest import PASSWORD, TOKEN, USER, LabelStudio
from tests.people.project import (
    NAME,
    TASKS,
    annotate,
    chosen,
    export,
    make_project,
    question_project,
    tasks_of,
)
from tests.unit.videos import barcode_video

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


def test_videos_are_served_and_nothing_beside_them(
    label_studio: LabelStudio, video: Path, exports: tuple[Path, ...]
) -> None:
    """The address in a task gives the file, as a type and codec that browsers play."""
    address = f"{LOCAL_FILES}clips/{NAME}"
    whole = label_studio.ask("GET", address)
    assert whole.content == video.read_bytes() and whole.headers["Content-Type"] == "video/mp4"
    with open_video(video) as (_, stream):
        assert stream.codec_context.name == "h264"
    (label_studio.files / "beside.txt").write_text("not of the project")
    address = f"{label_studio.url}{LOCAL_FILES}beside.txt"
    assert httpx2.get(address, headers={"Authorization": f"Token {TOKEN}"}).status_code == 404


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
    votes = counted(TASKS, read_verdicts([half, whole]))
    (person,) = votes.by_task[TASKS[0].task_id]
    assert person.startswith("label-studio ")
    assert votes.by_task == {TASKS[0].task_id: {person: "A"}, TASKS[1].task_id: {person: "B"}}
    assert [one.problem for one in votes.problems] == ["two_verdicts"]
    votes = counted(TASKS, read_verdicts([corrected]))
    assert votes.by_task == {TASKS[0].task_id: {person: "B"}, TASKS[1].task_id: {person: "B"}}


def test_the_recorded_export_has_this_shape(exports: tuple[Path, ...]) -> None:
    recorded = Path(__file__).parents[1] / "data/people/label-studio-whole.json"
    now, before = (json.loads(path.read_text())[0] for path in (exports[1], recorded))
    assert before.keys() <= now.keys() and before["annotations"][0].keys() <= now["annotations"][0].keys()


def test_a_review_goes_the_same_way(label_studio: LabelStudio, video: Path, tmp_path: Path) -> None:
    """The tasks of VELOCITI's review: a pair, of which people see both captions, and a single caption."""
    tasks = [
        Task("sample/1", OF_SAMPLES, {"video": "toy", "positive": "A toy runs.", "negative": "A toy sits."}),
        Task("caption/1", OF_CAPTIONS, {"video": "toy", "positive": "A toy runs.", "negative": ""}),
    ]
    shown = [as_task(row, f"clips/{NAME}", row["options"]) for row in task_rows(tasks, counted(tasks, []), 1)]
    project = make_project(label_studio, template("Choose.", ("positive", "negative")), video, shown)
    numbers = tasks_of(label_studio, project)
    with page_of(label_studio, project, numbers["sample/1"]) as page:
        seen = page.inner_text("body")
    assert "A toy runs." in seen and "A toy sits." in seen and "negative is wrong" in seen
    for task, number in numbers.items():
        annotate(label_studio, number, "both fit" if task == "sample/1" else "neutral", "positive")
    votes = counted(tasks, read_verdicts([export(label_studio, project, tmp_path / "review.json")]))
    assert votes.problems == []
    assert [list(votes.by_task[task.task_id].values()) for task in tasks] == [["both fit"], ["neutral"]]
