"""Clips are prepared for a model, here or ahead of it: in worker processes that a crash ends alone, in the order in
which the model will be asked about them."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, Self

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.models.adapters import loaded
from reprise.models.asking.outcomes import failure_of, place_of
from reprise.models.asking.workers import Work, Worker, WorkerDiedError
from reprise.models.base import Answer, Clip, ClipFailedError, ModelSpec, Preparer, Ready, Request

# Prepared clips that wait, or are being prepared, for each worker; and what those that wait may take of memory.
AHEAD = 2
LARGEST_BYTES = 4 << 30
# Of two processes the kernel ends the one with the larger number when memory runs out: a worker before the model.
OOM_SCORE = "500"


class Asked(NamedTuple):
    """A clip and the questions that are due about it."""

    clip: Clip
    requests: Sequence[Request]

    def serves(self, other: "Asked") -> bool:
        """Whether what is prepared for these questions is what others need."""
        return self.clip == other.clip and set(other.requests) <= set(self.requests)


Outcome = Ready | Answer
"""a prepared clip, or why it could not be prepared"""


def outcome_of(preparer: Callable[[], Preparer], clip: Clip, requests: Sequence[Request]) -> Outcome:
    """A clip, decoded and preprocessed once for all questions, or its failure as a value that passes from process to
    process; a UserError ends the job."""
    try:
        start, by = time.monotonic(), preparer()
        frames = by.read(clip)
        decoded = time.monotonic()
        value = by.prepare(clip, frames, requests)
        return Ready(value, requests, {"decode": decoded - start, "preprocess": time.monotonic() - decoded})
    except (KeyboardInterrupt, UserError):
        raise
    except BaseException as error:  # a library's `sys.exit()`, or its panic, ends neither a worker nor a job
        failure = failure_of(error)
        log.info(f"{clip.clip_id}: {failure.error}: {failure.message}{place_of(error)}")
        return failure


def ready(outcome: Outcome) -> Ready:
    """The prepared clip; raises what prevented it."""
    if isinstance(outcome, Answer):
        raise ClipFailedError(outcome.error, outcome.message)
    return outcome


@contextmanager
def _preparing(target: str, spec: ModelSpec) -> Iterator[Work]:
    try:
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE, encoding="ascii")
    except OSError as error:
        log.info(f"workers are not preferred when memory runs out: {error}")
    preparer = cache(lambda: loaded(target)(spec))

    def work(clip: Clip, requests: Sequence[Request]) -> Iterator[Outcome]:
        yield outcome_of(preparer, clip, requests)

    yield work


class Ahead:
    """Keeps workers busy with the clips to come, as far ahead as its bounds allow."""

    def __init__(self, target: str, spec: ModelSpec, workers: int, largest_bytes: int = LARGEST_BYTES) -> None:
        make, preload = partial(_preparing, target, spec), [target.partition(":")[0]]
        self._workers = [Worker(make, "preparing", preload=preload) for _ in range(workers)]
        self._free = deque(self._workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="preparing")
        self._most, self._largest_bytes = AHEAD * workers, largest_bytes
        self._bytes_of_clip = 0
        self._lock = threading.Lock()
        self._expected: deque[tuple[Asked, Future[Outcome]]] = deque()
        self._upcoming: Iterator[Asked] = iter(())

    def expect(self, upcoming: Iterator[Asked]) -> None:
        """What will be asked next, in this order; taken as far as there is room."""
        self._upcoming = upcoming
        self._fill()

    def take(self, clip: Clip, requests: Sequence[Request]) -> Outcome:
        """Wait for this clip, prepared for at least these questions; what was expected before it is asked no more."""
        asked = Asked(clip, requests)
        place = next((at for at, (one, _) in enumerate(self._expected) if one.serves(asked)), None)
        for _ in range(place or 0):
            self._expected.popleft()
        future = self._threads.submit(self._outcome, asked) if place is None else self._expected.popleft()[1]
        outcome = future.result()
        self._fill()
        return outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers, whatever they do."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self._threads.shutdown()

    def _fill(self) -> None:
        """As far as there is room, if all clips are as large as the largest that was seen."""
        room = self._most
        if self._bytes_of_clip:
            room = max(1, min(self._most, self._largest_bytes // self._bytes_of_clip))
        while len(self._expected) < room and (asked := next(self._upcoming, None)) is not None:
            self._expected.append((asked, self._threads.submit(self._outcome, asked)))

    def _outcome(self, asked: Asked) -> Outcome:
        """In a thread for each worker: a clip, prepared by a worker that is free."""
        with self._lock:
            worker = self._free.popleft()
        outcome: Outcome
        try:
            (outcome,) = worker.results(asked.clip, tuple(asked.requests))
        except WorkerDiedError as died:  # the death of the process is that clip's failure
            outcome = Answer(error="killed", message=f"the process that prepared its frames {died}")
        finally:
            with self._lock:
                self._free.append(worker)
        if isinstance(outcome, Ready):
            self._bytes_of_clip = max(self._bytes_of_clip, outcome.bytes)
        return outcome
