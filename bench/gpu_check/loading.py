"""Check the start of a job: lock GPUs, hash the weights, load them; and a GPU that is nearly full."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from filelock import BaseFileLock
from reprise.core.store import Store
from reprise.models.base import ClipFrames
from reprise.models.inference.lazy import LazyModel
from reprise.models.local.gpus import take_gpus
from reprise.models.local.weights import list_weight_files, record_file_digests, resolve_weights_folder

from bench.gpu_check.families import MODEL, checkpoint
from bench.gpu_check.memory import free_memory_limited_to
from bench.gpu_check.model_queries import (
    TOLERANCE,
    adapter_of,
    answer_clip,
    clip_of,
    dtype_of,
    key_of,
    questions,
    shares_of,
    spec_of,
    video,
)
from bench.gpu_check.outcome import FailedError, Line, Session, line_with_reason, passed

# Seconds to watch another job that must wait for the GPU.
WATCH_SECONDS = 1.5
FREE_BYTES = 2_000_000_000  # GPU memory that stays free on the nearly full GPU.
WITHOUT_FRAMES = ClipFrames("none", None, (), ())
# Enough frames that a batch of 16 questions does not fit into the free memory, while a single question does.
FULL_FRAMES, FULL_QUESTIONS = 48, 32
_LOCKS: list[BaseFileLock] = []  # Locks that this process holds until it ends.
LOCKING_JOB = """
import sys
from pathlib import Path
from reprise.models.local.gpus import take_gpus
print("begins", flush=True)
take_gpus(1, Path(sys.argv[1]), "another job")
"""


def load(session: Session) -> Iterator[Line]:
    """Load a 7B model as a job does, from a snapshot in a store."""
    store = Store(session.folder / "store")
    folder, start = _write_checkpoint(session), time.monotonic()
    record_file_digests(folder, store)
    hash_s = time.monotonic() - start
    yield _lock(session, store)
    start = time.monotonic()
    weights = resolve_weights_folder(None, MODEL, store)
    verify_s = time.monotonic() - start
    size = sum(path.stat().st_size for path in list_weight_files(folder))
    if weights != folder:
        raise FailedError(f"{weights} is not {folder}")
    yield passed("hash", seconds=hash_s, GB=size / 1e9, GB_a_second=size / 1e9 / hash_s, seconds_to_verify=verify_s)
    clip, key = clip_of(video(session), 8), key_of(session, gpus=session.gpus, model=MODEL)
    start = time.monotonic()
    with LazyModel(key, store, 2, 0, weights, clips=[clip]) as model:
        shares_of(list(model.answers(WITHOUT_FRAMES, questions(1))), WITHOUT_FRAMES)
        load_s = time.monotonic() - start
        start = time.monotonic()
        shares_of(list(model.answers(clip, questions(4))), clip)
        first_clip_s = time.monotonic() - start
    measured = {
        "seconds": load_s,
        "GB": size / 1e9,
        "GB_a_second": size / 1e9 / load_s,
        "first_clip_seconds": first_clip_s,
    }
    yield passed("load", **measured)


def _lock(session: Session, store: Store) -> Line:
    """Lock a GPU, and verify that another job waits for it."""
    if session.is_cpu:  # the lock needs only the name of a device
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    start = time.monotonic()
    locks = take_gpus(1, store.root / "locks", "gpu-check")
    seconds, gpu = time.monotonic() - start, os.environ["CUDA_VISIBLE_DEVICES"]
    command = [sys.executable, "-c", LOCKING_JOB, str(store.root / "locks")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other_job:
        assert other_job.stdout is not None
        other_job.stdout.readline()
        try:
            code = other_job.wait(WATCH_SECONDS)
            return line_with_reason(
                "lock", f"another job did not wait for GPU {gpu}, it ended with {code}", seconds=seconds
            )
        except subprocess.TimeoutExpired:
            other_job.kill()
    _LOCKS.extend(locks)  # keep the locks while this process uses the GPU
    return passed("lock", seconds=seconds, GPU=gpu)


def _write_checkpoint(session: Session) -> Path:
    """Write the checkpoint in another process, because a process fixes its visible GPUs at its first use of CUDA."""
    if session.is_cpu:
        return checkpoint(session, "LLaVA-OneVision", is_whole=True)
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        return processes.submit(checkpoint, session, "LLaVA-OneVision", is_whole=True).result()


def full_card(session: Session) -> Iterator[Line]:
    """Fill the GPU until 2 GB are free: a batch that does not fit must be split, with the same answers."""
    clip = clip_of(video(session), FULL_FRAMES)
    with adapter_of(spec_of(session, checkpoint(session, "LLaVA-OneVision"))) as adapter:
        expected = answer_clip(adapter, clip, scores=FULL_QUESTIONS)
        adapter.current_clip = None
        with free_memory_limited_to(FREE_BYTES) as usage:
            answers = answer_clip(adapter, clip, scores=FULL_QUESTIONS)
    difference, dtype = answers.largest_difference(expected), dtype_of(session)
    reason = (
        ""
        if difference <= TOLERANCE[dtype]
        else f"scores differ by more than {TOLERANCE[dtype]} from those with an empty card"
    )
    yield line_with_reason(
        "full card",
        reason,
        largest_difference=difference,
        allocations_refused=usage.refused_allocations,
        questions=FULL_QUESTIONS,
    )
