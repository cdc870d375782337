"""The clips that will be asked about next, prepared in order while the model answers about this one."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Self

from reprise.models.asking.preparing import Outcome, outcome_by, worker_for
from reprise.models.base import Clip, ModelSpec, Ready, Request

# Prepared clips that wait, or are being prepared, for each worker; and what those that wait may take of memory.
AHEAD = 2
LARGEST_BYTES = 4 << 30


class Asked(NamedTuple):
    """A clip and the questions that are due about it."""

    clip: Clip
    requests: Sequence[Request]


class Expected(NamedTuple):
    """A clip that is being prepared."""

    asked: Asked
    outcome: Future[Outcome]


class Ahead:
    """Keeps workers busy with the clips to come, as far ahead as its bounds allow."""

    def __init__(self, target: str, spec: ModelSpec, workers: int, largest_bytes: int = LARGEST_BYTES) -> None:
        self._workers = [worker_for(target, spec) for _ in range(workers)]
        self._free = deque(self._workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="preparing")
        self._most, self._largest_bytes = AHEAD * workers, largest_bytes
        self._bytes_of_clip = 0
        self._lock = threading.Lock()
        self._expected: deque[Expected] = deque()
        self._upcoming: Iterator[Asked] = iter(())

    def expect(self, upcoming: Iterator[Asked]) -> None:
        """What will be asked next, in this order; taken as far as there is room."""
        self._upcoming = upcoming
        self._fill()

    def take(self, clip: Clip, requests: Sequence[Request]) -> Outcome:
        """Wait for this clip, prepared for at least these questions."""
        outcome = self._found(Asked(clip, requests)).outcome.result()
        self._fill()
        return outcome

    def close(self) -> None:
        """End all workers, whatever they do."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self._threads.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _found(self, asked: Asked) -> Expected:
        """Its place among those expected; what was expected before it is asked no more."""
        place = next((at for at, one in enumerate(self._expected) if serves(one.asked, asked)), None)
        if place is None:
            return self._submitted(asked)
        for _ in range(place):
            self._expected.popleft()
        return self._expected.popleft()

    def _fill(self) -> None:
        while len(self._expected) < self._room():
            asked = next(self._upcoming, None)
            if asked is None:
                return
            self._expected.append(self._submitted(asked))

    def _room(self) -> int:
        """How many clips may be ahead, if all are as large as the largest that was seen."""
        if self._bytes_of_clip == 0:
            return self._most
        return max(1, min(self._most, self._largest_bytes // self._bytes_of_clip))

    def _submitted(self, asked: Asked) -> Expected:
        return Expected(asked, self._threads.submit(self._outcome, asked))

    def _outcome(self, asked: Asked) -> Outcome:
        """In a thread for each worker: a clip, prepared by a worker that is free."""
        with self._lock:
            worker = self._free.popleft()
        try:
            outcome = outcome_by(worker, *asked)
        finally:
            with self._lock:
                self._free.append(worker)
        if isinstance(outcome, Ready):
            self._bytes_of_clip = max(self._bytes_of_clip, outcome.bytes)
        return outcome


def serves(expected: Asked, asked: Asked) -> bool:
    """Whether what is prepared for some questions is what others need."""
    return expected.clip == asked.clip and set(asked.requests) <= set(expected.requests)
