"""Test the processes of a job: workers that prepare clips, and parallel copies of a model, also after a kill."""

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
from tests.unit.models.preparers import EchoModel
from tests.unit.requests import clip_frames, make_request, make_run_key
from tests.unit.videos import barcode_video


def clip(name: str) -> ClipFrames:
    return ClipFrames(name, None, (), ())


def make_requests(name: str) -> tuple[Request, ...]:
    return tuple(make_request(f"prompt {name} {number}", "write", request_id=f"{name}{number}") for number in range(3))


def make_clip_requests(*names: str) -> list[ClipRequests]:
    return [ClipRequests(clip(name), f"recipe {name}", make_requests(name)) for name in names]


@pytest.fixture
def run_summing_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, dict[str, Any]]]:
    """Return a function that runs one job with its own cache and returns the rows by request."""
    monkeypatch.setitem(
        ADAPTERS,
        "summing",
        AdapterInfo(f"{preparers.__name__}:SummingModel", preparer=f"{preparers.__name__}:Preparer"),
    )

    def run(
        worker_count: int, pending: list[ClipRequests], folder: str = "", **settings: str
    ) -> dict[str, dict[str, Any]]:
        key = make_run_key("summing", settings)
        cache_folder = tmp_path / (folder or f"{worker_count}")
        with LazyModel(key, Store(tmp_path), threads=1, worker_count=worker_count) as model:
            rows, timings = run_inference(
                pending, model, ResponseCache(cache_folder / "j.jsonl"), Failures(cache_folder / "f.jsonl", 3), key
            )
        run.timings = timings  # type: ignore[attr-defined]
        return {row["request_id"]: row for row in rows}

    return run


def list_cache_entries(path: Path) -> list[Any]:
    return [
        [*cached.answer.scores, entry, cached.answer.text]
        for entry, cached in ResponseCache(path)._response_by_entry_id.items()
    ]


CLIPS = [f"clip{number}" for number in range(9)]


def test_workers_change_neither_answers_nor_their_order(run_summing_job: Any, tmp_path: Path) -> None:
    in_process, by_workers = (
        run_summing_job(0, make_clip_requests(*CLIPS)),
        run_summing_job(2, make_clip_requests(*CLIPS)),
    )
    assert in_process == by_workers and list(in_process) == list(by_workers)
    assert in_process["clip00"]["text"] == f"prompt clip0 0: {9001 * 3 * 7 + 10}"
    assert list_cache_entries(tmp_path / "0/j.jsonl") == list_cache_entries(tmp_path / "2/j.jsonl")


def test_a_run_with_cached_responses_starts_no_worker(run_summing_job: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    first = run_summing_job(2, make_clip_requests(*CLIPS), "same")
    assert (
        run_summing_job(2, make_clip_requests(*CLIPS), "same", notes=str(notes), load="never") == first
        and not notes.exists()
    )


RAISED_FAULTS = {
    "value": ("failed", "ValueError: bad shape"),
    "media": ("corrupt", "frame 3"),
    "exit": ("failed", "SystemExit: 0"),
}
KILLED_FAULTS = {"sigkill": ("killed", "the process that prepared the frames was ended by SIGKILL")}


@pytest.mark.parametrize(("workers", "faults"), [(0, RAISED_FAULTS), (2, RAISED_FAULTS | KILLED_FAULTS)])
def test_a_fault_of_a_clip_fails_only_its_requests(
    workers: int, faults: dict[str, tuple[str, str]], run_summing_job: Any
) -> None:
    rows = run_summing_job(workers, make_clip_requests("clip0", *faults, *CLIPS[1:5]))
    failed = {name: (row["error"], row["message"]) for name, row in rows.items() if row["error"]}
    assert failed == {
        request.request_id: failure for fault, failure in faults.items() for request in make_requests(fault)
    }
    assert all(row["text"] for name, row in rows.items() if name not in failed)


@pytest.mark.parametrize(("fault", "kind"), [("user", UserError), ("machine", MachineError)])
def test_other_errors_end_the_job_and_keep_its_answers(
    fault: str, kind: type[Exception], run_summing_job: Any, tmp_path: Path
) -> None:
    with pytest.raises(kind):
        run_summing_job(1, make_clip_requests("clip0", fault, "clip1"))
    assert len(ResponseCache(tmp_path / "1/j.jsonl")) == 3


def test_timings_of_all_parts_survive_a_resume(run_summing_job: Any) -> None:
    pending = make_clip_requests("clip0", "clip1")
    run_summing_job(
        1,
        [make_clip_requests("clip0")[0], ClipRequests(clip("clip1"), "recipe clip1", make_requests("clip1")[:1])],
        "same",
    )
    first_timings = run_summing_job.timings
    run_summing_job(1, pending, "same")
    for row, first_row in zip(run_summing_job.timings, first_timings, strict=True):
        assert all(
            row[name] >= first_row[name] > 0 for name in ("decode", "preprocess", "waiting", "encode", "seconds")
        )
    assert [row["encode"] for row in run_summing_job.timings] == [0.25, 0.5], "both jobs encoded the second clip"


# --- copies -----------------------------------------------------------------------------------------------------------

KEY = RunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": {"adapter": "a", "sampling": {}}})
QUESTIONS = [
    make_request(f"Does the red circle {action}?", "score", ("Yes", "No")) for action in ("slide", "spin", "grow")
]
PRELOADED_MODULES = ("reprise.models.local.transformers",)


def run_inference_rows(model: Any, pending: Sequence[ClipRequests], folder: Path) -> list[dict[str, Any]]:
    rows, _ = run_inference(pending, model, ResponseCache(folder / "j"), Failures(folder / "f", 3), KEY)
    return rows


def run_on_two_copies(model: EchoModel, pending: Sequence[ClipRequests], folder: Path) -> list[dict[str, Any]]:
    make_function = partial(create_task_function, partial(nullcontext, model))
    with closing(create_copy(make_function)) as first, closing(create_copy(make_function)) as second:
        return run_inference_rows([first, second], pending, folder)


def test_two_copies_of_a_checkpoint_give_the_answers_of_one(tmp_path: Path) -> None:
    """With prepared clips from the same folder, the rows are identical to the last bit of a score."""
    key = make_run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")))
    videos = [barcode_video(tmp_path / f"{name}.mp4", 48, width=96, height=64) for name in "abcde"]
    pending = [
        ClipRequests(clip_frames(video, (index, 30)), f"recipe {index}", tuple(QUESTIONS))
        for index, video in enumerate(videos)
    ]
    open_lazy_model = partial(LazyModel, key, Store(tmp_path), 1)
    with open_lazy_model() as model:
        single_model_rows = run_inference_rows(model, pending, tmp_path / "one")
    with (
        closing(create_copy(partial(create_task_function, open_lazy_model), preload=PRELOADED_MODULES)) as first,
        closing(create_copy(partial(create_task_function, open_lazy_model), preload=PRELOADED_MODULES)) as second,
    ):
        assert run_inference_rows([first, second], pending, tmp_path / "two") == single_model_rows
    with open_lazy_model() as model:
        assert run_inference_rows(model, pending, tmp_path / "two") == single_model_rows, (
            "the cache of two copies also serves one model"
        )


def test_a_copy_stays_loaded_for_the_next_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    key = make_run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")))
    video = barcode_video(tmp_path / "v.mp4", 48, width=96, height=64)
    pending = [ClipRequests(clip_frames(video, (3, 30)), "recipe", tuple(QUESTIONS))]
    open_lazy_model = partial(LazyModel, key, Store(tmp_path), 1)
    with closing(create_copy(create_run_task_function, preload=PRELOADED_MODULES)) as copy:
        rows = []
        for name in ("one", "two"):
            list(copy.run_task(BeginRun(open_lazy_model, StderrRedirect())))
            rows.append(run_inference_rows([copy], pending, tmp_path / name))
            list(copy.run_task(BeginRun()))
    messages = capfd.readouterr().err
    assert [messages.count("loading the model of"), messages.count("is loaded already")] == [1, 1]
    with open_lazy_model() as model:
        assert rows == [run_inference_rows(model, pending, tmp_path / "here")] * 2


def test_a_request_that_kills_a_copy_fails_after_its_attempts(tmp_path: Path) -> None:
    message = r"^a process that runs the model was ended by SIGKILL\. Answers so far are kept\. Run the same command"
    for _ in range(1 + 3):  # a kill counts as an attempt only for a request that was sent alone
        with pytest.raises(MachineError, match=message):
            run_on_two_copies(EchoModel("clip31"), make_clip_requests(*CLIPS), tmp_path)
    rows = run_on_two_copies(EchoModel("clip31"), make_clip_requests(*CLIPS), tmp_path)
    assert {row["request_id"]: row["error"] for row in rows if row["error"]} == {"clip31": "killed"}


def test_ctrl_c_ends_the_copies_of_a_job_and_blames_no_request(tmp_path: Path) -> None:
    previous_handler = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a pytest worker process ignores SIGINT
    try:
        with pytest.raises(KeyboardInterrupt):
            run_on_two_copies(EchoModel("clip31", signal.SIGINT, os.getpid()), make_clip_requests(*CLIPS), tmp_path)
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    assert not [child for child in multiprocessing.active_children() if child.name == "inference"]
    assert [row["error"] for row in run_on_two_copies(EchoModel(), make_clip_requests(*CLIPS), tmp_path)] == [""] * 27
    assert not (tmp_path / "f").exists()


def test_copies_reserve_memory_for_the_largest_clip_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without clips, the reserve is half of the weights; with clips, it follows from the largest clip's size."""
    FakeDriver(tmp_path, monkeypatch).report(gpu(0, 0), gpu(1, 0))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    key = make_run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")), gpus=2)
    clips = [clip_frames(barcode_video(tmp_path / "v.mp4", 12, width=96, height=64), (1, 5))]
    for run_clips, preferred_gb in (((), "6e-05"), (clips, "1")):
        job = open_model(key, Store(tmp_path), 2, is_needed=True, clips=run_clips)
        with pytest.raises(UserError, match=f"better {preferred_gb} GB for clips"), job:
            pass


def test_a_job_with_several_gpus_starts_a_copy_on_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no GPU here, so each copy fails, and nothing is recorded."""
    FakeDriver(tmp_path, monkeypatch).report(gpu(0), gpu(1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    key = make_run_key("text", checkpoint=str(tiny.llama(tmp_path / "llama")), gpus=2)
    with open_model(key, Store(tmp_path), 2, is_needed=True) as model:
        assert isinstance(model, list) and len(model) == 2
        with pytest.raises(UserError, match="requests a GPU .* finds none that it can use"):
            run_inference_rows(model, make_clip_requests(*CLIPS), tmp_path)
    assert not (tmp_path / "j").exists() and not (tmp_path / "f").exists()
    with open_model(key, Store(tmp_path), 2, is_needed=False) as model:
        assert isinstance(model, LazyModel), "without pending requests, the job does not wait for a GPU"
    spread_key = key.model_copy(update={"gpus_per_copy": 2})
    with open_model(spread_key, Store(tmp_path), 2, is_needed=True) as model:
        assert isinstance(model, LazyModel), "one copy uses both GPUs"


def test_closing_a_resident_copy_wakes_the_thread_that_waits_for_its_answer() -> None:
    parent_end, copy_end = multiprocessing.Pipe()
    copy = ResidentCopy(parent_end)
    with ThreadPoolExecutor(1) as threads, copy_end, parent_end:
        waiting = threads.submit(list, copy.run_task("question"))
        assert copy_end.recv() == ("question",)
        time.sleep(0.5)  # until it waits for the answer
        copy.close()
        with pytest.raises(WorkerDiedError):
            waiting.result(timeout=30)
