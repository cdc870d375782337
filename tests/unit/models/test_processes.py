"""Processes of a job: clips that are prepared ahead, and copies of a model side by side. The same answers, and what a
kill leaves behind."""

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
from reprise.models.asking.copies import Begin, answering, answering_runs, copy_of, model_on
from reprise.models.asking.journal import Failures, Journal, Work
from reprise.models.asking.kept import KeptCopy
from reprise.models.asking.lazy import LazyModel
from reprise.models.asking.workers import StandardError, WorkerDiedError
from reprise.models.base import Clip, Request
from reprise.models.keys import RunKey
from reprise.stages.infer import ask_all

from tests.unit.asked import request, run_key, shown
from tests.unit.models import preparers
from tests.unit.models.adapters import tiny
from tests.unit.models.fake_driver import FakeDriver, gpu
from tests.unit.models.preparers import Echo
from tests.unit.videos import barcode_video


def clip(name: str) -> Clip:
    return Clip(name, None, (), ())


def questions(name: str) -> tuple[Request, ...]:
    return tuple(request(f"prompt {name} {number}", "write", request_id=f"{name}{number}") for number in range(3))


def works(*names: str) -> list[Work]:
    return [Work(clip(name), f"recipe {name}", questions(name)) for name in names]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, dict[str, Any]]]:
    """One job with so many workers; its rows by question, and its journal and failures in a folder of its own."""
    monkeypatch.setitem(
        ADAPTERS, "summing", AdapterInfo(f"{preparers.__name__}:Summing", preparer=f"{preparers.__name__}:Preparer")
    )

    def run(workers: int, asked: list[Work], folder: str = "", **settings: str) -> dict[str, dict[str, Any]]:
        key = run_key("summing", settings)
        place = tmp_path / (folder or f"{workers}")
        with LazyModel(key, Store(tmp_path), threads=1, workers=workers) as model:
            rows, timings = ask_all(asked, model, Journal(place / "j.jsonl"), Failures(place / "f.jsonl", 3), key)
        run.timings = timings  # type: ignore[attr-defined]
        return {row["request_id"]: row for row in rows}

    return run


def without_times(path: Path) -> list[Any]:
    return [[*found.answer.scores, entry, found.answer.text] for entry, found in Journal(path)._entries.items()]


CLIPS = [f"clip{number}" for number in range(9)]


def test_workers_change_neither_answers_nor_their_order(ask: Any, tmp_path: Path) -> None:
    here, ahead = ask(0, works(*CLIPS)), ask(2, works(*CLIPS))
    assert here == ahead and list(here) == list(ahead)
    assert here["clip00"]["text"] == f"prompt clip0 0: {9001 * 3 * 7 + 10}"
    assert without_times(tmp_path / "0/j.jsonl") == without_times(tmp_path / "2/j.jsonl")


def test_a_run_whose_answers_are_journaled_starts_no_worker(ask: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    first = ask(2, works(*CLIPS), "same")
    assert ask(2, works(*CLIPS), "same", notes=str(notes), load="never") == first and not notes.exists()


BY_ITSELF = {
    "value": ("failed", "ValueError: bad shape"),
    "media": ("corrupt", "frame 3"),
    "exit": ("failed", "SystemExit: 0"),
}
BY_ITS_END = {"sigkill": ("killed", "the process that prepared its frames was ended by SIGKILL")}


@pytest.mark.parametrize(("workers", "faults"), [(0, BY_ITSELF), (2, BY_ITSELF | BY_ITS_END)])
def test_what_befalls_a_clip_is_its_failure_alone(workers: int, faults: dict[str, tuple[str, str]], ask: Any) -> None:
    rows = ask(workers, works("clip0", *faults, *CLIPS[1:5]))
    failed = {name: (row["error"], row["message"]) for name, row in rows.items() if row["error"]}
    assert failed == {one.request_id: found for fault, found in faults.items() for one in questions(fault)}
    assert all(row["text"] for name, row in rows.items() if name not in failed)


@pytest.mark.parametrize(("fault", "kind"), [("user", UserError), ("machine", MachineError)])
def test_what_is_no_failure_of_a_clip_ends_the_job_and_what_was_answered_stays(
    fault: str, kind: type[Exception], ask: Any, tmp_path: Path
) -> None:
    with pytest.raises(kind):
        ask(1, works("clip0", fault, "clip1"))
    assert len(Journal(tmp_path / "1/j.jsonl")) == 3


def test_timings_of_all_parts_survive_a_resume(ask: Any) -> None:
    asked = works("clip0", "clip1")
    ask(1, [works("clip0")[0], Work(clip("clip1"), "recipe clip1", questions("clip1")[:1])], "same")
    before = ask.timings
    ask(1, asked, "same")
    for row, old in zip(ask.timings, before, strict=True):
        assert all(row[name] >= old[name] > 0 for name in ("decode", "preprocess", "waiting", "encode", "seconds"))
    assert [row["encode"] for row in ask.timings] == [0.25, 0.5], "the second was encoded in both sittings"


# --- copies -----------------------------------------------------------------------------------------------------------

KEY = RunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": {"adapter": "a", "sampling": {}}})
QUESTIONS = [request(f"Does the red circle {deed}?", "score", ("Yes", "No")) for deed in ("slide", "spin", "grow")]
LOADED = ("reprise.models.local.transformers",)


def rows_of(model: Any, asked: Sequence[Work], folder: Path) -> list[dict[str, Any]]:
    rows, _ = ask_all(asked, model, Journal(folder / "j"), Failures(folder / "f", 3), KEY)
    return rows


def by_copies(model: Echo, asked: Sequence[Work], folder: Path) -> list[dict[str, Any]]:
    make = partial(answering, partial(nullcontext, model))
    with closing(copy_of(make)) as first, closing(copy_of(make)) as second:
        return rows_of([first, second], asked, folder)


def test_a_checkpoint_in_two_copies_answers_as_one(tmp_path: Path) -> None:
    """With prepared clips, from the same folder: the rows are the same, to the last bit of a score."""
    key = run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")))
    videos = [barcode_video(tmp_path / f"{name}.mp4", 48, width=96, height=64) for name in "abcde"]
    asked = [Work(shown(video, (place, 30)), f"recipe {place}", tuple(QUESTIONS)) for place, video in enumerate(videos)]
    make = partial(LazyModel, key, Store(tmp_path), 1)
    with make() as model:
        one = rows_of(model, asked, tmp_path / "one")
    with (
        closing(copy_of(partial(answering, make), preload=LOADED)) as first,
        closing(copy_of(partial(answering, make), preload=LOADED)) as second,
    ):
        assert rows_of([first, second], asked, tmp_path / "two") == one
    with make() as model:
        assert rows_of(model, asked, tmp_path / "two") == one, "its journal serves one model too"


def test_a_copy_stays_loaded_for_the_next_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key = run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")))
    video = barcode_video(tmp_path / "v.mp4", 48, width=96, height=64)
    asked = [Work(shown(video, (3, 30)), "recipe", tuple(QUESTIONS))]
    make = partial(LazyModel, key, Store(tmp_path), 1)
    with closing(copy_of(answering_runs, preload=LOADED)) as copy:
        rows = []
        for name in ("one", "two"):
            list(copy.results(Begin(make, StandardError())))
            rows.append(rows_of([copy], asked, tmp_path / name))
            list(copy.results(Begin()))
    said = capfd.readouterr().err
    assert [said.count("loading the model of"), said.count("is loaded already")] == [1, 1]
    with make() as model:
        assert rows == [rows_of(model, asked, tmp_path / "here")] * 2


def test_a_question_that_kills_a_copy_is_found_and_given_up_at_last(tmp_path: Path) -> None:
    message = r"^a process that asked the model was ended by SIGKILL\. What was answered is kept: run the same command"
    for _ in range(1 + 3):  # a kill costs an attempt where one question was asked alone
        with pytest.raises(MachineError, match=message):
            by_copies(Echo("clip31"), works(*CLIPS), tmp_path)
    rows = by_copies(Echo("clip31"), works(*CLIPS), tmp_path)
    assert {row["request_id"]: row["error"] for row in rows if row["error"]} == {"clip31": "killed"}


def test_ctrl_c_ends_the_copies_of_a_job_at_once_and_suspects_no_question(tmp_path: Path) -> None:
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a process that runs tests beside others ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            by_copies(Echo("clip31", signal.SIGINT, os.getpid()), works(*CLIPS), tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not [one for one in multiprocessing.active_children() if one.name == "asking"]
    assert [row["error"] for row in by_copies(Echo(), works(*CLIPS), tmp_path)] == [""] * 27
    assert not (tmp_path / "f").exists()


def test_copies_have_room_for_the_largest_clip_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound for any model is half of its weights at most; the room for a clip of the run is what the clip takes."""
    FakeDriver(tmp_path, monkeypatch).says(gpu(0, 0), gpu(1, 0))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    key = run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")), gpus=2)
    clips = [shown(barcode_video(tmp_path / "v.mp4", 12, width=96, height=64), (1, 5))]
    for given, better in (((), "6e-05"), (clips, "1")):
        job = model_on(key, Store(tmp_path), 2, is_needed=True, clips=given)
        with pytest.raises(UserError, match=f"better {better} GB for clips"), job:
            pass


def test_a_job_with_several_gpus_starts_a_copy_on_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the GPU itself, which is not here: each copy says so, and nothing is recorded."""
    FakeDriver(tmp_path, monkeypatch).says(gpu(0), gpu(1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    key = run_key("text", checkpoint=str(tiny.llama(tmp_path / "llama")), gpus=2)
    with model_on(key, Store(tmp_path), 2, is_needed=True) as model:
        assert isinstance(model, list) and len(model) == 2
        with pytest.raises(UserError, match="asks for a GPU .* finds none that it can use"):
            rows_of(model, works(*CLIPS), tmp_path)
    assert not (tmp_path / "j").exists() and not (tmp_path / "f").exists()
    with model_on(key, Store(tmp_path), 2, is_needed=False) as model:
        assert isinstance(model, LazyModel), "where all is answered, no GPU is waited for"
    both = key.model_copy(update={"gpus_per_copy": 2})
    with model_on(both, Store(tmp_path), 2, is_needed=True) as model:
        assert isinstance(model, LazyModel), "one copy has both"


def test_closing_a_kept_copy_wakes_the_thread_that_waits_for_its_answer() -> None:
    ours, theirs = multiprocessing.Pipe()
    copy = KeptCopy(ours)
    with ThreadPoolExecutor(1) as threads, theirs, ours:
        waiting = threads.submit(list, copy.results("question"))
        assert theirs.recv() == ("question",)
        time.sleep(0.5)  # until it waits for the answer
        copy.close()
        with pytest.raises(WorkerDiedError):
            waiting.result(timeout=30)
