"""What asking a server costs here: its answers come after 50 ms, so every other moment and all CPU is the client's.

The ideal is that as many questions as are configured are on their way at every moment. Time counts from the first
answer: before it a worker process is started once a job.
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

from reprise.models.base import Clip, Due, ModelSpec
from reprise.models.remote.openai import OpenAIAdapter

from bench.engine import clip_of, questions
from bench.media import write_clip
from bench.rounds import Ratio
from bench.slow_server import MODEL, SECONDS

FRAMES, SIZE, CLIP_SECONDS = 8, (320, 180), 10
CLIPS, QUESTIONS, CONCURRENCY = 60, 20, 8
LEAST_OF_IDEAL, MOST_CPU_MS = 0.9, 3.0


class Spent(NamedTuple):
    """Of a job: its share of the ideal, and CPU milliseconds of this process for each request."""

    share: float
    cpu_ms: float


def ratios(folder: Path) -> Iterator[Ratio]:
    path = write_clip(folder / "serving.mp4", CLIP_SECONDS, SIZE)
    found = measured(clip_of(path, FRAMES), CLIPS, CONCURRENCY)
    name = f"{QUESTIONS} questions a clip, {CONCURRENCY} at a time, a server that takes {1000 * SECONDS:.0f} ms"
    yield Ratio(f"{name}: share of the ideal", found.share, LEAST_OF_IDEAL, is_at_most=False)
    yield Ratio(f"{name}: ms of CPU a request", found.cpu_ms, MOST_CPU_MS)


def measured(clip: Clip, clips: int, concurrency: int) -> Spent:
    """A job about so many clips, each of them decoded and encoded."""
    asked = [replace(one, ask="choose") for one in questions(QUESTIONS)]
    dues = [
        Due(replace(clip, clip_id=str(at)), tuple(replace(one, request_id=f"{at} {one.request_id}") for one in asked))
        for at in range(clips)
    ]
    with slow_server() as url:
        settings = {"url": url, "model": MODEL, "concurrency": concurrency, "check_frames": False}
        given = OpenAIAdapter(ModelSpec(None, "cpu", 1, "float32", "sdpa", False, settings)).answers_in_any_order(dues)
        assert not next(given).answer.error
        start, before = time.monotonic(), _cpu_seconds()
        failed = [one for one in given if one.answer.error]
        seconds, cpu = time.monotonic() - start, _cpu_seconds() - before
    assert not failed, failed[0]
    count = clips * QUESTIONS - 1
    return Spent(count / concurrency * SECONDS / seconds, 1000 * cpu / count)


@contextmanager
def slow_server() -> Iterator[str]:
    """Its address."""
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
