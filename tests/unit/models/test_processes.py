"""Processes of a job: clips that are prepared ahead, and parallel copies of a model, also after a kill."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import MachineError, UserError
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS, AdapterInfo
from reprise.models.base import ClipFrames, Request
from reprise.models.inference.copies import (
    BeginRun,
    create_copy,
    create_run_task_function,
    create_task_function,
    open_model,
)
from reprise.models.inference.lazy import LazyModel
from reprise.models.inference.resident import ResidentCopy
from reprise.models.inference.response_cache import ClipRequests, Failures, ResponseCache
from reprise.models.inference.workers import StderrRedirect, WorkerDiedError
from reprise.models.keys import RunKey
from reprise.stages.infer import run_inference

from tests.unit.models import preparers
from tests.unit.models.adapters import tiny
from tests.unit.models.fake_driver import FakeDriver, gpu
from tests.unit.models.preparers import Echo
from tests.unit.requests import request, run_key, shown
from tests.unit.videos import barcode_video


def clip(name: str) -> ClipFrames:
    return ClipFrames(name, None, (), ())


def questions(name: str) -> tuple[Request, ...]:
    return tuple(request(f"prompt {name} {number}", "write", request_id=f"{name}{number}") for number in range(3))


def works(*names: str) -> list[ClipRequests]:
    return [ClipRequests(clip(name), f"recipe {name}", questions(name)) for name in names]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, dict[str, Any]]]:
    """Return a function that runs one job and returns its rows by request; its cache and failures are in one folder."""
    monkeypatch.setitem(
        ADAPTERS, "summing", AdapterInfo(f"{preparers.__name__}:Summing", preparer=f"{preparers.__name__}:Preparer")
    )

    def run(workers: int, asked: list[ClipRequests], folder: str = "", **settings: str) -> dict[str, dict[str, Any]]:
        key = run_key("summing", settings)
        place = tmp_path / (folder or f"{workers}")
        with LazyModel(key, Store(tmp_path), threads=1, workers=workers) as model:
            rows, timings = run_inference(
                asked, model, ResponseCache(place / "j.jsonl"), Failures(place / "f.jsonl", 3), key
            )
        run.timings = timings  # type: ignore[attr-defined]
        return {row["request_id"]: row for row in rows}

    return run


def without_times(path: Path) -> list[Any]:
    return [[*found.answer.scores, entry, found.answer.text] for entry, found in ResponseCache(path)._entries.items()]


CLIPS = [f"clip{number}" for number in range(9)]


def test_workers_change_neither_answers_nor_their_order(ask: Any, tmp_path: Path) -> None:
    here, ahead = ask(0, works(*CLIPS)), ask(2, works(*CLIPS))
    assert here == ahead and list(here) == list(ahead)
    assert here["clip00"]["text"] == f"prompt clip0 0: {9001 * 3 * 7 + 10}"
    assert without_times(tmp_path / "0/j.jsonl") == without_times(tmp_path / "2/j.jsonl")


def test_a_run_with_cached_responses_starts_no_worker(ask: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    first = ask(2, works(*CLIPS), "same")
    assert ask(2, works(*CLIPS), "same", notes=str(notes), load="never") == first and not notes.exists()


BY_ITSELF = {
    "value": ("failed", "ValueError: bad shape"),
    "media": ("corrupt", "frame 3"),
    "exit": ("failed", "SystemExit: 0"),
}
BY_ITS_END = {"sigkill": ("killed", "the process that prepared the frames was ended by SIGKILL")}


@pytest.mark.parametrize(("workers", "faults"), [(0, BY_ITSELF), (2, BY_ITSELF | BY_ITS_END)])
def test_a_fault_of_a_clip_fails_only_its_requests(workers: int, faults: dict[str, tuple[str, str]], ask: Any) -> None:
    rows = ask(workers, works("clip0", *faults, *CLIPS[1:5]))
    failed = {name: (row["error"], row["message"]) for name, row in rows.items() if row["error"]}
    assert failed == {one.request_id: found for fault, found in faults.items() for one in questions(fault)}
    assert all(row["text"] for name, row in rows.items() if name not in failed)


@pytest.mark.parametrize(("fault", "kind"), [("user", UserError), ("machine", MachineError)])
def test_other_errors_end_the_job_and_keep_its_answers(
    fault: str, kind: type[Exception], ask: Any, tmp_path: Path
) -> None:
    with pytest.raises(kind):
        ask(1, works("clip0", fault, "clip1"))
    assert len(ResponseCache(tmp_path / "1/j.jsonl")) == 3


def test_timings_of_all_parts_survive_a_resume(ask: Any) -> None:
    asked = works("clip0", "clip1")
    ask(1, [works("clip0")[0], ClipRequests(clip("clip1"), "recipe clip1", questions("clip1")[:1])], "same")
    before = ask.timings
    ask(1, asked, "same")
    for row, old in zip(ask.timings, before, strict=True):
        assert all(row[name] >= old[name] > 0 for name in ("decode", "preprocess", "waiting", "encode", "seconds"))
    assert [row["encode"] for row in ask.timings] == [0.25, 0.5], "the second was encoded in both jobs"


# --- copies -----------------------------------------------------------------------------------------------------------

KEY = RunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": {"adapter": "a", "sampling": {}}})
QUESTIONS = [request(f"Does the red circle {deed}?", "score", ("Yes", "No")) for deed in ("slide", "spin", "grow")]
LOADED = ("reprise.models.local.transformers",)


def rows_of(model: Any, asked: Sequence[ClipRequests], folder: Path) -> list[dict[str, Any]]:
    rows, _ = run_inference(asked, model, ResponseCache(folder / "j"), Failures(folder / "f", 3), KEY)
    return rows


def by_copies(model: Echo, asked: Sequence[ClipRequests], folder: Path) -> list[dict[str, Any]]:
    make = partial(create_task_function, partial(nullcontext, model))
    with closing(create_copy(make)) as first, closing(create_copy(make)) as second:
        return rows_of([first, second], asked, folder)


def test_two_copies_of_a_checkpoint_give_the_answers_of_one(tmp_path: Path) -> None:
    """With prepared clips from the same folder, the rows are identical to the last bit of a score."""
    key = run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")))
    videos = [barcode_video(tmp_path / f"{name}.mp4", 48, width=96, height=64) for name in "abcde"]
    asked = [
        ClipRequests(shown(video, (place, 30)), f"recipe {place}", tuple(QUESTIONS))
        for place, video in enumerate(videos)
    ]
    make = partial(LazyModel, key, Store(tmp_path), 1)
    with make() as model:
        one = rows_of(model, asked, tmp_path / "one")
    with (
        closing(create_copy(partial(create_task_function, make), preload=LOADED)) as first,
        closing(create_copy(partial(create_task_function, make), preload=LOADED)) as second,
    ):
        assert rows_of([first, second], asked, tmp_path / "two") == one
    with make() as model:
        assert rows_of(model, asked, tmp_path / "two") == one, "the cache of two copies also serves one model"


def test_a_copy_stays_loaded_for_the_next_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key = run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")))
    video = barcode_video(tmp_path / "v.mp4", 48, width=96, height=64)
    asked = [ClipRequests(shown(video, (3, 30)), "recipe", tuple(QUESTIONS))]
    make = partial(LazyModel, key, Store(tmp_path), 1)
    with closing(create_copy(create_run_task_function, preload=LOADED)) as copy:
        rows = []
        for name in ("one", "two"):
            list(copy.run_task(BeginRun(make, StderrRedirect())))
            rows.append(rows_of([copy], asked, tmp_path / name))
            list(copy.run_task(BeginRun()))
    said = capfd.readouterr().err
    assert [said.count("loading the model of"), said.count("is loaded already")] == [1, 1]
    with make() as model:
        assert rows == [rows_of(model, asked, tmp_path / "here")] * 2


def test_a_request_that_kills_a_copy_fails_after_its_attempts(tmp_path: Path) -> None:
    message = r"^a process that runs the model was ended by SIGKILL\. Answers so far are kept\. Run the same command"
    for _ in range(1 + 3):  # a kill costs an attempt where one question was asked alone
        with pytest.raises(MachineError, match=message):
            by_copies(Echo("clip31"), works(*CLIPS), tmp_path)
    rows = by_copies(Echo("clip31"), works(*CLIPS), tmp_path)
    assert {row["request_id"]: row["error"] for row in rows if row["error"]} == {"clip31": "killed"}


def test_ctrl_c_ends_the_copies_of_a_job_and_makes_no_request_a_suspect(tmp_path: Path) -> None:
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a process that runs tests beside others ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            by_copies(Echo("clip31", signal.SIGINT, os.getpid()), works(*CLIPS), tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not [one for one in multiprocessing.active_children() if one.name == "inference"]
    assert [row["error"] for row in by_copies(Echo(), works(*CLIPS), tmp_path)] == [""] * 27
    assert not (tmp_path / "f").exists()


def test_copies_have_room_for_the_largest_clip_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upper bound for any model is half of its weights; for a clip of the run, its actual size counts."""
    FakeDriver(tmp_path, monkeypatch).report(gpu(0, 0), gpu(1, 0))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    key = run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")), gpus=2)
    clips = [shown(barcode_video(tmp_path / "v.mp4", 12, width=96, height=64), (1, 5))]
    for given, better in (((), "6e-05"), (clips, "1")):
        job = open_model(key, Store(tmp_path), 2, is_needed=True, clips=given)
        with pytest.raises(UserError, match=f"better {better} GB for clips"), job:
            pass


def test_a_job_with_several_gpus_starts_a_copy_on_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no GPU here, so each copy fails, and nothing is recorded."""
    FakeDriver(tmp_path, monkeypatch).report(gpu(0), gpu(1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    key = run_key("text", checkpoint=str(tiny.llama(tmp_path / "llama")), gpus=2)
    with open_model(key, Store(tmp_path), 2, is_needed=True) as model:
        assert isinstance(model, list) and len(model) == 2
        with pytest.raises(UserError, match="requests a GPU .* finds none that it can use"):
            rows_of(model, works(*CLIPS), tmp_path)
    assert not (tmp_path / "j").exists() and not (tmp_path / "f").exists()
    with open_model(key, Store(tmp_path), 2, is_needed=False) as model:
        assert isinstance(model, LazyModel), "without pending requests, the job does not wait for a GPU"
    both = key.model_copy(update={"gpus_per_copy": 2})
    with open_model(both, Store(tmp_path), 2, is_needed=True) as model:
        assert isinstance(model, LazyModel), "one copy has both"


def test_closing_a_resident_copy_wakes_the_thread_that_waits_for_its_answer() -> None:
    ours, theirs = multiprocessing.Pipe()
    copy = ResidentCopy(ours)
    with ThreadPoolExecutor(1) as threads, theirs, ours:
        waiting = threads.submit(list, copy.run_task("question"))
        assert theirs.recv() == ("question",)
        time.sleep(0.5)  # until it waits for the answer
        copy.close()
        with pytest.raises(WorkerDiedError):
            waiting.result(timeout=30)
