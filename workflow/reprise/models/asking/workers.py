"""Processes of a job, each of which does one thing after another: results stream back, and a crash ends one alone."""

import mmap
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, NamedTuple

from reprise.core.errors import MachineError, UserError
from reprise.core.log import log_to_stderr
from reprise.models.base import Ready

PAGE = mmap.PAGESIZE
Work = Callable[..., Iterator[Any]]
Make = Callable[[], AbstractContextManager[Work]]


class Stop(NamedTuple):
    """A message that ends the job: of a mistake that the user must correct, or of this machine's failure."""

    message: str
    is_machine: bool


class WorkerDiedError(Exception):
    """The process has ended by itself, or was killed."""


class Worker:
    """A process that starts at the first thing that it is to do; a new one takes its place when it has died."""

    def __init__(
        self,
        make: Make,
        name: str,
        environment: Mapping[str, str] | None = None,
        preload: Sequence[str] = (),
        *,
        starts_others: bool = False,
    ) -> None:
        """`make` gives, in the process, the function that is called there; what is preloaded, all processes share."""
        self._make, self._name, self._environment, self._starts_others = (
            make,
            name,
            dict(environment or {}),
            starts_others,
        )
        # Its processes begin without this one's threads, locks and GPU.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self._process: Any = None
        self._is_over = False
        self._lock = threading.Lock()

    def results(self, *asked: Any) -> Iterator[Any]:
        """What the function gives for this, each as soon as it is there."""
        try:
            if self._process is None:
                self._start()
            self._connection.send(asked)
            while (found := _received(self._connection)) is not None:
                if isinstance(found, Stop):
                    raise (MachineError if found.is_machine else UserError)(found.message)
                yield found
        except (EOFError, OSError) as error:
            raise WorkerDiedError(self._end()) from error

    def close(self) -> None:
        """End the process, whatever it does; who waits for it is told."""
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
                args=(theirs, self._make, self._environment),
                daemon=not self._starts_others,
                name=self._name,
            )
            process.start()
            self._process = process
            theirs.close()

    def _end(self) -> str:
        """Wait for the end of the process; how it ended."""
        if self._process is None:
            return "could not be started"
        self._connection.close()
        self._process.join()
        code, self._process = self._process.exitcode, None
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def serve(connection: Connection, make: Make, environment: Mapping[str, str]) -> None:
    """A worker's work, until the job that it works for ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C the job hears, and ends its workers
    os.environ.update(environment)
    log_to_stderr()
    with make() as work:
        while True:
            try:
                asked = connection.recv()
            except EOFError:
                return
            try:
                for found in work(*asked):
                    _send(connection, found)
                _send(connection, None)
            except UserError as mistake:
                _send(connection, Stop(str(mistake), isinstance(mistake, MachineError)))


# Arrays pass through memory that both processes see: no copy, no file, and nothing is left over when one is killed.


def _send(connection: Connection, found: Any) -> None:
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(found, protocol=5, buffer_callback=buffers.append)
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


def _received(connection: Connection) -> Any:
    content, lengths = connection.recv()
    buffers: list[memoryview] = []
    if lengths:
        handle = recv_handle(connection)
        try:
            whole = mmap.mmap(handle, 0, access=mmap.ACCESS_COPY)
        finally:
            os.close(handle)
        view, at = memoryview(whole), 0
        for length in lengths:
            buffers.append(view[at : at + length])
            at += length + (-length % PAGE or PAGE)
    found = pickle.loads(content, buffers=buffers)  # noqa: S301  from a process of this job
    if isinstance(found, Ready):
        found.bytes = sum(map(len, buffers))
    return found
