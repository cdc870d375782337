"""Keep a model loaded in a process: `python -m reprise.models.inference.model_process <socket> <pid> <start>`.

`<pid>` and `<start>` identify a Snakemake process. The process of the model ends when that Snakemake ends.
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

from reprise.core.errors import UserError, convert_machine_errors
from reprise.core.log import log_to_stderr
from reprise.core.owner import Owner, watch_process
from reprise.models.base import LargestClip
from reprise.models.inference.copies import BeginRun, create_run_task_function, plan_copies
from reprise.models.inference.lazy import find_largest_clip
from reprise.models.inference.resident import (
    CHECK_SERVER,
    EXIT,
    LOCK_SUFFIX,
    START_SERVER,
    LoadRequest,
    create_server_process,
    end_idle_process,
    remove_socket,
)
from reprise.models.inference.workers import StderrRedirect, TaskFunction, Worker, process_tasks, send_result
from reprise.models.local.gpus import take_gpus
from reprise.models.remote.serving.environment import read_torch_build
from reprise.models.remote.serving.host import KEY_VARIABLE, ServerProcess

IDLE_TIMEOUT_S, POLL_INTERVAL_S = 60.0, 1.0
# A job opens one connection per copy, and this many can wait to be accepted.
MAX_COPIES = 64
# The process of an idle model in main memory ends if less than this share of the memory is free.
MIN_FREE_MEMORY_SHARE = 0.5


class ResidentModel:
    """A model and its copies, which are loaded for the first job."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._stack = ExitStack()
        self._copies: list[TaskFunction] = []
        self.capacity: LargestClip | None = None
        """largest clip that the GPUs have memory for"""
        self._server: ServerProcess | None = None

    def open(self, load_request: LoadRequest) -> list[TaskFunction]:
        """Return one function per copy, which queries the copy; the first call loads the model.

        The list is empty if the model must be loaded again by another process, because the copies lack memory for a
        clip or because the server has ended.
        """
        key = load_request.key
        largest_clip = (
            find_largest_clip(load_request.clips).elementwise_max(load_request.capacity)
            if load_request.clips and key.gpus
            else None
        )
        if self._copies:
            # The placement of a copy on one GPU does not depend on the size of the clips.
            has_room = key.gpus == 1 or key.gpus_per_copy == 1 or self._has_room(largest_clip)
            is_usable = has_room and (self._server is None or self._server.is_running())
            return self._copies if is_usable else []
        torch_build = read_torch_build(key.hosting.environment) if key.hosting else None
        lock_folder, make_room = load_request.store.root / "locks", partial(end_idle_process, self._owner)
        for lock in take_gpus(key.gpus, lock_folder, Path(key.run).name, torch_build, make_room):
            self._stack.callback(lock.release)
        self.capacity = largest_clip
        if key.hosting:
            self._server = create_server_process(load_request)
            self._copies = [partial(_query_server, self._server, self._server.start())]
            return self._copies
        copy_starters = (
            plan_copies(key, load_request.threads, load_request.weights_folder, largest_clip) if key.gpus > 1 else []
        )
        make_task_function = partial(create_run_task_function, largest_clip)
        workers = [self._stack.enter_context(closing(start(make_task_function))) for start in copy_starters]
        self._copies = [partial(_query_worker, worker) for worker in workers]
        if not copy_starters:  # A single copy runs in this process.
            self._copies = [self._stack.enter_context(make_task_function())]
        return self._copies

    def _has_room(self, clip: LargestClip | None) -> bool:
        return clip is None or (
            self.capacity is not None and all(size <= limit for size, limit in zip(clip, self.capacity, strict=True))
        )


def _query_server(
    server: ServerProcess, settings: dict[str, Any], command: object, *arguments: bool
) -> Iterator[dict[str, Any]]:
    """Yield the server's settings, or check that it runs.

    Any other command is a message that ends a run, which needs no action here.
    """
    if command == START_SERVER:
        yield settings | {"secret": os.environ[KEY_VARIABLE]}
    elif command == CHECK_SERVER:
        server.check_running(is_connection_lost=arguments[0])


def _query_worker(worker: Worker, *arguments: Any) -> Iterator[Any]:
    """Yield the results of a task that a copy in another process does."""
    # This process's standard error is now the log of the current job, and the worker must write to the same log.
    if isinstance(arguments[0], BeginRun):
        arguments = (BeginRun(arguments[0].make_model, StderrRedirect()),)
    yield from worker.run_task(*arguments)


class ModelProcess:
    """A process that serves one job after another; each job has exclusive use of the model."""

    def __init__(self, socket: Path, owner: Owner) -> None:
        self._socket, self._model = socket, ResidentModel(owner)
        # The process counts as idle from the start, because the job that starts it may be killed before it connects.
        self._idle_since: float | None = time.monotonic()
        self._listener = Listener(str(socket), backlog=MAX_COPIES)
        watch_process(owner, self.end)
        threading.Thread(target=self._watch_idleness, name="idleness", daemon=True).start()

    def serve(self) -> None:
        """Serve jobs until the process ends."""
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
                load_request = connection.recv()
                if load_request is EXIT:
                    self.end()
                with _redirect_stderr(recv_handle(connection)):
                    is_usable = self._serve_job(connection, load_request)
            if not is_usable:
                self.end()
            with suppress(FileNotFoundError):  # The lock file's time tells other processes since when this one is idle.
                os.utime(self._socket.with_suffix(LOCK_SUFFIX))
            self._idle_since = time.monotonic()

    def _serve_job(self, connection: Connection, load_request: LoadRequest) -> bool:
        """Serve a job to its end; return whether the model can serve another job."""
        try:
            with convert_machine_errors(), self._end_with_job(connection):
                copies = self._model.open(load_request)
            send_result(connection, (len(copies), self._model.capacity))
            send_result(connection, None)
        except UserError as error:
            send_result(connection, error)
            return False
        if not copies:
            return False
        connections = [connection, *(self._listener.accept() for _ in copies[1:])]
        failures: list[BaseException] = []

        def relay(number: int) -> None:
            """Pass the job's tasks to one copy until the job closes the connection."""
            try:
                try:
                    process_tasks(connections[number], copies[number])
                except ConnectionError as error:  # The job was killed.
                    if len(copies) > 1:  # This copy's worker may still send answers, which the next job would receive.
                        failures.append(error)
                list(copies[number](BeginRun()))  # A message without a model ends the run.
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
    def _end_with_job(self, job: Connection) -> Iterator[None]:
        """End this process if its job is killed while this process waits for a GPU or loads the model."""
        is_loaded = threading.Event()

        def watch_job() -> None:
            while not is_loaded.wait(POLL_INTERVAL_S):
                if job.poll():  # A waiting job sends nothing, so its connection is readable only after its end.
                    self.end()

        watcher = threading.Thread(target=watch_job, name="job", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            is_loaded.set()
            watcher.join()

    def end(self) -> None:
        """End this process and its children at once."""
        remove_socket(self._socket)
        for child in multiprocessing.active_children():
            child.kill()
        os._exit(0)

    def _watch_idleness(self) -> None:
        while True:
            time.sleep(POLL_INTERVAL_S)
            idle_since = self._idle_since
            if idle_since is None:
                continue
            memory = psutil.virtual_memory()
            is_full = self._socket.name.startswith("cpu") and memory.available < MIN_FREE_MEMORY_SHARE * memory.total
            if time.monotonic() - idle_since < IDLE_TIMEOUT_S and not is_full:
                continue
            lock = FileLock(self._socket.with_suffix(LOCK_SUFFIX))
            try:
                lock.acquire(blocking=False)
            except Timeout:  # A job is about to connect.
                continue
            self.end()


@contextmanager
def _redirect_stderr(handle: int) -> Iterator[None]:
    """Redirect this process's standard error to the log of the job that it serves, and afterwards to nowhere."""
    os.dup2(handle, 2)
    os.close(handle)
    try:
        yield
    finally:
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, 2)
        os.close(null_device)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Snakemake handles Ctrl-C; this process ends when Snakemake ends.
    log_to_stderr()
    ModelProcess(Path(sys.argv[1]), Owner(int(sys.argv[2]), float(sys.argv[3]))).serve()
