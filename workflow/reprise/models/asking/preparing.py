"""Preparing clips for a model: decoding and preprocessing, here or in worker processes that a crash ends alone."""

import mmap
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.errors import MachineError, UserError
from reprise.core.log import log, log_to_stderr
from reprise.models.adapters import loaded
from reprise.models.asking.outcomes import failure_of, place_of
from reprise.models.base import Answer, Clip, ClipFailedError, ModelSpec, Preparer, Ready, Request

PAGE = mmap.PAGESIZE
# Of two processes the kernel ends the one with the larger number when memory runs out: a worker before the model.
OOM_SCORE = "500"


class Failed(NamedTuple):
    """Why a clip could not be prepared."""

    answer: Answer


class Stop(NamedTuple):
    """A message that ends the job: of a mistake that the user must correct, or of this machine's failure."""

    message: str
    is_machine: bool


Outcome = Ready | Failed | Stop


def prepare(preparer: Preparer, clip: Clip, requests: Sequence[Request]) -> Ready:
    """Decode a clip's frames once and preprocess them once for all questions."""
    start = time.monotonic()
    frames = preparer.read(clip)
    decoded = time.monotonic()
    value = preparer.prepare(clip, frames, requests)
    return Ready(value, requests, {"decode": decoded - start, "preprocess": time.monotonic() - decoded})


def outcome_of(preparer: Preparer, clip: Clip, requests: Sequence[Request]) -> Outcome:
    """The same, with a failure as a value that passes from process to process."""
    try:
        return prepare(preparer, clip, requests)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a library's `sys.exit()`, or its panic, ends neither a worker nor a job
        return _failed(clip, error)


def _failed(clip: Clip, error: BaseException) -> Failed | Stop:
    try:
        if isinstance(error, UserError):
            raise error
        failure = failure_of(error)
    except UserError as mistake:
        return Stop(str(mistake), isinstance(mistake, MachineError))
    log.info(f"{clip.clip_id}: {failure.error}: {failure.message}{place_of(error)}")
    return Failed(failure)


def ready(outcome: Outcome) -> Ready:
    """The prepared clip; raises what prevented it."""
    if isinstance(outcome, Stop):
        raise (MachineError if outcome.is_machine else UserError)(outcome.message)
    if isinstance(outcome, Failed):
        raise ClipFailedError(outcome.answer.error, outcome.answer.message)
    return outcome


class Worker:
    """A process that prepares one clip after the other; a new one takes its place when it has died."""

    def __init__(self, target: str, spec: ModelSpec) -> None:
        self._target, self._spec = target, spec
        # Its processes begin without this one's threads, locks and GPU, and share what they import.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([target.partition(":")[0]])
        self._process: Any = None
        self._is_over = False
        self._lock = threading.Lock()

    def outcome(self, clip: Clip, requests: Sequence[Request]) -> Outcome:
        """Wait for a clip; the death of the process is that clip's failure."""
        try:
            if self._process is None:
                self._start()
            self._connection.send((clip, tuple(requests)))
            return _received(self._connection)
        except (EOFError, OSError):
            if self._process is None:
                raise
            return Failed(Answer(error="killed", message=f"the process that prepared its frames {self._end()}"))

    def kill(self) -> None:
        """End the process, whatever it does; who waits for it is told."""
        with self._lock:
            self._is_over = True
            if self._process is not None:
                self._process.kill()

    def _start(self) -> None:
        with self._lock:
            if self._is_over:
                raise EOFError("the job has ended")
            self._connection, theirs = self._context.Pipe()
            process = self._context.Process(
                target=serve, args=(theirs, self._target, self._spec), daemon=True, name="preparing"
            )
            process.start()
            self._process = process
            theirs.close()

    def _end(self) -> str:
        """Wait for the end of the process; how it ended."""
        self._connection.close()
        self._process.join()
        code, self._process = self._process.exitcode, None
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def serve(connection: Connection, target: str, spec: ModelSpec) -> None:
    """A worker's work, until the job that it works for ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C the job hears, and ends its workers
    _be_first_to_go()
    log_to_stderr()
    preparer: Preparer | None = None
    while True:
        try:
            clip, requests = connection.recv()
        except EOFError:
            return
        try:
            preparer = preparer or loaded(target)(spec)
        except BaseException as error:
            _send(connection, _failed(clip, error))
            continue
        assert preparer is not None
        _send(connection, outcome_of(preparer, clip, requests))


def _be_first_to_go() -> None:
    try:
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE, encoding="ascii")
    except OSError as error:
        log.info(f"workers are not preferred when memory runs out: {error}")


# Arrays pass through memory that both processes see: no copy, no file, and nothing is left over when one is killed.


def _send(connection: Connection, outcome: Outcome) -> None:
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(outcome, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    connection.send((content, [len(one) for one in raw]))
    if not raw:
        return
    handle = os.memfd_create("clip")
    try:
        with open(handle, "wb", closefd=False) as stream:
            for one in raw:
                stream.write(one)
                stream.write(bytes(-len(one) % PAGE or PAGE))
        send_handle(connection, handle, None)
    finally:
        os.close(handle)


def _received(connection: Connection) -> Outcome:
    content, lengths = connection.recv()
    if not lengths:
        return _loaded(content, [])
    handle = recv_handle(connection)
    try:
        whole = mmap.mmap(handle, 0, access=mmap.ACCESS_COPY)
    finally:
        os.close(handle)
    view, buffers, at = memoryview(whole), [], 0
    for length in lengths:
        buffers.append(view[at : at + length])
        at += length + (-length % PAGE or PAGE)
    return _loaded(content, buffers)


def _loaded(content: bytes, buffers: list[memoryview]) -> Outcome:
    found: Outcome = pickle.loads(content, buffers=buffers)  # noqa: S301  from a process of this job
    if isinstance(found, Ready):
        found.bytes = sum(map(len, buffers))
    return found
