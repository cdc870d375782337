"""Check how busy the workers that prepare clips keep a model, with as many workers as a job gets."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import mean

from reprise.core.store import Store
from reprise.models.base import PendingRequests
from reprise.models.inference.lazy import LazyModel

from bench.gpu_check.families import MODEL, checkpoint
from bench.gpu_check.machine import query
from bench.gpu_check.model_queries import clip_of, key_of, questions, shares_of, video
from bench.gpu_check.outcome import Line, Session, line_with_reason

# A job's clips, frames and questions per clip; workers of a model on a GPU (docs/reference/inference.md).
CLIPS, FRAMES, QUESTIONS, WORKERS = 16, 32, 20, 8
MIN_BUSY_SHARE = 0.9


def busy(session: Session) -> Iterator[Line]:
    """Run a 7B model on clips that its job's workers prepare, and measure how long it waits for them."""
    checkpoint(session, "LLaVA-OneVision", is_whole=True)
    workers = 1 if session.is_cpu else min(WORKERS, os.cpu_count() or 1)
    count, frames = (3, 8) if session.is_cpu else (CLIPS, FRAMES)
    clips = [clip_of(video(session), frames, f"clip {number}") for number in range(count + 1)]
    requests = tuple(questions(QUESTIONS))
    key = key_of(session, gpus=session.gpus, model=MODEL)
    waiting_s = 0.0
    with LazyModel(key, Store(session.folder / "store"), 2, workers, clips=clips) as model:
        model.set_upcoming(iter([PendingRequests(clip, requests) for clip in clips]))
        shares_of(list(model.answers(clips[0], requests)), clips[0])
        model.pop_step_seconds()
        with utilisation() as samples:
            start = time.monotonic()
            for clip in clips[1:]:
                shares_of(list(model.answers(clip, requests)), clip)
                waiting_s += model.pop_step_seconds()["waiting"]
            wall_s = time.monotonic() - start
    busy_share, driver_share = 1 - waiting_s / wall_s, f"{mean(samples):.0f} %" if samples else "unknown"
    is_idle = busy_share < MIN_BUSY_SHARE and not session.is_cpu
    reason = f"the model waits for clips; it needs more CPU cores or more than {workers} workers" if is_idle else ""
    yield line_with_reason(
        "busy", reason, share_of_the_time=busy_share, by_the_driver=driver_share, seconds_a_clip=wall_s / count,
        workers=workers, processors=os.cpu_count() or 1,
    )  # fmt: skip


@contextmanager
def utilisation() -> Iterator[list[float]]:
    """Sample the percentage of time in which the visible GPUs ran a kernel, as reported by the driver."""
    samples: list[float] = []
    stop = threading.Event()

    def sample() -> None:
        while not stop.wait(0.25):
            samples.extend(float(value) for value in query("utilization.gpu").values() if value.isdigit())

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()
