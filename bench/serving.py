"""Benchmark the client of a server that answers after 50 ms. All other time, and all CPU time, is the client's.

The ideal client always has the configured number of requests in flight. Time counts from the first answer, because a
job first starts a worker process.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from reprise.models.base import ClipFrames, ModelSpec, PendingRequests
from reprise.models.remote.openai import OpenAIAdapter

from bench.engine import clip_of, questions
from bench.media import write_clip
from bench.rounds import Ratio
from bench.slow_server import MODEL, SECONDS

FRAMES, SIZE, CLIP_SECONDS = 8, (320, 180), 10  # Planned frames, frame size and length of a clip.
CLIPS, QUESTIONS, CONCURRENCY = 60, 20, 8  # Clips, questions about each, and concurrent requests.
MIN_SHARE_OF_IDEAL, MAX_CPU_MS = 0.9, 3.0


class ClientCost(NamedTuple):
    """Share of the ideal that a job reaches, and CPU milliseconds of this process per request."""

    share: float
    cpu_ms: float


def ratios(folder: Path) -> Iterator[Ratio]:
    """Yield the share of the ideal that the client reaches, and its CPU time per request."""
    path = write_clip(folder / "serving.mp4", CLIP_SECONDS, SIZE)
    cost = measure_job(clip_of(path, FRAMES), CLIPS, CONCURRENCY)
    name = f"{QUESTIONS} questions a clip, {CONCURRENCY} at a time, a server that takes {1000 * SECONDS:.0f} ms"
    yield Ratio(f"{name}: share of the ideal", cost.share, MIN_SHARE_OF_IDEAL, is_at_most=False)
    yield Ratio(f"{name}: ms of CPU a request", cost.cpu_ms, MAX_CPU_MS)


def measure_job(clip: ClipFrames, clips: int, concurrency: int) -> ClientCost:
    """Run a job with a number of clips, each of which is decoded and encoded."""
    requests = [replace(request, request_type="choose") for request in questions(QUESTIONS)]
    pending = [
        PendingRequests(
            replace(clip, clip_id=str(number)),
            tuple(replace(request, request_id=f"{number} {request.request_id}") for request in requests),
        )
        for number in range(clips)
    ]
    with slow_server() as url:
        settings = {"url": url, "model": MODEL, "concurrency": concurrency, "check_frames": False}
        outcomes = OpenAIAdapter(ModelSpec(None, "cpu", 1, "float32", "sdpa", False, settings)).answers_in_any_order(
            pending
        )
        assert not next(outcomes).answer.error
        start, start_cpu = time.monotonic(), _cpu_seconds()
        failed = [outcome for outcome in outcomes if outcome.answer.error]
        seconds, cpu = time.monotonic() - start, _cpu_seconds() - start_cpu
    assert not failed, failed[0]
    count = clips * QUESTIONS - 1
    return ClientCost(count / concurrency * SECONDS / seconds, 1000 * cpu / count)


@contextmanager
def slow_server() -> Iterator[str]:
    """Run the slow server, and yield its address."""
    command = [sys.executable, "-m", "bench.slow_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
