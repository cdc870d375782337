"""Run tasks in worker processes, which stream results back; a crash ends only one worker.

Workers also prepare clips ahead of the model, in the order of its requests.
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
from reprise.models.adapters import import_object
from reprise.models.base import (
    Answer,
    ClipFailedError,
    ClipFrames,
    ModelSpec,
    PendingRequests,
    PreparedClip,
    Preparer,
    Request,
)
from reprise.models.inference.outcomes import log_failure

TaskFunction = Callable[..., Iterator[Any]]
"""function that does one task in a worker and yields the task's results"""
# Maximum number of clips per worker that are prepared or in preparation.
CLIPS_PER_WORKER = 2
# Maximum memory of all prepared clips: 4 GiB.
MAX_PREPARED_BYTES = 4 << 30
# Starting a process also collects the exit codes of all ended processes. A code can be collected only once, so without
# this lock another thread might not find the code of its process.
_EXIT_CODE_LOCK = threading.Lock()


class WorkerDiedError(Exception):
    """A worker process exited by itself or was killed."""


class ModelCopy(ABC):
    """A process that runs tasks: a copy of a model, or a worker that prepares clips for one."""

    @abstractmethod
    def run_task(self, *arguments: Any) -> Iterator[Any]:
        """Send a task and yield each of its results as it arrives; raise a WorkerDiedError if the process ends."""

    @abstractmethod
    def close(self) -> None:
        """Stop sending tasks; a thread that waits for a result gets a WorkerDiedError."""


class Worker(ModelCopy):
    """A process that starts with its first task; if it dies, the next task starts a new process."""

    def __init__(
        self,
        make_task_function: Callable[[], AbstractContextManager[TaskFunction]],
        name: str,
        environment: Mapping[str, str] | None = None,
        preload: Sequence[str] = (),
        *,
        spawns_processes: bool = False,
    ) -> None:
        """Set up the worker; the process starts later.

        Args:
            make_task_function: Called in the process; yields the function that does the tasks.
            name: Name of the process.
            environment: Environment variables that the process sets.
            preload: Modules that are imported once, before the processes are forked.
            spawns_processes: Whether the process itself starts processes.
        """
        self._make_task_function, self._environment = make_task_function, dict(environment or {})
        self._name, self._spawns_processes = name, spawns_processes
        # A fork server keeps this process's threads, locks and CUDA context out of the workers.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))
        self._process: Any = None
        self._is_closed = False
        self._lock = threading.Lock()

    def run_task(self, *arguments: Any) -> Iterator[Any]:
        try:
            if self._process is None:
                self._start()
            yield from request_results(self._connection, arguments)
        except (EOFError, OSError) as error:
            raise WorkerDiedError(self._end()) from error

    def close(self) -> None:
        """Kill the process."""
        with self._lock:
            self._is_closed = True
            if self._process is not None:
                self._process.kill()
                self._process.join()

    def _start(self) -> None:
        with self._lock:
            if self._is_closed:
                raise EOFError("the job has ended")
            self._connection, child_end = self._context.Pipe()
            process = self._context.Process(
                target=run_worker,
                args=(child_end, self._make_task_function, self._environment, StderrRedirect()),
                daemon=not self._spawns_processes,
                name=self._name,
            )
            with _EXIT_CODE_LOCK:
                process.start()
            self._process = process
            child_end.close()

    def _end(self) -> str:
        """Wait for the end of the process and describe it, as the predicate of a sentence."""
        if self._process is None:
            return "could not start"
        self._connection.close()
        wait([self._process.sentinel])
        with _EXIT_CODE_LOCK:
            code, self._process = self._process.exitcode, None
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


class StderrRedirect:
    """An object that redirects a process's standard error when the process unpickles it.

    The new destination is the standard error of the process that pickled the object.

    Without a redirect, a worker would write to the log of the job that started the fork server.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _redirect_stderr, (DupFd(2),)


def _redirect_stderr(duplicate: Any) -> None:
    """Replace standard error (file descriptor 2) by a descriptor that `DupFd` sent from another process."""
    handle = duplicate.detach()
    os.dup2(handle, 2)
    os.close(handle)


def run_worker(
    connection: Connection,
    make_task_function: Callable[[], AbstractContextManager[TaskFunction]],
    environment: Mapping[str, str],
    _redirect: object = None,  # takes effect when it is unpickled, before this call
) -> None:
    """Run the tasks of a worker until its job ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The job handles Ctrl-C and ends its workers.
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    os.environ.update(environment)
    log_to_stderr()
    with make_task_function() as task_function:
        process_tasks(connection, task_function)


def _end_with_parent() -> None:
    """Wait for the end of the parent process, then end this process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def process_tasks(connection: Connection, task_function: TaskFunction) -> None:
    """Run the tasks that arrive through a connection until the connection is closed.

    A task is a tuple of arguments. Its results are followed by None, or by the UserError that ended it.
    """
    while True:
        try:
            arguments = connection.recv()
        except EOFError:
            return
        try:
            for result in task_function(*arguments):
                send_result(connection, result)
            send_result(connection, None)
        except UserError as error:
            send_result(connection, error)


def request_results(connection: Connection, arguments: Sequence[Any]) -> Iterator[Any]:
    """Send a task to the process at the other end of a connection and yield its results."""
    connection.send(arguments)
    yield from receive_results(connection)


def receive_results(connection: Connection) -> Iterator[Any]:
    """Yield the results of the current task; raise the UserError that ended it, if any."""
    while (result := _receive_result(connection)) is not None:
        if isinstance(result, UserError):
            raise result
        yield result


# Arrays are sent in anonymous shared memory: the receiver maps them without a copy, and a kill leaves no file behind.


def send_result(connection: Connection, result: Any) -> None:
    """Send a result, or None at the end of a task, to `receive_results` at the other end."""
    buffers: list[pickle.PickleBuffer] = []
    # Protocol 5 passes arrays to the callback instead of copying them into the pickle.
    pickled_result = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    connection.send((pickled_result, [len(array) for array in arrays]))
    if not arrays:
        return
    with os.fdopen(os.memfd_create("clip"), "wb") as stream:
        for array in arrays:
            stream.write(array)
            stream.write(bytes(_count_padding(len(array))))
        stream.flush()
        send_handle(connection, stream.fileno(), None)


def _count_padding(length: int) -> int:
    """Return the bytes from an array's end to the next array, which starts on a new page.

    There is always at least one byte, because a file with only empty arrays could not be mapped otherwise.
    """
    return mmap.PAGESIZE - length % mmap.PAGESIZE


def _receive_result(connection: Connection) -> Any:
    """Return the next result of a task, or None at its end; the result's arrays map the sender's shared memory."""
    pickled_result, lengths = connection.recv()
    buffers: list[memoryview] = []
    if lengths:
        with os.fdopen(recv_handle(connection), "rb") as stream:
            view, offset = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)), 0
        for length in lengths:
            buffers.append(view[offset : offset + length])
            offset += length + _count_padding(length)
    result = pickle.loads(pickled_result, buffers=buffers)  # noqa: S301  sent by a process of this job or of its user
    if isinstance(result, PreparedClip):
        result.size_bytes = sum(map(len, buffers))
    return result


# --- clips prepared ahead ---------------------------------------------------------------------------------------------


PreparationResult = PreparedClip | Answer
"""a prepared clip, or the failure of its preparation"""


def prepare_clip(
    create_preparer: Callable[[], Preparer], clip: ClipFrames, requests: Sequence[Request]
) -> PreparationResult:
    """Decode and preprocess a clip once for all its requests; return an error as a value that can be pickled.

    Raises:
        UserError: An error that must end the job.
    """
    try:
        start, preparer = time.monotonic(), create_preparer()
        frames = preparer.read(clip)
        decode_end = time.monotonic()
        inputs = preparer.prepare(clip, frames, requests)
        return PreparedClip(inputs, {"decode": decode_end - start, "preprocess": time.monotonic() - decode_end})
    except (KeyboardInterrupt, UserError):
        raise
    except BaseException as error:  # A library's `sys.exit()` or panic must not end the worker or the job.
        return log_failure(clip, error)


def get_prepared_clip(result: PreparationResult) -> PreparedClip:
    """Return the prepared clip; raise a ClipFailedError if its preparation failed."""
    if isinstance(result, Answer):
        raise ClipFailedError(result.error, result.message)
    return result


@contextmanager
def _create_preparation_function(import_string: str, spec: ModelSpec) -> Iterator[TaskFunction]:
    """Yield a task function that prepares clips; the first clip creates the preparer."""

    @cache
    def create_preparer() -> Preparer:
        preparer: Preparer = import_object(import_string)(spec)
        _limit_torch_to_one_thread()
        return preparer

    yield lambda clip, requests: iter([prepare_clip(create_preparer, clip, requests)])


def _limit_torch_to_one_thread() -> None:
    """Limit torch, if it is imported, to one thread; by default, each worker starts as many as the job has CPUs."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


class ClipPrefetcher(AbstractContextManager["ClipPrefetcher"]):
    """A queue of upcoming clips that workers prepare ahead, limited by their number and their memory."""

    def __init__(self, preparer: str, spec: ModelSpec, worker_count: int) -> None:
        make_task_function = partial(_create_preparation_function, preparer, spec)
        preload = [preparer.partition(":")[0]]
        self._workers = [Worker(make_task_function, "preparing", preload=preload) for _ in range(worker_count)]
        self._idle_workers = deque(self._workers)
        self._threads = ThreadPoolExecutor(worker_count, thread_name_prefix="preparing")
        self._max_clips = CLIPS_PER_WORKER * worker_count
        self._largest_clip_bytes = 0
        self._queue: deque[tuple[PendingRequests, Future[PreparationResult]]] = deque()
        self._upcoming: Iterator[PendingRequests] = iter(())

    def set_upcoming(self, upcoming: Iterator[PendingRequests]) -> None:
        """Set the upcoming clips, in order, and fill the queue."""
        self._upcoming = upcoming
        self._fill()

    def take(self, clip: ClipFrames, requests: Sequence[Request]) -> PreparationResult:
        """Wait for the preparation of a clip for these requests; drop clips that were queued before this clip."""
        batch = PendingRequests(clip, tuple(requests))
        position = next((index for index, (queued, _) in enumerate(self._queue) if queued.covers(batch)), None)
        if position is None:
            future = self._threads.submit(self._prepare, batch)
        else:
            for _ in range(position):
                self._queue.popleft()
            _, future = self._queue.popleft()
        result = future.result()
        self._fill()
        return result

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self._threads.shutdown()

    def _fill(self) -> None:
        """Fill the queue up to the limits of number and memory, assuming the largest clip size so far."""
        max_clips = max(1, min(self._max_clips, MAX_PREPARED_BYTES // max(1, self._largest_clip_bytes)))
        while len(self._queue) < max_clips and (batch := next(self._upcoming, None)) is not None:
            self._queue.append((batch, self._threads.submit(self._prepare, batch)))

    def _prepare(self, batch: PendingRequests) -> PreparationResult:
        """Prepare a clip in an idle worker. As there is one thread per worker, one worker is always idle."""
        worker = self._idle_workers.popleft()
        try:
            (result,) = worker.run_task(batch.clip, batch.requests)
        except WorkerDiedError as error:  # Only this clip fails, because the next task starts a new process.
            return Answer(error="killed", message=f"the process that prepared the frames {error}")
        finally:
            self._idle_workers.append(worker)
        if isinstance(result, PreparedClip):
            self._largest_clip_bytes = max(self._largest_clip_bytes, result.size_bytes)
        return cast(PreparationResult, result)
