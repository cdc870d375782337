"""What a job does before its first answer: lock GPUs, read the weights' digests, load; and a card that is nearly full."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from reprise.models.local.torch_setup import torch

from reprise.core.store import Store
from reprise.models.asking.lazy import LazyModel
from reprise.models.local.devices import take_gpus
from reprise.models.local.weights import record_files, snapshot_folder, weight_files, weights_folder

from bench.gpu_check.asking import CLOSE, adapter_of, clip_of, dtype_of, key_of, said, shares_of, spec_of, video
from bench.gpu_check.asking import questions as questions_of
from bench.gpu_check.families import checkpoint, write
from bench.gpu_check.outcome import FailedError, Line, NotTriedError, Session, judged, passed

MODEL = {"repo": "gpu/check", "revision": "0" * 40}
WAITING, LEFT_BYTES = 3.0, 2_000_000_000
# So many frames and questions that a batch of 16 takes more than is left, and one question less.
FULL_FRAMES, FULL_QUESTIONS = 48, 32
TAKER = "import sys; from pathlib import Path; from reprise.models.local.devices import take_gpus; take_gpus(1, Path(sys.argv[1]), 'm')"  # fmt: skip


def load(session: Session) -> Iterator[Line]:
    """Load a 7B model as a job does, from a snapshot in a store."""
    store = Store(session.folder / "store")
    folder, start = snapshot_folder(MODEL["repo"], MODEL["revision"], store), time.monotonic()
    write(session, "LLaVA-OneVision", folder, is_whole=True)
    record_files(folder, store)
    written = time.monotonic() - start
    yield _lock(session, store)
    start = time.monotonic()
    weights = weights_folder(None, MODEL, store)
    seconds, size = time.monotonic() - start, sum(path.stat().st_size for path in weight_files(folder))
    if weights != folder:
        raise FailedError(f"{weights} is not {folder}")
    yield passed("hash", seconds=seconds, GB=size / 1e9, GB_a_second=size / 1e9 / seconds, seconds_to_write=written)
    start, clip = time.monotonic(), clip_of(video(session), 8)
    key = key_of(session, gpus=0 if session.is_cpu else 1, model=MODEL)
    with LazyModel(key, store, 2, 0, weights) as model:
        list(model.answers(clip_of(video(session), 0), questions_of(1)))
        loaded, start = time.monotonic() - start, time.monotonic()
        shares_of(list(model.answers(clip, questions_of(4))), clip)
    yield passed("load", seconds=loaded, GB=size / 1e9, GB_a_second=size / 1e9 / loaded, first_clip_seconds=time.monotonic() - start)  # fmt: skip


def _lock(session: Session, store: Store) -> Line:
    """Lock a GPU, and see that another job waits for it until it is free."""
    if session.is_cpu:  # a name is enough for a lock
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    start = time.monotonic()
    locks = take_gpus(1, store.root / "locks", "gpu-check")
    seconds, taken = time.monotonic() - start, os.environ["CUDA_VISIBLE_DEVICES"]
    with subprocess.Popen([sys.executable, "-c", TAKER, str(store.root / "locks")]) as other:
        try:
            other.wait(WAITING)
            return judged("lock", f"another job did not wait for GPU {taken}", seconds=seconds)
        except subprocess.TimeoutExpired:
            pass
        if not session.is_cpu:  # this process goes on to use it
            other.kill()
            return passed("lock", seconds=seconds, GPU=taken)
        for lock in locks:
            lock.release()
        reason = "another job did not get a GPU that was given back" if other.wait(10 * WAITING) else ""
    return judged("lock", reason, seconds=seconds, GPU=taken)


def full_card(session: Session) -> Iterator[Line]:
    """Fill the GPU until 2 GB are free: a batch that does not fit is asked in smaller ones, with the same answers."""
    if session.is_cpu:
        raise NotTriedError("only a GPU is filled")
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


def checkpoint_in_store(session: Session) -> Path:
    """Return the 7B checkpoint of `load`, or write one."""
    folder = snapshot_folder(MODEL["repo"], MODEL["revision"], Store(session.folder / "store"))
    return write(session, "LLaVA-OneVision", folder, is_whole=True)
