"""What a job does before its first answer: lock GPUs, read the weights, load them; and a card that is nearly full."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from reprise.models.local.torch_setup import torch

from filelock import BaseFileLock
from reprise.core.store import Store
from reprise.models.asking.lazy import LazyModel
from reprise.models.base import Clip
from reprise.models.local.gpus import take_gpus
from reprise.models.local.weights import record_files, weight_files, weights_folder

from bench.gpu_check.asking import (
    CLOSE,
    adapter_of,
    clip_of,
    dtype_of,
    key_of,
    questions,
    said,
    shares_of,
    spec_of,
    video,
)
from bench.gpu_check.families import MODEL, checkpoint
from bench.gpu_check.outcome import FailedError, Line, Session, judged, passed

# How long another job is watched that should wait for the GPU.
WATCHED = 1.5
LEFT_BYTES = 2_000_000_000
WITHOUT_FRAMES = Clip("none", None, (), ())
# So many frames and questions that a batch of 16 takes more than is left, and one question less.
FULL_FRAMES, FULL_QUESTIONS = 48, 32
_LOCKS: list[BaseFileLock] = []
TAKER = """
import sys
from pathlib import Path
from reprise.models.local.gpus import take_gpus
print("begins", flush=True)
take_gpus(1, Path(sys.argv[1]), "another job")
"""


def load(session: Session) -> Iterator[Line]:
    """Load a 7B model as a job does, from a snapshot in a store."""
    store = Store(session.folder / "store")
    folder, start = _written(session), time.monotonic()
    record_files(folder, store)
    recorded = time.monotonic() - start
    yield _lock(session, store)
    start = time.monotonic()
    weights = weights_folder(None, MODEL, store)
    seconds, size = time.monotonic() - start, sum(path.stat().st_size for path in weight_files(folder))
    if weights != folder:
        raise FailedError(f"{weights} is not {folder}")
    yield passed("hash", seconds=seconds, GB=size / 1e9, GB_a_second=size / 1e9 / seconds, seconds_to_record=recorded)
    clip, key, start = clip_of(video(session), 8), key_of(session, gpus=session.gpus, model=MODEL), time.monotonic()
    with LazyModel(key, store, 2, 0, weights, clips=[clip]) as model:
        shares_of(list(model.answers(WITHOUT_FRAMES, questions(1))), WITHOUT_FRAMES)
        loaded, start = time.monotonic() - start, time.monotonic()
        shares_of(list(model.answers(clip, questions(4))), clip)
        first = time.monotonic() - start
    measured = {"seconds": loaded, "GB": size / 1e9, "GB_a_second": size / 1e9 / loaded, "first_clip_seconds": first}
    yield passed("load", **measured)


def _lock(session: Session, store: Store) -> Line:
    """Lock a GPU, and see that another job waits for it until it is free."""
    if session.is_cpu:  # a name is enough for a lock
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    start = time.monotonic()
    locks = take_gpus(1, store.root / "locks", "gpu-check")
    seconds, taken = time.monotonic() - start, os.environ["CUDA_VISIBLE_DEVICES"]
    command = [sys.executable, "-c", TAKER, str(store.root / "locks")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            code = other.wait(WATCHED)
            return judged("lock", f"another job did not wait for GPU {taken}, it ended with {code}", seconds=seconds)
        except subprocess.TimeoutExpired:
            other.kill()
    _LOCKS.extend(locks)  # as long as this process uses the GPU
    return passed("lock", seconds=seconds, GPU=taken)


def _written(session: Session) -> Path:
    """Write the checkpoint in another process: a process sees the GPUs that are visible at its first use of CUDA."""
    if session.is_cpu:
        return checkpoint(session, "LLaVA-OneVision", is_whole=True)
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        return processes.submit(checkpoint, session, "LLaVA-OneVision", is_whole=True).result()


def full_card(session: Session) -> Iterator[Line]:
    """Fill the GPU until 2 GB are free: a batch that does not fit is asked in smaller ones, with the same answers."""
    clip = clip_of(video(session), FULL_FRAMES)
    with adapter_of(spec_of(session, checkpoint(session, "LLaVA-OneVision"))) as adapter:
        expected = said(adapter, clip, scores=FULL_QUESTIONS)
        adapter.asked = None
        torch.cuda.empty_cache()
        filler = torch.empty(torch.cuda.mem_get_info()[0] - LEFT_BYTES, dtype=torch.uint8, device="cuda")
        before = torch.cuda.memory_stats()["num_ooms"]
        found = said(adapter, clip, scores=FULL_QUESTIONS)
        refused = torch.cuda.memory_stats()["num_ooms"] - before
        del filler
    off, dtype = found.off(expected), dtype_of(session)
    reason = "" if off <= CLOSE[dtype] else f"scores differ by more than {CLOSE[dtype]} from those with an empty card"
    yield judged("full card", reason, largest_difference=off, allocations_refused=refused, questions=FULL_QUESTIONS)
