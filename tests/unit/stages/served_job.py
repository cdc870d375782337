"""Whole jobs of the stage `infer` that ask a server: their key, their inputs, and how they are started and killed."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, REQUESTS, write_table
from reprise.core.settings_text import settings_text
from reprise.core.store import Store, read_lines
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.journal import (
    Failures,
    Journal,
    Work,
    entry_id,
    failures_path,
    frames_digest,
    journal_path,
    prompt_digest,
)
from reprise.models.asking.lazy import lazy_model
from reprise.models.asking.money.prices import Budget
from reprise.models.base import Clip
from reprise.models.keys import ModelRunKey
from reprise.stages.infer import ask_all

from tests.unit import asked
from tests.unit.asked import request
from tests.unit.models.chat_server import MODEL, ChatServer
from tests.unit.rows import request_row
from tests.unit.videos import RATE, barcode_video

KEY = "sk-test-0123456789abcdefghij"
IS_WHOLE = os.environ.get("FAULTS") == "whole"
KILLS, CLIPS = (20, 40) if IS_WHOLE else (1, 3)
QUESTIONS, FRAMES = 6, (2, 9, 30)
# What a vendor takes in these tests, for a million tokens.
PRICE = {"input": 1000, "output": 10_000, "date": "2026-11-22", "source": "a page"}
BUDGET = ("100", "0")
PLENTY = Budget(100.0, 0)


def key_of(server: ChatServer, adapter: str = "openai", price: dict[str, Any] | None = None, **settings: Any) -> ModelRunKey:  # fmt: skip
    place = {"url": server.url, "server": "toy"} if adapter == "openai" else {"url": server.url.removesuffix("/v1")}
    return run_key(adapter, {**place, "model": MODEL, "retries": 0, "key": None, **settings}, price=price)


def run_key(adapter: str, own: dict[str, Any], serving: Any = None, without: Sequence[str] = (), **more: Any) -> ModelRunKey:  # fmt: skip
    """The key of a run, its settings divided as planning does."""
    whole, beside = ADAPTERS[adapter].settings.model_validate(own).model_dump(), ADAPTERS[adapter].beside_answers
    found = asked.run_key(adapter, {name: one for name, one in whole.items() if name not in beside}, serving, **more)
    return found.model_copy(
        update={"serving": {name: whole[name] for name in beside.difference(without) & whole.keys()}}
    )


def asked_here(key: ModelRunKey, works: Sequence[Work], folder: Path, budget: Budget = PLENTY) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:  # fmt: skip
    """Rows of responses and of timings of a job in this process."""
    store = Store(folder)
    with lazy_model(key, store, 1, budget=budget) as model:
        journal, failures = Journal(journal_path(store, key.key)), Failures(failures_path(store, key.key), 3)
        return ask_all(works, model, journal, failures, key)


def blind_works(clips: int = 4, questions: int = 4) -> list[Work]:
    return [
        Work(Clip(f"c{at}", None, (), ()), f"recipe {at}", tuple(
            request(f"c{at} {n}", "write", request_id=f"c{at}#{n}") for n in range(questions)
        ))
        for at in range(clips)
    ]  # fmt: skip


class Job:
    """The inputs of the stage: clips in a store, frames of them, and questions."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.store = folder, Store(folder / "store")
        video = barcode_video(folder / "v.mp4", 48, width=32, height=32)
        ledger, plans, rows = [], [], []
        for at in range(CLIPS):
            name, copy = f"c{at}", folder / f"{at}.mp4"
            copy.write_bytes(video.read_bytes())
            kept = self.store.keep_file(copy, "clips", f"{at:064d}", ".mp4")
            plans.append({"clip_id": name, "indices": FRAMES, "times_s": [one / RATE for one in FRAMES], "note": ""})
            ledger.append({
                "clip_id": name, "unit": name, "status": "ok", "object": str(kept.relative_to(self.store.root)),
                "recipe": f"recipe {at}", "sha256": self.store.digest(kept), "bytes": kept.stat().st_size,
                "black_start": None, "black_end": None, "message": "",
            })  # fmt: skip
            rows += [
                request_row(
                    f"{name}.{n}#pos", clip_id=name, ask="write", prompt=f"{name} {n}", max_tokens=8, options=[]
                )
                for n in range(QUESTIONS)
            ]
        write_table(pl.DataFrame(ledger, schema=CLIP_LEDGER), folder / "clips.parquet", CLIP_LEDGER)
        write_table(pl.DataFrame(plans, schema=FRAME_PLAN), folder / "frames.parquet", FRAME_PLAN)
        write_table(pl.DataFrame(rows, schema=REQUESTS), folder / "requests.parquet", REQUESTS)
        frames = frames_digest(ledger[0]["sha256"], FRAMES, [one / RATE for one in FRAMES], None)  # of all clips
        self.entries = {
            entry_id(frames, prompt_digest(request(f"c{at} {n}", "write", max_tokens=8))): f"c{at} {n}"
            for at in range(CLIPS)
            for n in range(QUESTIONS)
        }

    def start(
        self, key: ModelRunKey, store: Path | None = None, budget: tuple[str, str] = BUDGET, **environment: str
    ) -> subprocess.Popen[bytes]:
        inputs = {
            "settings": settings_text("b/p/s/m", key.model_dump(mode="json")), "requests": "requests.parquet", "frames": "frames.parquet", "ledgers": "clips.parquet",
            "threads": "1", "responses": "out.parquet", "timings": "t.parquet",
            "log": "log",
        }  # fmt: skip
        command = [sys.executable, "-m", "reprise.stages", "--store", str(store or "store"), "--attempts", "3"]
        command += ["--budget", *budget, "infer"]
        command += [word for name, value in inputs.items() for word in (f"--{name}", value)]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stderr=log, env=os.environ | environment)

    def run(self, key: ModelRunKey, budget: tuple[str, str] = BUDGET, **environment: str) -> int:
        return self.start(key, budget=budget, **environment).wait(120)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def journaled(self, key: ModelRunKey) -> set[str]:
        """The prompts whose answers are kept."""
        return {self.entries[str(line[0])] for line in read_lines(journal_path(self.store, key.key))}
