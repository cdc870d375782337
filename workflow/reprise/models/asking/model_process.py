"""Process that keeps a model loaded: `python -m reprise.models.asking.model_process <socket> <pid> <start>`.

`<pid>` and `<start>` identify the Snakemake process with which it ends.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, Listener
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout

from reprise.core.errors import UserError, faults_in_words
from reprise.core.log import log_to_stderr
from reprise.core.owner import Owner, watch
from reprise.models.asking.copies import Begin, answering_runs, plan_copies
from reprise.models.asking.kept import CHECK, LEAVE, LOCK, START, Opening, end_idle_process, host_of, remove_socket
from reprise.models.asking.lazy import find_largest_clip
from reprise.models.asking.workers import Serve, StandardError, Worker, answer_requests, send_result
from reprise.models.base import LargestClip
from reprise.models.local.gpus import take_gpus
from reprise.models.remote.serving.environment import build_of
from reprise.models.remote.serving.host import KEY_VARIABLE, Host

IDLE_S, POLL_S = 60.0, 1.0
MOST_COPIES = 64
# An idle model in main memory ends when less than this share of the memory is free.
ROOM = 0.5


class Kept:
    """A model with its copies, loaded when the first job opens it."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._stack = ExitStack()
        self._copies: list[Serve] = []
        self.room: LargestClip | None = None
        """largest clip for which the GPUs have room"""
        self._host: Host | None = None

    def open(self, opening: Opening) -> list[Serve]:
        """Return a function for each copy that queries it; load the model first if this is the first call.

        The list is empty where another process must load the model again, because a clip is larger than the copies have
        room for, or because the server has ended.
        """
        key = opening.key
        largest = find_largest_clip(opening.clips).or_larger(opening.room) if opening.clips and key.gpus else None
        if self._copies:
            # A copy on one GPU is placed in the same way whatever the size of its clips.
            has_room = key.gpus == 1 or key.gpus_per_copy == 1 or self._has_room(largest)
            is_usable = has_room and (self._host is None or self._host.is_running())
            return self._copies if is_usable else []
        build = build_of(key.hosting.environment) if key.hosting else None
        locks, make_room = opening.store.root / "locks", partial(end_idle_process, self._owner)
        for lock in take_gpus(key.gpus, locks, Path(key.run).name, build, make_room):
            self._stack.callback(lock.release)
        self.room = largest
        if key.hosting:
            self._host = host_of(opening)
            self._copies = [partial(_query_host, self._host, self._host.start())]
            return self._copies
        starters = plan_copies(key, opening.threads, opening.weights, largest) if key.gpus > 1 else []
        make = partial(answering_runs, largest)
        self._copies = [partial(_query_worker, self._stack.enter_context(closing(start(make)))) for start in starters]
        if not starters:
            self._copies = [self._stack.enter_context(make())]
        return self._copies

    def _has_room(self, clip: LargestClip | None) -> bool:
        return clip is None or (
            self.room is not None and all(size <= limit for size, limit in zip(clip, self.room, strict=True))
        )


def _query_host(host: Host, settings: dict[str, Any], message: object, *arguments: bool) -> Iterator[dict[str, Any]]:
    if message == START:
        yield settings | {"secret": os.environ[KEY_VARIABLE]}
    elif message == CHECK:
        host.check(is_lost=arguments[0])


def _query_worker(worker: Worker, *arguments: Any) -> Iterator[Any]:
    if isinstance(arguments[0], Begin):
        arguments = (Begin(arguments[0].make, StandardError()),)
    yield from worker.results(*arguments)


class Process:
    """The process: it serves one job after another, and each job has exclusive use of the model."""

    def __init__(self, socket: Path, owner: Owner) -> None:
        self._socket, self._kept = socket, Kept(owner)
        self._idle_since: float | None = (
            time.monotonic()
        )  # The job that starts this process may be killed before it connects.
        self._listener = Listener(str(socket), backlog=MOST_COPIES)
        watch(owner, self.end)
        threading.Thread(target=self._watch_idleness, name="idleness", daemon=True).start()

    def serve(self) -> None:
        try:
            self._serve_jobs()
        except BaseException:
            traceback.print_exc()
        finally:
            self.end()

    def _serve_jobs(self) -> None:
        while True:
            with self._listener.accept() as connection:
                self._idle_since = None
                opening = connection.recv()
                if opening is LEAVE:
                    self.end()
                with _writing_to(recv_handle(connection)):
                    is_usable = self._serve_job(connection, opening)
            if not is_usable:
                self.end()
            with suppress(FileNotFoundError):
                os.utime(self._socket.with_suffix(LOCK))
            self._idle_since = time.monotonic()

    def _serve_job(self, connection: Connection, opening: Opening) -> bool:
        """Serve a job to its end; return whether the model can serve another one."""
        try:
            with faults_in_words(), self._ending_with(connection):
                copies = self._kept.open(opening)
            send_result(connection, (len(copies), self._kept.room))
            send_result(connection, None)
        except UserError as error:
            send_result(connection, error)
            return False
        if not copies:
            return False
        connections = [connection, *(self._listener.accept() for _ in copies[1:])]
        failures: list[BaseException] = []

        def relay(number: int) -> None:
            try:
                try:
                    answer_requests(connections[number], copies[number])
                except ConnectionError as error:  # The job was killed.
                    if len(copies) > 1:  # The answers that this copy still sends would reach the next job.
                        failures.append(error)
                list(copies[number](Begin()))
            except BaseException as error:
                failures.append(error)
                traceback.print_exc()
            finally:
                connections[number].close()

        threads = [threading.Thread(target=relay, args=(number,)) for number in range(1, len(copies))]
        for thread in threads:
            thread.start()
        relay(0)
        for thread in threads:
            thread.join()
        return not failures

    @contextmanager
    def _ending_with(self, job: Connection) -> Iterator[None]:
        """End this process if the job is killed while it waits for a GPU or for the model to load."""
        is_open = threading.Event()

        def watch_job() -> None:
            while not is_open.wait(POLL_S):
                if job.poll():  # A waiting job sends nothing, so its connection is readable only when it has ended.
                    self.end()

        watcher = threading.Thread(target=watch_job, name="job", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            is_open.set()
            watcher.join()

    def end(self) -> None:
        """End this process and its children at once."""
        remove_socket(self._socket)
        for child in multiprocessing.active_children():
            child.kill()
        os._exit(0)

    def _watch_idleness(self) -> None:
        while True:
            time.sleep(POLL_S)
            since = self._idle_since
            if since is None:
                continue
            memory = psutil.virtual_memory()
            is_full = self._socket.name.startswith("cpu") and memory.available < ROOM * memory.total
            if time.monotonic() - since < IDLE_S and not is_full:
                continue
            lock = FileLock(self._socket.with_suffix(LOCK))
            try:
                lock.acquire(blocking=False)
            except Timeout:  # A job is about to connect.
                continue
            self.end()


@contextmanager
def _writing_to(handle: int) -> Iterator[None]:
    """Redirect standard error to that of a job, so that the job's log has all messages written while it is served."""
    os.dup2(handle, 2)
    os.close(handle)
    try:
        yield
    finally:
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, 2)
        os.close(null_device)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Snakemake handles Ctrl-C, and this process ends with it.
    log_to_stderr()
    Process(Path(sys.argv[1]), Owner(int(sys.argv[2]), float(sys.argv[3]))).serve()
