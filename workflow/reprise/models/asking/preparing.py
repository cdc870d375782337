"""Preparing clips for a model: decoding and preprocessing, here or in worker processes that a crash ends alone."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.adapters import loaded
from reprise.models.asking.outcomes import failure_of, place_of
from reprise.models.asking.workers import Work, Worker, WorkerDiedError
from reprise.models.base import Answer, Clip, ClipFailedError, ModelSpec, Preparer, Ready, Request

# Of two processes the kernel ends the one with the larger number when memory runs out: a worker before the model.
OOM_SCORE = "500"


class Failed(NamedTuple):
    """Why a clip could not be prepared."""

    answer: Answer


Outcome = Ready | Failed


def prepare(preparer: Preparer, clip: Clip, requests: Sequence[Request]) -> Ready:
    """Decode a clip's frames once and preprocess them once for all questions."""
    start = time.monotonic()
    frames = preparer.read(clip)
    decoded = time.monotonic()
    value = preparer.prepare(clip, frames, requests)
    return Ready(value, requests, {"decode": decoded - start, "preprocess": time.monotonic() - decoded})


def outcome_of(preparer: Preparer, clip: Clip, requests: Sequence[Request]) -> Outcome:
    """A prepared clip, or its failure as a value that passes from process to process; a UserError ends the job."""
    try:
        return prepare(preparer, clip, requests)
    except (KeyboardInterrupt, UserError):
        raise
    except BaseException as error:  # a library's `sys.exit()`, or its panic, ends neither a worker nor a job
        return _failed(clip, error)


def ready(outcome: Outcome) -> Ready:
    """The prepared clip; raises what prevented it."""
    if isinstance(outcome, Failed):
        raise ClipFailedError(outcome.answer.error, outcome.answer.message)
    return outcome


def worker_for(target: str, spec: ModelSpec) -> Worker:
    """A process that prepares one clip after the other."""
    return Worker(partial(_preparing, target, spec), "preparing", preload=[target.partition(":")[0]])


def outcome_by(worker: Worker, clip: Clip, requests: Sequence[Request]) -> Outcome:
    """Wait for a clip; the death of the process is that clip's failure."""
    try:
        (found,) = worker.results(clip, tuple(requests))
    except WorkerDiedError as died:
        return Failed(Answer(error="killed", message=f"the process that prepared its frames {died}"))
    outcome: Outcome = found
    return outcome


@contextmanager
def _preparing(target: str, spec: ModelSpec) -> Iterator[Work]:
    try:
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE, encoding="ascii")
    except OSError as error:
        log.info(f"workers are not preferred when memory runs out: {error}")
    preparers: list[Preparer] = []

    def work(clip: Clip, requests: Sequence[Request]) -> Iterator[Outcome]:
        try:
            preparers[:] = preparers or [loaded(target)(spec)]
        except UserError:
            raise
        except BaseException as error:
            yield _failed(clip, error)
        else:
            yield outcome_of(preparers[0], clip, requests)

    yield work


def _failed(clip: Clip, error: BaseException) -> Failed:
    failure = failure_of(error)
    log.info(f"{clip.clip_id}: {failure.error}: {failure.message}{place_of(error)}")
    return Failed(failure)
