"""How busy a model is kept by the processes that prepare its clips, as many as a job gets."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import mean

from reprise.core.store import Store
from reprise.models.asking.lazy import LazyModel
from reprise.models.base import Due

from bench.gpu_check.asking import clip_of, key_of, questions, shares_of, video
from bench.gpu_check.families import MODEL, checkpoint
from bench.gpu_check.machine import query
from bench.gpu_check.outcome import Line, Session, judged

# A job's clips, and the questions about each; workers of a model on a GPU (docs/reference/inference.md).
CLIPS, FRAMES, QUESTIONS, WORKERS = 16, 32, 20, 8
BUSY = 0.9


def busy(session: Session) -> Iterator[Line]:
    """Ask a 7B model about clips that its job's workers prepare, and measure how long it waits for them."""
    checkpoint(session, "LLaVA-OneVision", is_whole=True)
    workers = 1 if session.is_cpu else min(WORKERS, os.cpu_count() or 1)
    count, frames = (3, 8) if session.is_cpu else (CLIPS, FRAMES)
    clips = [clip_of(video(session), frames, f"clip {number}") for number in range(count + 1)]
    asked = tuple(questions(QUESTIONS))
    key = key_of(session, gpus=session.gpus, model=MODEL)
    waited = 0.0
    with LazyModel(key, Store(session.folder / "store"), 2, workers, clips=clips) as model:
        model.expect(iter([Due(clip, asked) for clip in clips]))
        shares_of(list(model.answers(clips[0], asked)), clips[0])
        model.spent()
        with utilisation() as samples:
            start = time.monotonic()
            for clip in clips[1:]:
                shares_of(list(model.answers(clip, asked)), clip)
                waited += model.spent()["waiting"]
            wall = time.monotonic() - start
    share, by_driver = 1 - waited / wall, f"{mean(samples):.0f} %" if samples else "unknown"
    is_idle = share < BUSY and not session.is_cpu
    reason = (
        f"the model waits for clips; more processors, or more workers than {workers}, are needed" if is_idle else ""
    )
    yield judged(
        "busy", reason, share_of_the_time=share, by_the_driver=by_driver, seconds_a_clip=wall / count, workers=workers,
        processors=os.cpu_count() or 1,
    )  # fmt: skip


@contextmanager
def utilisation() -> Iterator[list[float]]:
    """Sample the percentage of the time in which the visible GPUs ran a kernel, as their driver says."""
    samples: list[float] = []
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(0.25):
            samples.extend(float(value) for value in query("utilization.gpu").values() if value.isdigit())

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()
