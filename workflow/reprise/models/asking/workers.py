"""Processes of a job, each of which does one thing after another: results stream back, and a crash ends one alone.

By them clips are prepared ahead of the model, in the order in which it will be asked about them.
"""

import mmap
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import DupFd, recv_handle, send_handle
from typing import Any, cast

from reprise.core.errors import UserError
from reprise.core.log import log_to_stderr
from reprise.models.adapters import loaded
from reprise.models.asking.outcomes import logged_failure
from reprise.models.base import Answer, Clip, ClipFailedError, Due, ModelSpec, Preparer, Ready, Request

Serve = Callable[..., Iterator[Any]]
# Prepared clips that wait, or are being prepared, for each worker; and what those that wait may take of memory.
AHEAD = 2
LARGEST_BYTES = 4 << 30
# A start looks after all processes that have ended, and an exit code can be read once: of two threads one loses it.
_EXIT_CODES = threading.Lock()


class WorkerDiedError(Exception):
    """The process has ended by itself, or was killed."""


class Copy(ABC):
    """A copy of a model, or a part of its work, in another process."""

    @abstractmethod
    def results(self, *asked: Any) -> Iterator[Any]:
        """What the process gives for this, each as soon as it is there; a WorkerDiedError when it has ended."""

    @abstractmethod
    def close(self) -> None:
        """Ask it nothing more; who waits for it is told."""


class Worker(Copy):
    """A process that starts at the first thing that it is to do; a new one takes its place when it has died."""

    def __init__(
        self,
        make: Callable[[], AbstractContextManager[Serve]],
        name: str,
        environment: Mapping[str, str] | None = None,
        preload: Sequence[str] = (),
        *,
        starts_others: bool = False,
    ) -> None:
        """`make` gives, in the process, the function that is called there; what is preloaded, all processes share."""
        self._make, self._environment = make, dict(environment or {})
        self._name, self._starts_others = name, starts_others
        # Its processes begin without this one's threads, locks and GPU.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self._process: Any = None
        self._is_over = False
        self._lock = threading.Lock()

    def results(self, *asked: Any) -> Iterator[Any]:
        try:
            if self._process is None:
                self._start()
            yield from results_of(self._connection, asked)
        except (EOFError, OSError) as error:
            raise WorkerDiedError(self._end()) from error

    def close(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            self._is_over = True
            if self._process is not None:
                self._process.kill()
                self._process.join()

    def _start(self) -> None:
        with self._lock:
            if self._is_over:
                raise EOFError("the job has ended")
            self._connection, theirs = self._context.Pipe()
            process = self._context.Process(
                target=serve,
                args=(theirs, self._make, self._environment, StandardError()),
                daemon=not self._starts_others,
                name=self._name,
            )
            with _EXIT_CODES:
                process.start()
            self._process = process
            theirs.close()

    def _end(self) -> str:
        """Wait for the end of the process; how it ended."""
        if self._process is None:
            return "could not be started"
        self._connection.close()
        wait([self._process.sentinel])
        with _EXIT_CODES:
            code, self._process = self._process.exitcode, None
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


class StandardError:
    """The log of who starts a process; the server that makes the processes has that of the first job alone."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _write_to, (DupFd(2),)


def _write_to(log: Any) -> None:
    handle = log.detach()
    os.dup2(handle, 2)
    os.close(handle)


def serve(
    connection: Connection,
    make: Callable[[], AbstractContextManager[Serve]],
    environment: Mapping[str, str],
    _log: object = None,
) -> None:
    """A worker's work, until the job that it works for ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C the job hears, and ends its workers
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    os.environ.update(environment)
    log_to_stderr()
    with make() as work:
        answer(connection, work)


def _end_with_parent() -> None:
    """End this process with the one that it works for, whatever it does at that moment."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def answer(connection: Connection, work: Serve) -> None:
    """Do what is asked through a connection until that is closed."""
    while True:
        try:
            asked = connection.recv()
        except EOFError:
            return
        try:
            for found in work(*asked):
                send_result(connection, found)
            send_result(connection, None)
        except UserError as mistake:
            send_result(connection, mistake)


def results_of(connection: Connection, asked: Sequence[Any]) -> Iterator[Any]:
    """Ask the process at the other end; yield what it gives."""
    connection.send(asked)
    yield from given_by(connection)


def given_by(connection: Connection) -> Iterator[Any]:
    """Yield what the process at the other end gives, up to its end; raise the UserError that ends it."""
    while (found := _received(connection)) is not None:
        if isinstance(found, UserError):
            raise found
        yield found


# Arrays pass through memory that both processes see: no copy, no file, and nothing is left over when one is killed.


def send_result(connection: Connection, found: Any) -> None:
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(found, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    connection.send((content, [len(one) for one in raw]))
    if not raw:
        return
    with os.fdopen(os.memfd_create("clip"), "wb") as stream:
        for one in raw:
            stream.write(one)
            stream.write(bytes(-len(one) % mmap.PAGESIZE or mmap.PAGESIZE))
        stream.flush()
        send_handle(connection, stream.fileno(), None)


def _received(connection: Connection) -> Any:
    content, lengths = connection.recv()
    buffers: list[memoryview] = []
    if lengths:
        with os.fdopen(recv_handle(connection), "rb") as stream:
            view, at = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)), 0
        for length in lengths:
            buffers.append(view[at : at + length])
            at += length + (-length % mmap.PAGESIZE or mmap.PAGESIZE)
    found = pickle.loads(content, buffers=buffers)  # noqa: S301  from a process of this job or of its user
    if isinstance(found, Ready):
        found.bytes = sum(map(len, buffers))
    return found


# --- clips prepared ahead ---------------------------------------------------------------------------------------------


Prepared = Ready | Answer
"""a prepared clip, or why it could not be prepared"""


def prepared(preparer: Callable[[], Preparer], clip: Clip, requests: Sequence[Request]) -> Prepared:
    """A clip, decoded and preprocessed once for all questions, or its failure as a value that passes from process to
    process; a UserError ends the job."""
    try:
        start, by = time.monotonic(), preparer()
        frames = by.read(clip)
        decoded = time.monotonic()
        value = by.prepare(clip, frames, requests)
        return Ready(value, {"decode": decoded - start, "preprocess": time.monotonic() - decoded})
    except (KeyboardInterrupt, UserError):
        raise
    except BaseException as error:  # a library's `sys.exit()`, or its panic, ends neither a worker nor a job
        return logged_failure(clip, error)


def ready(found: Prepared) -> Ready:
    """The prepared clip; raises what prevented it."""
    if isinstance(found, Answer):
        raise ClipFailedError(found.error, found.message)
    return found


@contextmanager
def _preparing(target: str, spec: ModelSpec) -> Iterator[Serve]:
    preparer = cache(lambda: _in_one_thread(loaded(target)(spec)))
    yield lambda clip, requests: iter([prepared(preparer, clip, requests)])


def _in_one_thread(preparer: Preparer) -> Preparer:
    """Have torch compute in one thread here: each of these workers would start as many as the whole job has CPUs."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return preparer


class Ahead(AbstractContextManager["Ahead"]):
    """Keeps workers busy with the clips to come, as far ahead as its bounds allow."""

    def __init__(self, target: str, spec: ModelSpec, workers: int) -> None:
        make, preload = partial(_preparing, target, spec), [target.partition(":")[0]]
        self._workers = [Worker(make, "preparing", preload=preload) for _ in range(workers)]
        self._free = deque(self._workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="preparing")
        self._most = AHEAD * workers
        self._bytes_of_clip = 0
        self._expected: deque[tuple[Due, Future[Prepared]]] = deque()
        self._upcoming: Iterator[Due] = iter(())

    def expect(self, upcoming: Iterator[Due]) -> None:
        """What will be asked next, in this order; taken as far as there is room."""
        self._upcoming = upcoming
        self._fill()

    def take(self, clip: Clip, requests: Sequence[Request]) -> Prepared:
        """Wait for this clip, prepared for at least these questions; what was expected before it is asked no more."""
        asked = Due(clip, tuple(requests))
        place = next((at for at, (one, _) in enumerate(self._expected) if one.serves(asked)), None)
        for _ in range(place or 0):
            self._expected.popleft()
        future = self._threads.submit(self._prepared, asked) if place is None else self._expected.popleft()[1]
        found = future.result()
        self._fill()
        return found

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self._threads.shutdown()

    def _fill(self) -> None:
        """As far as there is room, if all clips are as large as the largest that was seen."""
        room = max(1, min(self._most, LARGEST_BYTES // max(1, self._bytes_of_clip)))
        while len(self._expected) < room and (asked := next(self._upcoming, None)) is not None:
            self._expected.append((asked, self._threads.submit(self._prepared, asked)))

    def _prepared(self, asked: Due) -> Prepared:
        """In a thread for each worker: a clip, prepared by a worker that is free."""
        worker = self._free.popleft()
        try:
            (found,) = worker.results(asked.clip, asked.requests)
        except WorkerDiedError as died:  # the death of the process is that clip's failure
            return Answer(error="killed", message=f"the process that prepared its frames {died}")
        finally:
            self._free.append(worker)
        if isinstance(found, Ready):
            self._bytes_of_clip = max(self._bytes_of_clip, found.bytes)
        return cast(Prepared, found)
