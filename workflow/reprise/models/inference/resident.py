"""Connect a job to a resident model, which stays loaded in a separate process, the model process.

`model_process.py` is the code of this process.

The first job that needs a model starts the process; later jobs of the same Snakemake connect to it. Only one job at a
time can use the process, because a job must hold the lock of a file beside the process's socket. The process ends when
its Snakemake ends, after a minute without a job, or when another model needs its GPUs.
"""

import os
import secrets
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from socket import AF_UNIX, SHUT_RDWR, SOCK_STREAM, fromfd
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from psutil import pid_exists

from reprise.core.errors import MachineError, UserError
from reprise.core.files import value_digest
from reprise.core.log import log
from reprise.core.owner import Owner
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS, import_object
from reprise.models.base import ClipFrames, LargestClip
from reprise.models.inference.workers import ModelCopy, WorkerDiedError, receive_results, request_results
from reprise.models.keys import ModelRunKey

if TYPE_CHECKING:  # `host` imports an HTTP client, which only a job with a server needs.
    from reprise.models.remote.serving.host import ServerProcess

PROCESS_MODULE = "reprise.models.inference.model_process"
TEMP_FOLDER = Path("/tmp")  # noqa: S108  a socket needs a short path (108 characters) on a local disk; its folder is private
SOCKET_SUFFIX, LOCK_SUFFIX = ".sock", ".lock"
START_TIMEOUT_S, END_TIMEOUT_S, POLL_INTERVAL_S = 300.0, 20.0, 0.05
# A process of another Snakemake must be idle for this time before this Snakemake may end it.
FOREIGN_IDLE_GRACE_S = 15.0
EXIT = None
"""message that ends an idle process"""
START_SERVER, CHECK_SERVER = "start", "check"
"""messages to the process that keeps a server"""
# Fields of the answers key that affect the loading of a model.
MODEL_FIELDS = {
    "adapter", "model", "settings", "dtype", "attention", "trust_remote_code", "serving", "versions", "code_versions",
}  # fmt: skip


@dataclass(frozen=True)
class LoadRequest:
    """A message from a job to a model process, with all settings for loading a model."""

    key: ModelRunKey
    store: Store
    threads: int
    weights_folder: Path
    clips: Sequence[ClipFrames] = ()
    """clips of the run; the GPUs need memory for the largest one"""
    capacity: LargestClip | None = None
    """largest clip that the GPUs had memory for when the model was loaded earlier"""
    server_log: Path | None = None
    """log file of the model's server, if the process starts one"""

    @property
    def identity(self) -> str:
        """Return a digest of all settings that affect the loading of the model."""
        key = self.key
        answers = key.answers.model_dump(mode="json", include=MODEL_FIELDS)
        hosting = key.hosting.model_dump(mode="json") if key.hosting else None
        resources = [key.checkpoint, key.gpus, key.gpus_per_copy, key.serving, hosting, self.threads]
        return value_digest([answers, *resources])[:16]


def is_resident(key: ModelRunKey) -> bool:
    """Return whether a run's model stays loaded between jobs, because it has weights or its own server."""
    return ADAPTERS[key.answers.adapter].needs_weights or key.hosting is not None


def create_server_process(load_request: LoadRequest) -> "ServerProcess":
    """Return a model's server, which is not started yet."""
    key = load_request.key
    assert key.answers.serving is not None and key.hosting is not None and load_request.server_log is not None
    server_class: type[ServerProcess] = import_object("reprise.models.remote.serving.host:ServerProcess")
    return server_class(
        key.answers.serving,
        key.hosting,
        weights_folder=load_request.weights_folder,
        model_name=key.answers.settings["model"],
        store=load_request.store,
        log_file=load_request.server_log,
    )


# --- connections ------------------------------------------------------------------------------------------------------


class ResidentCopy(ModelCopy):
    """A connection to a copy of a model that stays loaded."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def run_task(self, *arguments: Any) -> Iterator[Any]:
        try:
            yield from request_results(self.connection, arguments)
        except (EOFError, OSError) as error:
            raise WorkerDiedError("has ended, or was killed") from error

    def close(self) -> None:
        with suppress(OSError), fromfd(self.connection.fileno(), AF_UNIX, SOCK_STREAM) as duplicate:
            duplicate.shutdown(SHUT_RDWR)  # `close` would not wake a thread that waits for an answer.


def begin_run(copies: Sequence[ResidentCopy], message: object) -> None:
    """Begin a run on all copies at once; raise a UserError if a copy cannot load the model."""
    try:
        for copy in copies:
            copy.connection.send((message,))
        for copy in copies:
            list(receive_results(copy.connection))
    except (EOFError, OSError) as error:
        raise MachineError(
            "the process that loads the model ended or was killed, perhaps because the memory was full. Answers so far "
            "are kept. Give the job more memory (`memory_mb` in the model's file), then run the same command again."
        ) from error


class ResidentServer:
    """A connection to a server that keeps running for the next job."""

    def __init__(self, owner: Owner, load_request: LoadRequest) -> None:
        self._owner, self._load_request = owner, load_request
        self._stack = ExitStack()
        self._process: ResidentCopy | None = None

    def start(self) -> dict[str, Any]:
        """Start the server or connect to a running one; return the adapter's settings with its address and API key."""
        (self._process,) = self._stack.enter_context(resident_model(self._owner, self._load_request))
        (settings,) = self._process.run_task(START_SERVER)
        os.environ[settings["key"]] = settings.pop("secret")  # `key` names the variable of the API key.
        return dict(settings)

    def check_running(self, *, is_connection_lost: bool) -> None:
        """Raise a MachineError if the server has ended."""
        try:
            if self._process is not None:
                list(self._process.run_task(CHECK_SERVER, is_connection_lost))
        except WorkerDiedError as error:
            raise MachineError(
                f"the process that runs the server {error}. Answers so far are kept. Run the same command again."
            ) from error

    def close(self) -> None:
        self._stack.close()


@contextmanager
def resident_model(owner: Owner, load_request: LoadRequest) -> Iterator[list[ResidentCopy]]:
    """Connect to all copies of a model; first start a process if no idle one has loaded the model."""
    kind = "gpu" if load_request.key.gpus else "cpu"
    process_name = f"{kind}-{owner.pid}-{owner.start_time:.0f}-{load_request.identity}"
    with ExitStack() as stack:
        socket_path, connection, copy_count = _connect_loaded(process_name, owner, load_request, stack)
        connections = [connection]
        for _ in range(copy_count - 1):
            connections.append(Client(str(socket_path)))
            stack.callback(connections[-1].close)
        yield list(map(ResidentCopy, connections))


def _connect_loaded(
    process_name: str, owner: Owner, load_request: LoadRequest, stack: ExitStack
) -> tuple[Path, Connection, int]:
    """Return the socket of a process that has loaded the model, a connection to it, and the number of its copies."""
    while True:
        socket_path, connection = _connect_idle(f"{process_name}-*", stack) or _start_process(
            process_name, owner, stack
        )
        stack.callback(connection.close)
        try:
            connection.send(load_request)
            send_handle(connection, 2, None)  # It sends standard error, so the process writes to the log of this job.
            ((copy_count, capacity),) = receive_results(connection)
        except (EOFError, OSError) as error:
            raise MachineError(
                "the process that loads the model ended or was killed. Nothing was recorded. Run the same command "
                "again."
            ) from error
        if copy_count:
            return socket_path, connection, copy_count
        load_request = replace(load_request, capacity=capacity)
        log.info("the model is loaded again: a clip is larger than earlier ones, or its server has ended")
        with suppress(EOFError, OSError):
            connection.poll(END_TIMEOUT_S)  # The old process must end before a new one takes its GPUs.


def _get_socket_folder() -> Path:
    """Return the folder for sockets, which only this user can access; create it if missing."""
    folder = TEMP_FOLDER / f"reprise-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise UserError(f"{folder}: not a folder that only you can access. Remove it, then run the same command again.")
    return folder


def _connect_idle(pattern: str, stack: ExitStack) -> tuple[Path, Connection] | None:
    """Connect to an idle process and hold its lock until `stack` closes; return None if no process is idle."""
    for socket_path in sorted(_get_socket_folder().glob(f"{pattern}{SOCKET_SUFFIX}")):
        lock = FileLock(socket_path.with_suffix(LOCK_SUFFIX))
        try:
            lock.acquire(blocking=False)
        except Timeout:  # Another job uses the process.
            continue
        with suppress(OSError):
            connection = Client(str(socket_path))
            stack.callback(lock.release)
            return socket_path, connection
        remove_socket(socket_path)  # The process was killed.
        lock.release()
    return None


def _start_process(process_name: str, owner: Owner, stack: ExitStack) -> tuple[Path, Connection]:
    """Start a process and hold its lock until `stack` closes; return its socket and a connection to it."""
    _remove_stale_sockets()
    socket_path = _get_socket_folder() / f"{process_name}-{secrets.token_hex(4)}{SOCKET_SUFFIX}"
    lock = FileLock(socket_path.with_suffix(LOCK_SUFFIX))
    lock.acquire()
    stack.callback(lock.release)
    command = [sys.executable, "-m", PROCESS_MODULE, str(socket_path), str(owner.pid), repr(owner.start_time)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            return socket_path, Client(str(socket_path))
        time.sleep(POLL_INTERVAL_S)
    process.kill()
    process.wait()
    remove_socket(socket_path)
    raise MachineError(
        "the process that keeps the model loaded does not start. Check the job's log, then run the same command again."
    )


def _remove_stale_sockets() -> None:
    """Remove files of killed processes whose Snakemake has ended."""
    for path in _get_socket_folder().iterdir():
        _, pid, *_ = path.name.split("-")  # `<gpu or cpu>-<pid of Snakemake>-...`, see `resident_model`
        if not pid_exists(int(pid)):
            path.unlink(missing_ok=True)


def remove_socket(socket_path: Path) -> None:
    """Remove the socket and the lock file of a process that has ended."""
    for path in (socket_path, socket_path.with_suffix(LOCK_SUFFIX)):
        path.unlink(missing_ok=True)


def end_idle_process(owner: Owner | None = None) -> bool:
    """End the GPU process that has been idle for the longest time; return False if none can be ended.

    A process of another Snakemake than `owner` is not ended in its first seconds of idleness, because its next job may
    be about to start.
    """
    own_prefix = f"gpu-{owner.pid}-" if owner else None
    grace_start = time.time() - FOREIGN_IDLE_GRACE_S
    for socket_path in sorted(_get_socket_folder().glob(f"gpu-*{SOCKET_SUFFIX}"), key=_get_last_use):
        is_own = own_prefix is not None and socket_path.name.startswith(own_prefix)
        if not is_own and _get_last_use(socket_path) > grace_start:
            continue
        with ExitStack() as stack:
            socket_and_connection = _connect_idle(socket_path.stem, stack)
            if socket_and_connection is None:
                continue
            _, connection = socket_and_connection
            log.info(f"ending an idle model process, whose GPU is needed: {socket_path.stem}")
            with suppress(EOFError, OSError):
                connection.send(EXIT)
                connection.poll(END_TIMEOUT_S)
            return True
    return False


def _get_last_use(socket_path: Path) -> float:
    """Return the time at which a process became idle; 0 if its lock file is missing."""
    try:
        return socket_path.with_suffix(LOCK_SUFFIX).stat().st_mtime
    except FileNotFoundError:
        return 0.0
