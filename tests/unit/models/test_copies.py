"""Copies of a model that are asked side by side: the same answers as of one, and what a kill leaves behind."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.errors import MachineError, UserError
from reprise.core.schemas import RESPONSES, write_table
from reprise.core.store import Store
from reprise.models.asking.job import shares_of
from reprise.models.asking.journal import Failures, Journal, Work
from reprise.models.asking.lazy import LazyModel, copy_of, model_on
from reprise.models.base import Clip
from reprise.models.keys import RunKey
from reprise.stages.infer import ask_all

from tests.unit.asked import request, run_key, shown
from tests.unit.models.adapters import tiny
from tests.unit.models.preparers import Echo
from tests.unit.videos import barcode_video

KEY = RunKey.model_validate({"run": "b/p/s/m", "key": "k", "answers": {"adapter": "a", "sampling": {}}})
QUESTIONS = [request(f"Does the red circle {deed}?", "score", ("Yes", "No")) for deed in ("slide", "spin", "grow")]
LOADED = ("reprise.models.local.transformers",)
NAMES = [f"c{number}" for number in range(9)]


def works(*names: str) -> list[Work]:
    asked = {name: [request(f"{name} {at}", "write", request_id=f"{name}{at}") for at in range(3)] for name in names}
    return [Work(Clip(name, None, (), ()), f"recipe {name}", tuple(requests)) for name, requests in asked.items()]


def rows_of(model: Any, asked: Sequence[Work], folder: Path) -> list[dict[str, Any]]:
    rows, _ = ask_all(asked, model, Journal(folder / "j"), Failures(folder / "f", 3), KEY)
    return rows


def by_copies(model: Echo, asked: Sequence[Work], folder: Path, count: int = 2) -> list[dict[str, Any]]:
    copies = [copy_of(partial(nullcontext, model)) for _ in range(count)]
    try:
        return rows_of(copies, asked, folder)
    finally:
        for copy in copies:
            copy.close()


def written(rows: list[dict[str, Any]], folder: Path) -> bytes:
    path = folder / "responses.parquet"
    write_table(pl.DataFrame(rows, schema=RESPONSES), path, RESPONSES)
    return path.read_bytes()


def test_a_checkpoint_in_two_copies_answers_as_one(tmp_path: Path) -> None:
    """With prepared clips, from the same folder: the table of the answers is the same, byte for byte."""
    key = run_key("transformers", checkpoint=str(tiny.llava(tmp_path / "llava")))
    videos = [barcode_video(tmp_path / f"{name}.mp4", 48, width=96, height=64) for name in "abcde"]
    asked = [Work(shown(video, (place, 30)), f"recipe {place}", tuple(QUESTIONS)) for place, video in enumerate(videos)]
    make = partial(LazyModel, key, Store(tmp_path), 1)
    with make() as model:
        one = written(rows_of(model, asked, tmp_path / "one"), tmp_path)
    with closing(copy_of(make, preload=LOADED)) as first, closing(copy_of(make, preload=LOADED)) as second:
        assert written(rows_of([first, second], asked, tmp_path / "two"), tmp_path) == one
    with make() as model:
        assert written(rows_of(model, asked, tmp_path / "two"), tmp_path) == one, "its journal serves one model too"


def test_clips_are_shared_out_always_alike_and_the_same_frames_together() -> None:
    twin = works("c8")[0]
    asked = [*works(*NAMES), Work(Clip("twin", None, (), ()), twin.recipe, twin.requests)]
    names = [[work.clip.clip_id for work in share] for share in shares_of(asked, 4)]
    assert names == [["c0", "c4", "c8", "twin"], ["c1", "c5"], ["c2", "c6"], ["c3", "c7"]]
    judged = [Work(Clip(name, None, (), ()), "", ()) for name in NAMES]
    assert [len(share) for share in shares_of(judged, 2)] == [5, 4], "texts have no frames"


def test_a_question_that_kills_a_copy_is_found_and_given_up_at_last(tmp_path: Path) -> None:
    message = r"^a process that asked the model was ended by SIGKILL\. What was answered is kept: run the same command"
    for _ in range(1 + 3):  # a kill costs an attempt where one question was asked alone
        with pytest.raises(MachineError, match=message):
            by_copies(Echo("c31"), works(*NAMES), tmp_path)
    rows = by_copies(Echo("c31"), works(*NAMES), tmp_path)
    assert {row["request_id"]: row["error"] for row in rows if row["error"]} == {"c31": "killed"}


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """As Python treats it; a process that runs tests beside others ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_person_who_ends_the_job_ends_its_copies(tmp_path: Path, ctrl_c: None) -> None:
    """As by Ctrl-C: at once, and no question is suspected."""
    journal = tmp_path / "j"

    def interrupt() -> None:
        while not journal.is_file() or len(Journal(journal)) < 6:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        by_copies(Echo(waits_at=("c2", "c3")), works(*NAMES), tmp_path)
    assert not [one for one in multiprocessing.active_children() if one.name == "asking"]
    assert [row["error"] for row in by_copies(Echo(), works(*NAMES), tmp_path)] == [""] * 27
    assert not (tmp_path / "f").exists()


def test_a_job_with_several_gpus_starts_a_copy_on_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the GPU itself, which is not here: each copy says so, and nothing is recorded."""
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\nfor gpu in 0 1; do echo "$gpu, GPU-$gpu, 81007"; done\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    key = run_key("text", checkpoint=str(tiny.llama(tmp_path / "llama")), gpus=2)
    with model_on(key, Store(tmp_path), 2, is_needed=True) as model:
        assert isinstance(model, list) and len(model) == 2
        with pytest.raises(UserError, match="asks for a GPU .* finds none that it can use"):
            rows_of(model, works(*NAMES), tmp_path)
    assert not (tmp_path / "j").exists() and not (tmp_path / "f").exists()
    with model_on(key, Store(tmp_path), 2, is_needed=False) as model:
        assert isinstance(model, LazyModel), "where all is answered, no GPU is waited for"
