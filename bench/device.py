"""A job whose device is simulated: it sleeps as long as the estimates for a real one say, while workers prepare clips.

Says of every kind of work whether the cores here can prepare clips as fast as the device asks for them. And a job whose
answers are all journaled.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from reprise.config.model import Model
from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, REQUESTS, write_table
from reprise.core.settings_text import settings_text
from reprise.core.store import Store
from reprise.models.asking.journal import Journal, journal_path
from reprise.models.asking.workers import Ahead
from reprise.models.base import Answer, Clip, Due, ModelSpec, Ready, Request
from reprise.models.keys import ModelRunKey
from reprise.plan.site import copies_of, threads_of
from reprise.stages.works import gather_work

from bench.checkpoints import REAL, write_processor
from bench.engine import clip_of, questions, spec_of
from bench.media import write_clip
from bench.rounds import Ratio, cpu_seconds

FRAMES, SIZE, SECONDS = 32, (1280, 720), 10
CLIPS, BUSY = 16, 0.9
# Of a simulated device that asks for a clip as fast as three quarters of a copy's workers prepare them.
PREPARED_S, ASKED_S = 0.6, 0.1
JOURNALED_S = 2.0
# LLaVA-OneVision-7B with 32 frames on one H100: estimates, not measured. Operations of encoding a clip with what its
# questions begin with, and of each question; the rate at which each is done; what a call and a token take at least.
ENCODING, QUESTION = 111.5e12, 0.78e12
RATE, RATE_SHORT = 0.45 * 989e12, 0.30 * 989e12
CALL_S, TOKEN_S, ROWS = 0.030, 0.025, 16


class Kind(NamedTuple):
    """A kind of work: questions about a clip, and tokens that each answer has."""

    name: str
    questions: int
    tokens: int = 0

    @property
    def seconds(self) -> float:
        """That the device takes for a clip."""
        calls = -(-self.questions // ROWS)
        writing = calls * self.tokens * TOKEN_S
        return ENCODING / RATE + self.questions * QUESTION / RATE_SHORT + (1 + calls) * CALL_S + writing


KINDS = (
    Kind("score 20 captions", 20),
    Kind("score 81 captions", 81),
    Kind("choose 20 times, 16 tokens", 20, 16),
    Kind("write a caption of 100 tokens", 1, 100),
    Kind("write 3 answers of 250 tokens", 3, 250),
)


def ratios(folder: Path, cores: int = 2, clips: int = CLIPS) -> Iterator[Ratio]:
    path = write_clip(folder / "device.mp4", SECONDS, SIZE)
    write_processor(folder / "LLaVA-OneVision-7B", "LLaVA-OneVision", REAL)
    spec = spec_of(folder / "LLaVA-OneVision-7B", dtype="bfloat16")
    _, needed = run(path, spec, Kind("nothing", 20), 0.0, cores, clips)
    for kind in KINDS:
        if kind.seconds < needed:
            print(f"         {kind.name}: the device takes {kind.seconds:.2f} s a clip, {cores} cores prepare one in "
                  f"{needed:.2f} s: they cannot keep it busy", flush=True)  # fmt: skip
            continue
        busy, _ = run(path, spec, kind, kind.seconds, cores, clips)
        name = f"busy: {kind.name} ({kind.seconds:.2f} s a clip; {cores} cores prepare one in {needed:.2f} s)"
        yield Ratio(name, busy, BUSY, is_at_most=False)


def run(path: Path, spec: ModelSpec, kind: Kind, seconds: float, cores: int, clips: int) -> tuple[float, float]:
    """The share of the time that the device works, and seconds a clip, from when the first clip is there."""
    asked = questions(kind.questions)
    shown = [clip_of(path, FRAMES, f"clip {number}") for number in range(clips + 1)]
    with Ahead("reprise.models.local.prepared:ClipPreparer", spec, cores) as ahead:
        ahead.expect(Due(clip, asked) for clip in shown)
        assert isinstance(ahead.take(shown[0], asked), Ready)
        start = time.monotonic()
        for clip in shown[1:]:
            time.sleep(seconds)
            assert isinstance(ahead.take(clip, asked), Ready)
        wall = time.monotonic() - start
    return clips * seconds / wall, wall / clips


class Sleeping:
    """Prepares a clip in a given time that costs no processor, as on a machine with enough of them."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec

    def read(self, clip: Clip) -> None:
        time.sleep(PREPARED_S)

    def prepare(self, clip: Clip, frames: None, requests: Sequence[Request]) -> int:
        return 0


def copies(folder: Path) -> Iterator[Ratio]:
    """The share of the time in which each of several devices works, with as many workers as their job is given."""
    del folder
    for count in (1, 8):
        model = Model(label="simulated", adapter="oracle", gpus=count)
        workers = threads_of(model, copies_of(model)) // count
        with ThreadPoolExecutor(count) as devices:
            shares = list(devices.map(_share_of_copy, [workers] * count))
        name = f"busy: {count} copies, {workers} workers each; {PREPARED_S} s to prepare a clip, {ASKED_S} s to ask"
        yield Ratio(name, min(shares), BUSY, is_at_most=False)


def _share_of_copy(workers: int, clips: int = 100) -> float:
    shown = [Clip(f"clip {number}", None, (), ()) for number in range(clips + 1)]
    spec = ModelSpec(None, "cpu", 1, "float32", "sdpa", False, {})
    with Ahead(f"{__name__}:Sleeping", spec, workers) as ahead:
        ahead.expect(Due(clip, ()) for clip in shown)
        ahead.take(shown[0], ())
        start = time.monotonic()
        for clip in shown[1:]:
            time.sleep(ASKED_S)
            ahead.take(clip, ())
        return clips * ASKED_S / (time.monotonic() - start)


def journaled(folder: Path, clips: int = 100, each: int = 20) -> Iterator[Ratio]:
    """A job of a native model whose answers are all there."""
    command = journaled_job(folder, clips, each)
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path)}
    found: list[subprocess.CompletedProcess[str]] = []
    spent = cpu_seconds(
        lambda: found.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True))
    )
    name = f"CPU seconds of a job with {clips * each} journaled answers"
    yield Ratio(name, spent, JOURNALED_S)
    loaded = [
        line.rpartition("|")[2].strip() for line in found[0].stderr.splitlines() if line.startswith("import time:")
    ]
    heavy = sum(module.split(".")[0] in ("torch", "transformers") for module in loaded)
    yield Ratio(f"modules of torch and transformers that it imports, of {len(loaded)}", heavy, 0)


def journaled_job(folder: Path, clips: int, each: int) -> list[str]:
    """The command of the job, once all that it reads is written."""
    answers: dict[str, Any] = {
        "adapter": "transformers", "sampling": {"rule": "linspace", "frames": 8}, "model": {}, "settings": {},
        "dtype": "float32", "attention": "sdpa", "trust_remote_code": False, "prompt": {"user": "{caption}"},
        "form": "x", "ask": "score", "max_tokens": 1, "versions": {},
    }  # fmt: skip
    key = ModelRunKey.model_validate({"run": "b/p/s/m", "key": "0" * 64, "answers": answers, "checkpoint": "nowhere"})
    store = Store(folder / "store")
    names = [f"clip{number}" for number in range(clips)]
    requests = pl.DataFrame([_row(name, at) for name in names for at in range(each)], schema=REQUESTS)
    plans = pl.DataFrame([_plan(name) for name in names], schema=FRAME_PLAN)
    ledger = pl.DataFrame([_clip(name) for name in names], schema=CLIP_LEDGER)
    journal = Journal(journal_path(store, key.key))
    for work in gather_work(requests, plans, ledger, store):
        for entry in work.entries:
            journal.add(entry, Answer(scores=(0.5, 0.4), frames_shown=8, tokens_in=1000), 0.1)
    tables = {"requests": (requests, REQUESTS), "frames": (plans, FRAME_PLAN), "ledgers": (ledger, CLIP_LEDGER)}
    for name, (table, schema) in tables.items():
        write_table(table, folder / f"{name}.parquet", schema)
    settings = settings_text("b/p/s/m", key.model_dump(mode="json"))
    command = [sys.executable, "-X", "importtime", "-m", "reprise.stages", "--store", str(folder / "store")]
    command += ["--attempts", "3", "infer", "--settings", settings]
    command += [part for name in tables for part in (f"--{name}", str(folder / f"{name}.parquet"))]
    command += ["--threads", "2", "--responses", str(folder / "out.parquet")]
    return [*command, "--timings", str(folder / "timings.parquet"), "--log", str(folder / "log")]


def _row(clip: str, at: int) -> dict[str, Any]:
    name = f"{clip}.{at}"
    return {
        "request_id": name, "item_id": name, "clip_id": clip, "role": "pos", "ask": "score", "system": "",
        "prompt": f"caption {at}", "options": ["Yes", "No"], "option_texts": [], "expected": "Yes", "max_tokens": 1,
    }  # fmt: skip


def _plan(clip: str) -> dict[str, Any]:
    return {"clip_id": clip, "indices": list(range(8)), "times_s": [at / 8 for at in range(8)], "note": ""}


def _clip(clip: str) -> dict[str, Any]:
    return {
        "clip_id": clip, "unit": clip, "status": "ok", "object": "clips/none.mp4", "recipe": clip, "sha256": "",
        "bytes": 1, "black_start": None, "black_end": None, "message": "",
    }  # fmt: skip
