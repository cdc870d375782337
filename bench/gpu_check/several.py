"""Check a model on two GPUs, split or as two copies. A CPU run uses memory and disk, or two processes."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS
from reprise.models.base import ClipFrames
from reprise.models.inference.copies import create_copy, create_task_function, open_model, query_model
from reprise.models.inference.lazy import LazyModel
from reprise.models.inference.workers import ModelCopy
from reprise.models.local.device_memory import estimate_memory

from bench.gpu_check.families import checkpoint
from bench.gpu_check.machine import query
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
from bench.gpu_check.outcome import FailedError, Line, NotTriedError, Session, line_with_reason

COPIES, QUESTIONS = 2, 4
# The share of the weights that the first of two devices holds.
FIRST_DEVICE_SHARE = 0.9


def _require_two_devices(session: Session) -> None:
    """Raise NotTriedError if fewer than two GPUs are visible."""
    count = COPIES if session.is_cpu else len(query("memory.free"))
    if count < COPIES:
        raise NotTriedError(f"visible GPUs: {count}, needed: 2")


def spread(session: Session, family: str) -> Iterator[Line]:
    """Spread a model over two devices, the first of which cannot hold all of it; compare with one device."""
    _require_two_devices(session)
    folder, clip = checkpoint(session, family), clip_of(video(session), 8)
    spec = spec_of(session, folder)
    with adapter_of(spec) as adapter:
        expected = answer_clip(adapter, clip)
    estimate = estimate_memory(folder, spec.dtype, None)
    reserve = estimate.compute_reserve(COPIES)
    first_device, second_device = ("cpu", "disk") if session.is_cpu else (0, 1)
    memory: dict[int | str, int] = {
        first_device: reserve + int(FIRST_DEVICE_SHARE * estimate.weight_bytes),
        second_device: reserve + 2 * estimate.weight_bytes,
    }
    with adapter_of(replace(spec, free_bytes_by_device=memory)) as adapter:
        devices = {str(device) for device in adapter.model.hf_device_map.values()}
        answers = answer_clip(adapter, clip)
    if len(devices) != len(memory):
        raise FailedError(f"the model is only on {', '.join(devices)}")
    difference = answers.largest_difference(expected)
    reason = "" if difference <= TOLERANCE[spec.dtype] else "its responses differ from those on one device"
    measured = {
        "largest_difference": difference,
        "other_texts": answers.count_text_differences(expected),
        "devices": len(devices),
    }
    yield line_with_reason(f"spread, {family}", reason, **measured)


def copies(session: Session) -> Iterator[Line]:
    """Run copies of a model in two processes, and compare their answers with those of one model."""
    _require_two_devices(session)
    folder, clip = checkpoint(session, "LLaVA-OneVision"), clip_of(video(session), 8)
    requests = tuple(questions(QUESTIONS))
    store = Store(session.folder / "store")
    with ExitStack() as stack:
        workers = list(_copies(session, folder, clip, store, stack))
        shares = [
            shares_of([outcome.answer for outcome, _ in query_model(copy, clip, requests)], clip) for copy in workers
        ]
    with adapter_of(spec_of(session, folder)) as adapter:  # only now, because the copies occupied the GPUs
        expected = shares_of(list(adapter.answers(clip, requests)), clip)
    difference = max(abs(first - second) for copy in shares for first, second in zip(copy, expected, strict=True))
    dtype = dtype_of(session)
    reason = "" if difference <= TOLERANCE[dtype] else "the responses of a copy differ from those of one model"
    yield line_with_reason("copies", reason, largest_difference=difference, copies=len(workers))


def _copies(session: Session, folder: Path, clip: ClipFrames, store: Store, stack: ExitStack) -> Iterator[ModelCopy]:
    """Start copies on GPUs as a job does; on a CPU, where no job has copies, start two of the same processes."""
    if session.is_cpu:
        make = partial(LazyModel, key_of(session, gpus=0, checkpoint=folder), store, 1)
        for _ in range(COPIES):
            yield stack.enter_context(
                closing(create_copy(partial(create_task_function, make), preload=(ADAPTERS["transformers"].module,)))
            )
        return
    key = key_of(session, gpus=COPIES, checkpoint=folder)
    models = stack.enter_context(open_model(key, store, COPIES, is_needed=True, clips=[clip]))
    if not isinstance(models, list):
        raise FailedError("a job with two GPUs loaded one model instead of copies")
    yield from models
