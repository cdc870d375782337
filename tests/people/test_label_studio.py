"""Tasks go into a real Label Studio with videos that play, and its exports come back as answers."""

import json
import os
import shutil
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import sync_playwright
from reprise.construction.label_studio import LOCAL_FILES, as_task, template
from reprise.construction.review import Task, counted, read_verdicts, task_rows
from reprise.media.probe import open_video

from tests.people.conftest import PASSWORD, TOKEN, USER, LabelStudio
from tests.people.project import NAME, TASKS, annotate, export, make_project, tasks_of
from tests.unit.videos import barcode_video

PAGE_MS = 300_000
SAID = {TASKS[0].task_id: ["A"], TASKS[1].task_id: ["B"], TASKS[2].task_id: ["A", "B"], TASKS[3].task_id: [None]}


@pytest.fixture(scope="module")
def video(label_studio: LabelStudio) -> Path:
    return barcode_video(label_studio.files / "clips" / NAME)


@pytest.fixture(scope="module")
def exports(label_studio: LabelStudio, video: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project's export after one answer, and after all."""
    folder = tmp_path_factory.mktemp("exports")
    project = make_project(label_studio, video)
    numbers = tasks_of(label_studio, project)
    assert numbers.keys() == {task.task_id for task in TASKS}
    annotate(label_studio, numbers[TASKS[0].task_id], "A")
    half = export(label_studio, project, folder / "half.json")
    for task, choices in list(SAID.items())[1:]:
        for choice in choices:
            annotate(label_studio, numbers[task], choice)
    whole = export(label_studio, project, folder / "whole.json")
    if "RECORD" in os.environ:  # the fixture of the unit tests
        for path in (half, whole):
            shutil.copy(path, Path(os.environ["RECORD"]) / f"label-studio-{path.name}")
    return half, whole


def test_videos_are_served_and_nothing_beside_them(
    label_studio: LabelStudio, video: Path, exports: tuple[Path, Path]
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


def test_a_browser_plays_the_video_and_shows_the_choices(label_studio: LabelStudio, exports: tuple[Path, Path]) -> None:
    task = json.loads(exports[1].read_text())[0]
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PAGE_MS)
        page.goto(f"{label_studio.url}/user/login")
        page.fill("input[name=email]", USER)
        page.fill("input[name=password]", PASSWORD)
        page.click("button[type=submit]")
        page.wait_for_url(lambda address: "login" not in address)
        page.goto(f"{label_studio.url}/projects/{task['project']}/data?task={task['id']}")
        page.wait_for_selector("video", state="attached")
        page.wait_for_function("document.querySelector('video').readyState >= 2")
        page.evaluate("document.querySelector('video').muted = true; document.querySelector('video').play()")
        page.wait_for_function("document.querySelector('video').currentTime > 0.5")
        shown = page.inner_text("body")
        browser.close()
    assert task["data"]["question"] in shown and "A[1]" in shown and "B[2]" in shown


def test_exports_are_answers(exports: tuple[Path, Path]) -> None:
    half, whole = exports
    assert [one.task_id for one in read_verdicts([half])] == [TASKS[0].task_id]
    votes = counted(TASKS, read_verdicts([half, whole]))
    (person,) = votes.by_task[TASKS[0].task_id]
    assert person.startswith("label-studio ")
    assert votes.by_task == {TASKS[0].task_id: {person: "A"}, TASKS[1].task_id: {person: "B"}}
    assert [one.problem for one in votes.problems] == ["two_verdicts"]


def test_another_projects_export_is_named(exports: tuple[Path, Path]) -> None:
    others = [task._replace(task_id=f"other/{task.task_id}") for task in TASKS]
    votes = counted(others, read_verdicts([exports[0]]))
    assert votes.by_task == {} and [one.problem for one in votes.problems] == ["foreign_task"]


def test_the_recorded_export_has_this_shape(exports: tuple[Path, Path]) -> None:
    recorded = Path(__file__).parents[1] / "data/people/label-studio-whole.json"
    now, before = (json.loads(path.read_text())[0] for path in (exports[1], recorded))
    assert before.keys() <= now.keys() and before["annotations"][0].keys() <= now["annotations"][0].keys()


def test_a_review_goes_the_same_way(label_studio: LabelStudio, tmp_path: Path) -> None:
    """The tasks of a construction's review, with other choices for each kind of task."""
    tasks = [
        Task("sample/1", ("both fit", "negative is wrong"), {"positive": "A toy runs.", "negative": "A toy sits."}),
        Task("caption/1", ("positive", "neutral"), {"positive": "A toy runs.", "negative": ""}),
    ]
    rows = task_rows(tasks, counted(tasks, []), 1)
    content = {"title": "Toy review", "label_config": template("Choose.", ("positive", "negative"))}
    project = int(label_studio.ask("POST", "/api/projects", content).json()["id"])
    shown = [as_task(row, f"clips/{NAME}", row["options"]) for row in rows]
    label_studio.ask("POST", f"/api/projects/{project}/import", shown)
    for task, number in tasks_of(label_studio, project).items():
        annotate(label_studio, number, "both fit" if task == "sample/1" else "neutral", "positive")
    votes = counted(tasks, read_verdicts([export(label_studio, project, tmp_path / "review.json")]))
    assert votes.problems == []
    assert [list(votes.by_task[task.task_id].values()) for task in tasks] == [["both fit"], ["neutral"]]
