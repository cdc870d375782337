"""Run jobs of the stage `infer` that query a server: their key, their inputs, and their process."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from reprise.core.schemas import CLIP_MANIFEST, FRAME_PLAN, REQUESTS, write_table
from reprise.core.settings_text import format_settings_line
from reprise.core.store import Store, read_lines
from reprise.models.adapters import ADAPTERS
from reprise.models.base import ClipFrames
from reprise.models.inference.lazy import create_lazy_model
from reprise.models.inference.money.prices import Budget
from reprise.models.inference.response_cache import (
    ClipRequests,
    Failures,
    ResponseCache,
    compute_entry_id,
    compute_frames_digest,
    compute_prompt_digest,
    get_failures_path,
    get_response_cache_path,
)
from reprise.models.keys import ModelRunKey
from reprise.stages.infer import run_inference

from tests.unit import requests
from tests.unit.models.chat_server import MODEL, ChatServer
from tests.unit.requests import make_request
from tests.unit.rows import request_row
from tests.unit.videos import RATE, barcode_video

KEY = "sk-test-0123456789abcdefghij"
IS_FULL_TEST = os.environ.get("FAULTS") == "whole"
KILL_COUNT, CLIP_COUNT = (20, 40) if IS_FULL_TEST else (1, 3)
REQUESTS_PER_CLIP, FRAMES = 6, (2, 9, 30)
# Price of a vendor in these tests, per million tokens.
PRICE = {"input": 1000, "output": 10_000, "date": "2026-11-22", "source": "a page"}
BUDGET = ("100", "0")
LARGE_BUDGET = Budget(100.0, 0)


def make_key(server: ChatServer, adapter: str = "openai", price: dict[str, Any] | None = None, **settings: Any) -> ModelRunKey:  # fmt: skip
    address = {"url": server.url, "server": "toy"} if adapter == "openai" else {"url": server.url.removesuffix("/v1")}
    return make_divided_key(adapter, {**address, "model": MODEL, "retries": 0, "key": None, **settings}, price=price)


def make_divided_key(adapter: str, settings: dict[str, Any], serving: Any = None, without: Sequence[str] = (), **fields: Any) -> ModelRunKey:  # fmt: skip
    """Return the key of a run, with its settings divided as in planning."""
    all_settings = ADAPTERS[adapter].settings.model_validate(settings).model_dump()
    neutral = ADAPTERS[adapter].answer_neutral_settings
    answer_settings = {name: value for name, value in all_settings.items() if name not in neutral}
    key = requests.make_run_key(adapter, answer_settings, serving, **fields)
    names = neutral.difference(without) & all_settings.keys()
    return key.model_copy(update={"serving": {name: all_settings[name] for name in names}})


def run_in_process(key: ModelRunKey, batches: Sequence[ClipRequests], folder: Path, budget: Budget = LARGE_BUDGET) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:  # fmt: skip
    """Return the rows of responses and timings of a job in this process."""
    store = Store(folder)
    with create_lazy_model(key, store, 1, budget=budget) as model:
        cache = ResponseCache(get_response_cache_path(store, key.key))
        return run_inference(batches, model, cache, Failures(get_failures_path(store, key.key), 3), key)


def make_text_batches(clip_count: int = 4, requests_per_clip: int = 4) -> list[ClipRequests]:
    return [
        ClipRequests(ClipFrames(f"c{number}", None, (), ()), f"recipe {number}", tuple(
            make_request(f"c{number} {n}", "write", request_id=f"c{number}#{n}") for n in range(requests_per_clip)
        ))
        for number in range(clip_count)
    ]  # fmt: skip


class Job:
    """Inputs of the stage: clips in a store, their frames, and requests."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.store = folder, Store(folder / "store")
        video = barcode_video(folder / "v.mp4", 48, width=32, height=32)
        manifest, plans, rows = [], [], []
        for number in range(CLIP_COUNT):
            name, copy = f"c{number}", folder / f"{number}.mp4"
            copy.write_bytes(video.read_bytes())
            path = self.store.add_file(copy, "clips", f"{number:064d}", ".mp4")
            plans.append(
                {"clip_id": name, "indices": FRAMES, "times_s": [frame / RATE for frame in FRAMES], "note": ""}
            )
            manifest.append({
                "clip_id": name, "cluster": name, "status": "ok", "object": str(path.relative_to(self.store.root)),
                "recipe": f"recipe {number}", "sha256": self.store.digest(path), "bytes": path.stat().st_size,
                "black_start": None, "black_end": None, "message": "",
            })  # fmt: skip
            rows += [
                request_row(
                    f"{name}.{n}#pos",
                    clip_id=name,
                    request_type="write",
                    prompt=f"{name} {n}",
                    max_tokens=8,
                    options=[],
                )
                for n in range(REQUESTS_PER_CLIP)
            ]
        write_table(pl.DataFrame(manifest, schema=CLIP_MANIFEST), folder / "clips.parquet", CLIP_MANIFEST)
        write_table(pl.DataFrame(plans, schema=FRAME_PLAN), folder / "frames.parquet", FRAME_PLAN)
        write_table(pl.DataFrame(rows, schema=REQUESTS), folder / "requests.parquet", REQUESTS)
        times = [frame / RATE for frame in FRAMES]
        frames = compute_frames_digest(manifest[0]["sha256"], FRAMES, times, None)  # the same for all clips
        self.entries = {
            compute_entry_id(
                frames, compute_prompt_digest(make_request(f"c{number} {n}", "write", max_tokens=8))
            ): f"c{number} {n}"
            for number in range(CLIP_COUNT)
            for n in range(REQUESTS_PER_CLIP)
        }

    def start(
        self, key: ModelRunKey, store: Path | None = None, budget: tuple[str, str] = BUDGET, **environment: str
    ) -> subprocess.Popen[bytes]:
        inputs = {
            "settings": format_settings_line("b/p/s/m", key.model_dump(mode="json")), "requests": "requests.parquet", "frames": "frames.parquet", "manifests": "clips.parquet",
            "threads": "1", "responses": "out.parquet", "timings": "t.parquet",
            "log": "log",
        }  # fmt: skip
        command = [sys.executable, "-m", "reprise.stages", "--store", str(store or "store"), "--attempts", "3"]
        command += ["--budget", *budget, "infer"]
        command += [argument for name, value in inputs.items() for argument in (f"--{name}", value)]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stderr=log, env=os.environ | environment)

    def run(self, key: ModelRunKey, budget: tuple[str, str] = BUDGET, **environment: str) -> int:
        return self.start(key, budget=budget, **environment).wait(120)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def cached_prompts(self, key: ModelRunKey) -> set[str]:
        """Return the prompts with a cached response."""
        return {self.entries[str(line[0])] for line in read_lines(get_response_cache_path(self.store, key.key))}
