"""Check two GPUs: a model spread over them, and a copy of it on each. A CPU uses memory and disk, and two processes."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.copies import answered, answering, copy_of, model_on
from reprise.models.asking.lazy import LazyModel
from reprise.models.asking.workers import Copy
from reprise.models.base import Clip
from reprise.models.local.devices import needed

from bench.gpu_check.asking import (
    CLOSE,
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
from bench.gpu_check.families import checkpoint
from bench.gpu_check.machine import query
from bench.gpu_check.outcome import FailedError, Line, NotTriedError, Session, judged

COPIES, QUESTIONS = 2, 4
# The share of the weights that the first of two devices holds.
FIRST = 0.9


def _need_two(session: Session) -> None:
    count = COPIES if session.is_cpu else len(query("memory.free"))
    if count < COPIES:
        raise NotTriedError(f"{count} GPU is visible, two are needed")


def spread(session: Session, family: str) -> Iterator[Line]:
    """Give each device less memory than the model needs, and compare its answers with those of one device."""
    _need_two(session)
    folder, clip = checkpoint(session, family), clip_of(video(session), 8)
    spec = spec_of(session, folder)
    with adapter_of(spec) as adapter:
        expected = answer_clip(adapter, clip)
    estimate = needed(folder, spec.dtype, None)
    reserve = estimate.beside(COPIES)
    names: tuple[int | str, ...] = ("cpu", "disk") if session.is_cpu else (0, 1)
    memory = dict(zip(names, (reserve + int(FIRST * estimate.weights), reserve + 2 * estimate.weights), strict=True))
    with adapter_of(replace(spec, memory=memory)) as adapter:
        devices = {str(device) for device in adapter.model.hf_device_map.values()}
        answers = answer_clip(adapter, clip)
    if len(devices) != len(names):
        raise FailedError(f"the model is on {', '.join(devices)} alone")
    difference = answers.off(expected)
    reason = "" if difference <= CLOSE[spec.dtype] else "it answers otherwise than on one device"
    measured = {"largest_difference": difference, "other_texts": answers.other_texts(expected), "devices": len(devices)}
    yield judged(f"spread, {family}", reason, **measured)


def copies(session: Session) -> Iterator[Line]:
    """Run copies of a model in two processes, and compare their answers with those of one model."""
    _need_two(session)
    folder, clip, requests = (
        checkpoint(session, "LLaVA-OneVision"),
        clip_of(video(session), 8),
        tuple(questions(QUESTIONS)),
    )
    store = Store(session.folder / "store")
    with ExitStack() as stack:
        workers = list(_copies(session, folder, clip, store, stack))
        shares = [
            shares_of([outcome.answer for outcome, _ in answered(copy, clip, requests)], clip) for copy in workers
        ]
    with adapter_of(spec_of(session, folder)) as adapter:  # only now, because the copies occupied the GPUs
        expected = shares_of(list(adapter.answers(clip, requests)), clip)
    difference = max(abs(first - second) for copy in shares for first, second in zip(copy, expected, strict=True))
    dtype = dtype_of(session)
    reason = "" if difference <= CLOSE[dtype] else "a copy answers otherwise than one model"
    yield judged("copies", reason, largest_difference=difference, copies=len(workers))


def _copies(session: Session, folder: Path, clip: Clip, store: Store, stack: ExitStack) -> Iterator[Copy]:
    """Start copies on GPUs as a job does; on a CPU, where no job has copies, start two of the same processes."""
    if session.is_cpu:
        make = partial(LazyModel, key_of(session, gpus=0, checkpoint=folder), store, 1)
        for _ in range(COPIES):
            yield stack.enter_context(
                closing(copy_of(partial(answering, make), preload=(ADAPTERS["transformers"].module,)))
            )
        return
    key = key_of(session, gpus=COPIES, checkpoint=folder)
    models = stack.enter_context(model_on(key, store, COPIES, is_needed=True, clips=[clip]))
    if not isinstance(models, list):
        raise FailedError("a job with two GPUs made one model, no copies")
    yield from models
