"""`make bench-gpu`: a real GPU, the shapes of real models, random weights: how many times the authors' loop, how busy.

Needs no network and no checkpoint. Without a GPU it measures nothing and says so.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import av
import torch
import transformers
from reprise.models.asking.workers import Ahead
from reprise.models.base import Clip, Due, Ready, Request
from reprise.models.local import transformers as adapter_module
from reprise.models.local.transformers import TransformersAdapter

from bench.checkpoints import FAMILIES, REAL, Size, random_model, write_processor
from bench.engine import clip_of, plain, questions, spec_of
from bench.media import write_clip
from bench.rounds import Ratio

FRAMES, QUESTIONS, SIZE, SECONDS = 32, 20, (1280, 720), 10
CLIPS, PLAIN_QUESTIONS = 24, 4
FASTER, BUSY = 8.0, 0.9
NOT_MEASURED = (
    "real weights", "flash_attention_2", "more than one GPU", "quantised weights", "answers of several tokens",
    "the run-to-run spread: each figure is of one run",
)  # fmt: skip


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("bench-gpu: torch sees no GPU here; nothing was measured.")
    workers = os.cpu_count() or 1
    print(f"{torch.cuda.get_device_name()}, driver {_driver()}, {workers} CPU cores; torch {torch.__version__}, CUDA "
          f"{torch.version.cuda}, transformers {transformers.__version__}, av {av.__version__}; bfloat16, sdpa; "
          f"{FRAMES} frames of {SECONDS} s of {SIZE[0]}x{SIZE[1]}, {QUESTIONS} questions, {CLIPS} clips")  # fmt: skip
    failed = 0
    with TemporaryDirectory() as folder:
        path = write_clip(Path(folder) / "gpu.mp4", SECONDS, SIZE)
        for family in FAMILIES:
            for ratio in measured(Path(folder), path, family, REAL, "cuda", torch.bfloat16, workers):
                print(ratio.line, flush=True)
                failed += not ratio.holds
            torch.cuda.empty_cache()
    print(f"not measured: {'; '.join(NOT_MEASURED)}")
    sys.exit(1 if failed else 0)


def measured(
    folder: Path, path: Path, family: str, size: Size, device: str, dtype: Any, workers: int, clips: int = CLIPS
) -> Iterator[Ratio]:
    """How many times the authors' loop, by the clock, and the share of the time in which the device worked."""
    config = write_processor(folder / family, family, size)
    spec = spec_of(folder / family, device, str(dtype).removeprefix("torch."))
    with mock.patch.object(adapter_module, "load_model", lambda kind, spec, clip: random_model(config, device, dtype)):
        adapter = TransformersAdapter(spec)
    asked = questions(QUESTIONS)
    shown = [clip_of(path, FRAMES, f"clip {number}") for number in range(clips + 1)]
    plain(adapter, shown[0], asked[:1])
    start = time.monotonic()
    plain(adapter, shown[0], asked[:PLAIN_QUESTIONS])
    by_plain = (time.monotonic() - start) / PLAIN_QUESTIONS * QUESTIONS
    with Ahead("reprise.models.local.prepared:ClipPreparer", spec, workers) as ahead:
        ahead.expect(Due(clip, asked) for clip in shown)
        _ask(ahead, adapter, shown[0], asked)
        with utilisation() as samples:
            start = time.monotonic()
            worked = sum(_ask(ahead, adapter, clip, asked) for clip in shown[1:])
            wall = time.monotonic() - start
    name = f"{family}-7B" if size is REAL else family
    seconds = f"{by_plain:.2f} s a clip plain, {wall / clips:.2f} s shared"
    yield Ratio(f"{name}: plain / shared by the clock ({seconds})", by_plain * clips / wall, FASTER, is_at_most=False)
    driver = f"; {mean(samples):.0f} % by the driver" if samples else "; by the driver: not measured"
    said = f"{name}: share of the time in which a clip was asked about{driver}"
    yield Ratio(said, worked / wall, BUSY, is_at_most=False)


def _ask(ahead: Ahead, adapter: TransformersAdapter, clip: Clip, asked: list[Request]) -> float:
    """Ask about a clip; seconds from when it was there."""
    ready = ahead.take(clip, asked)
    assert isinstance(ready, Ready), ready
    start = time.monotonic()
    answers = list(adapter.answers_about(ready, asked))
    assert not any(answer.error for answer in answers), answers
    return time.monotonic() - start


@contextmanager
def utilisation() -> Iterator[list[float]]:
    """Per cent of the time in which the GPU ran a kernel, as its driver says, sampled while the block lasts."""
    samples: list[float] = []
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(0.25):
            samples.extend(float(line) for line in _smi("utilization.gpu"))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def _driver() -> str:
    return next(iter(_smi("driver_version")), "unknown")


def _smi(field: str) -> list[str]:
    """A field of the first GPU that this process may see; nothing where the driver's program is missing."""
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return []
    return done.stdout.split()[:1]


if __name__ == "__main__":
    main()
