"""Benchmark a job with a simulated device, which sleeps for the estimated time while workers prepare clips.

For each kind of work it measures whether this machine's cores prepare clips as fast as the device consumes them.
Another benchmark runs a job whose answers are all cached.
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
from reprise.core.schemas import CLIP_MANIFEST, FRAME_PLAN, REQUESTS, write_table
from reprise.core.settings_text import format_settings_line
from reprise.core.store import Store
from reprise.models.base import Answer, ClipFrames, ModelSpec, PendingRequests, PreparedClip, Request
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path
from reprise.models.inference.workers import ClipPrefetcher
from reprise.models.keys import ModelRunKey
from reprise.plan.site import count_copies, count_threads
from reprise.stages.clip_requests import gather_clip_requests

from bench.checkpoints import SIZE_7B, write_checkpoint_without_weights
from bench.engine import clip_of, questions, spec_of
from bench.media import write_clip
from bench.rounds import Ratio, cpu_seconds

FRAMES, SIZE, SECONDS = 32, (1280, 720), 10  # Planned frames, frame size and length of the clip.
CLIPS = 16
BUSY = 0.9  # Minimum share of time in which the device must work.
# Seconds to prepare and to answer a clip: the device needs three quarters of a copy's workers.
PREPARED_S, ANSWER_S = 0.6, 0.1
CACHED_JOB_S = 2.0  # Maximum CPU seconds of a job whose answers are all cached.
# LLaVA-OneVision-7B with 32 frames on one H100: estimates, not measured. Operations to encode a clip with the shared
# prompt prefix, and for each question; the operations per second of each; the minimum time of a call and of a token.
ENCODING, QUESTION = 111.5e12, 0.78e12
RATE, RATE_SHORT = 0.45 * 989e12, 0.30 * 989e12
CALL_S, TOKEN_S, ROWS = 0.030, 0.025, 16


class WorkKind(NamedTuple):
    """A kind of work: the number of questions about a clip, and of tokens in each answer."""

    name: str
    questions: int
    tokens: int = 0

    @property
    def seconds(self) -> float:
        """Return the device time per clip."""
        calls = -(-self.questions // ROWS)
        decoding_s = calls * self.tokens * TOKEN_S
        return ENCODING / RATE + self.questions * QUESTION / RATE_SHORT + (1 + calls) * CALL_S + decoding_s


KINDS = (
    WorkKind("score 20 captions", 20),
    WorkKind("score 81 captions", 81),
    WorkKind("choose 20 times, 16 tokens", 20, 16),
    WorkKind("write a caption of 100 tokens", 1, 100),
    WorkKind("write 3 answers of 250 tokens", 3, 250),
)


def ratios(folder: Path, cores: int = 2, clips: int = CLIPS) -> Iterator[Ratio]:
    """Yield the busy share of the device for each kind of work for which the cores can keep it busy."""
    path = write_clip(folder / "device.mp4", SECONDS, SIZE)
    write_checkpoint_without_weights(folder / "LLaVA-OneVision-7B", "LLaVA-OneVision", SIZE_7B)
    spec = spec_of(folder / "LLaVA-OneVision-7B", dtype="bfloat16")
    _, preparation_s = run(path, spec, WorkKind("nothing", 20), 0.0, cores, clips)
    for kind in KINDS:
        if kind.seconds < preparation_s:
            print(f"         {kind.name}: the device takes {kind.seconds:.2f} s a clip, {cores} cores prepare one in "
                  f"{preparation_s:.2f} s: they cannot keep it busy", flush=True)  # fmt: skip
            continue
        busy_share, _ = run(path, spec, kind, kind.seconds, cores, clips)
        name = f"busy: {kind.name} ({kind.seconds:.2f} s a clip; {cores} cores prepare one in {preparation_s:.2f} s)"
        yield Ratio(name, busy_share, BUSY, is_at_most=False)


def run(path: Path, spec: ModelSpec, kind: WorkKind, seconds: float, cores: int, clips: int) -> tuple[float, float]:
    """Return the share of time in which the device works, and the seconds per clip, after the first prepared clip.

    `seconds` is the device time per clip, for which this process sleeps.
    """
    requests = questions(kind.questions)
    clip_list = [clip_of(path, FRAMES, f"clip {number}") for number in range(clips + 1)]
    with ClipPrefetcher("reprise.models.local.clip_preparer:ClipPreparer", spec, cores) as worker_pool:
        worker_pool.set_upcoming(PendingRequests(clip, requests) for clip in clip_list)
        assert isinstance(worker_pool.take(clip_list[0], requests), PreparedClip)
        start = time.monotonic()
        for clip in clip_list[1:]:
            time.sleep(seconds)
            assert isinstance(worker_pool.take(clip, requests), PreparedClip)
        wall_s = time.monotonic() - start
    return clips * seconds / wall_s, wall_s / clips


class SleepingPreparer:
    """Preparer that needs a fixed time but no CPU, as if there were enough cores."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec

    def read(self, clip: ClipFrames) -> None:
        time.sleep(PREPARED_S)

    def prepare(self, clip: ClipFrames, frames: None, requests: Sequence[Request]) -> int:
        return 0


def copies(folder: Path) -> Iterator[Ratio]:
    """Measure the lowest busy share among several devices, with as many workers as their job gets."""
    del folder
    for count in (1, 8):
        model = Model(label="simulated", adapter="oracle", gpus=count)
        workers = count_threads(model, count_copies(model)) // count
        with ThreadPoolExecutor(count) as devices:
            shares = list(devices.map(_share_of_copy, [workers] * count))
        name = f"busy: {count} copies, {workers} workers each; {PREPARED_S} s to prepare a clip, {ANSWER_S} s to answer"
        yield Ratio(name, min(shares), BUSY, is_at_most=False)


def _share_of_copy(workers: int, clips: int = 100) -> float:
    """Return the busy share of one simulated device with so many workers."""
    clip_list = [ClipFrames(f"clip {number}", None, (), ()) for number in range(clips + 1)]
    spec = ModelSpec(None, "cpu", 1, "float32", "sdpa", False, {})
    with ClipPrefetcher(f"{__name__}:SleepingPreparer", spec, workers) as worker_pool:
        worker_pool.set_upcoming(PendingRequests(clip, ()) for clip in clip_list)
        worker_pool.take(clip_list[0], ())
        start = time.monotonic()
        for clip in clip_list[1:]:
            time.sleep(ANSWER_S)
            worker_pool.take(clip, ())
        return clips * ANSWER_S / (time.monotonic() - start)


def cached_job(folder: Path, clips: int = 100, questions_per_clip: int = 20) -> Iterator[Ratio]:
    """Measure a job of a native model whose answers are all in the response cache."""
    command = cached_job_command(folder, clips, questions_per_clip)
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path)}
    processes: list[subprocess.CompletedProcess[str]] = []
    cpu_s = cpu_seconds(
        lambda: processes.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True))
    )
    name = f"CPU seconds of a job with {clips * questions_per_clip} cached answers"
    yield Ratio(name, cpu_s, CACHED_JOB_S)
    modules = [
        line.rpartition("|")[2].strip() for line in processes[0].stderr.splitlines() if line.startswith("import time:")
    ]
    heavy_modules = sum(module.split(".")[0] in ("torch", "transformers") for module in modules)
    yield Ratio(f"modules of torch and transformers that it imports, of {len(modules)}", heavy_modules, 0)


def cached_job_command(folder: Path, clips: int, questions_per_clip: int) -> list[str]:
    """Write all inputs of the job, and return its command."""
    answers: dict[str, Any] = {
        "adapter": "transformers", "sampling": {"rule": "linspace", "frames": 8}, "model": {}, "settings": {},
        "dtype": "float32", "attention": "sdpa", "trust_remote_code": False, "prompt": {"user": "{caption}"},
        "form": "x", "request_type": "score", "max_tokens": 1, "versions": {},
    }  # fmt: skip
    key = ModelRunKey.model_validate({"run": "b/p/s/m", "key": "0" * 64, "answers": answers, "checkpoint": "nowhere"})
    store = Store(folder / "store")
    names = [f"clip{number}" for number in range(clips)]
    requests = pl.DataFrame(
        [_request_row(name, number) for name in names for number in range(questions_per_clip)], schema=REQUESTS
    )
    plans = pl.DataFrame([_frame_plan_row(name) for name in names], schema=FRAME_PLAN)
    manifest = pl.DataFrame([_manifest_row(name) for name in names], schema=CLIP_MANIFEST)
    cache = ResponseCache(get_response_cache_path(store, key.key))
    for clip_requests in gather_clip_requests(requests, plans, manifest, store):
        for entry_id in clip_requests.entry_ids:
            cache.add(entry_id, Answer(scores=(0.5, 0.4), frames_shown=8, tokens_in=1000), 0.1)
    tables = {"requests": (requests, REQUESTS), "frames": (plans, FRAME_PLAN), "manifests": (manifest, CLIP_MANIFEST)}
    for name, (table, schema) in tables.items():
        write_table(table, folder / f"{name}.parquet", schema)
    settings = format_settings_line("b/p/s/m", key.model_dump(mode="json"))
    command = [sys.executable, "-X", "importtime", "-m", "reprise.stages", "--store", str(folder / "store")]
    command += ["--attempts", "3", "infer", "--settings", settings]
    command += [part for name in tables for part in (f"--{name}", str(folder / f"{name}.parquet"))]
    command += ["--threads", "2", "--responses", str(folder / "out.parquet")]
    return [*command, "--timings", str(folder / "timings.parquet"), "--log", str(folder / "log")]


def _request_row(clip: str, number: int) -> dict[str, Any]:
    """Return the row of a request about a clip."""
    name = f"{clip}.{number}"
    return {
        "request_id": name, "item_id": name, "clip_id": clip, "role": "pos", "request_type": "score", "system": "",
        "prompt": f"caption {number}", "options": ["Yes", "No"], "option_texts": [], "expected": "Yes", "max_tokens": 1,
    }  # fmt: skip


def _frame_plan_row(clip: str) -> dict[str, Any]:
    return {"clip_id": clip, "indices": list(range(8)), "times_s": [index / 8 for index in range(8)], "note": ""}


def _manifest_row(clip: str) -> dict[str, Any]:
    """Return the row of a clip in the manifest."""
    return {
        "clip_id": clip, "cluster": clip, "status": "ok", "object": "clips/none.mp4", "recipe": clip, "sha256": "",
        "bytes": 1, "black_start": None, "black_end": None, "message": "",
    }  # fmt: skip
