"""Client of a model that stays loaded between the jobs of one Snakemake, in a process of its own (`model_process.py`).

The first job that needs a model starts the process; later jobs connect to it. One job at a time uses the process: it
holds the lock of a file beside the process's socket. The process ends with its Snakemake, after a minute without a job,
and when another model needs its GPUs.
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

if TYPE_CHECKING:  # It imports an HTTP client, which only a job with a server needs.
    from reprise.models.remote.serving.host import ServerProcess

PROCESS_MODULE = "reprise.models.inference.model_process"
TEMP_FOLDER = Path("/tmp")  # noqa: S108  a socket needs a short path (108 characters) on a local disk; its folder is private
SOCKET_SUFFIX, LOCK_SUFFIX = ".sock", ".lock"
START_TIMEOUT_S, END_TIMEOUT_S, POLL_INTERVAL_S = 300.0, 20.0, 0.05
FOREIGN_IDLE_GRACE_S = 15.0
EXIT = None
"""message that ends an idle process"""
START_SERVER, CHECK_SERVER = "start", "check"
"""messages to the process that keeps a server"""
MODEL_FIELDS = {
    "adapter", "model", "settings", "dtype", "attention", "trust_remote_code", "serving", "versions", "code_versions",
}  # fmt: skip


@dataclass(frozen=True)
class LoadRequest:
    """A message with what the process needs to load a model."""

    key: ModelRunKey
    store: Store
    threads: int
    weights: Path
    clips: Sequence[ClipFrames] = ()
    """clips of the run, for which the GPUs must have room"""
    capacity: LargestClip | None = None
    """largest clip for which the GPUs had room when the model was loaded before"""
    server_log: Path | None = None

    @property
    def identity(self) -> str:
        """Return a digest of everything that affects how the model is loaded."""
        key = self.key
        answers = key.answers.model_dump(mode="json", include=MODEL_FIELDS)
        hosting = key.hosting.model_dump(mode="json") if key.hosting else None
        resources = [key.checkpoint, key.gpus, key.gpus_per_copy, key.serving, hosting, self.threads]
        return value_digest([answers, *resources])[:16]


def is_resident(key: ModelRunKey) -> bool:
    """Return whether a run's model stays loaded between jobs: it has weights or a server of its own."""
    return ADAPTERS[key.answers.adapter].needs_weights or key.hosting is not None


def create_host(load_request: LoadRequest) -> "ServerProcess":
    """Return the server of a model without starting it."""
    key = load_request.key
    assert key.answers.serving is not None and key.hosting is not None and load_request.server_log is not None
    make: type[ServerProcess] = import_object("reprise.models.remote.serving.host:ServerProcess")
    return make(
        key.answers.serving,
        key.hosting,
        weights=load_request.weights,
        name=key.answers.settings["model"],
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
            duplicate.shutdown(SHUT_RDWR)  # Closing the socket would not wake a thread that waits for an answer.


def begin_run(copies: Sequence[ResidentCopy], message: object) -> None:
    """Begin a run on all copies at once; raise the UserError of a copy that cannot load the model."""
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


class ResidentHost:
    """A server that keeps running for the next job."""

    def __init__(self, owner: Owner, load_request: LoadRequest) -> None:
        self._owner, self._load_request = owner, load_request
        self._stack = ExitStack()
        self._copy: ResidentCopy | None = None

    def start(self) -> dict[str, Any]:
        """Start the server, or connect to it, and return the adapter's settings for reaching it."""
        (self._copy,) = self._stack.enter_context(resident_model(self._owner, self._load_request))
        (settings,) = self._copy.run_task(START_SERVER)
        os.environ[settings["key"]] = settings.pop("secret")
        return dict(settings)

    def check(self, *, is_connection_lost: bool) -> None:
        """Raise a MachineError if the server has ended."""
        try:
            if self._copy is not None:
                list(self._copy.run_task(CHECK_SERVER, is_connection_lost))
        except WorkerDiedError as error:
            raise MachineError(
                f"the process that runs the server {error}. Answers so far are kept. Run the same command again."
            ) from error

    def close(self) -> None:
        self._stack.close()


@contextmanager
def resident_model(owner: Owner, load_request: LoadRequest) -> Iterator[list[ResidentCopy]]:
    """Connect to all copies of a model; start its process first if no idle one has it loaded."""
    kind = "gpu" if load_request.key.gpus else "cpu"
    name = f"{kind}-{owner.pid}-{owner.started:.0f}-{load_request.identity}"
    with ExitStack() as stack:
        socket, connection, count = _open(name, owner, load_request, stack)
        connections = [connection]
        for _ in range(count - 1):
            connections.append(Client(str(socket)))
            stack.callback(connections[-1].close)
        yield list(map(ResidentCopy, connections))


def _open(name: str, owner: Owner, load_request: LoadRequest, stack: ExitStack) -> tuple[Path, Connection, int]:
    """Return the socket of a process that has the model loaded, a connection to it, and the number of its copies."""
    while True:
        socket, connection = _connect_idle(f"{name}-*", stack) or _start_process(name, owner, stack)
        stack.callback(connection.close)
        try:
            connection.send(load_request)
            send_handle(connection, 2, None)  # The process writes its messages to the log of this job.
            ((count, capacity),) = receive_results(connection)
        except (EOFError, OSError) as error:
            raise MachineError(
                "the process that loads the model ended or was killed. Nothing was recorded. Run the same command "
                "again."
            ) from error
        if count:
            return socket, connection, count
        load_request = replace(load_request, capacity=capacity)
        log.info("the model is loaded again: a clip is larger than earlier ones, or its server has ended")
        with suppress(EOFError, OSError):
            connection.poll(END_TIMEOUT_S)  # The old process must end before a new one takes its GPUs.


def _folder() -> Path:
    """Return the folder of this user's sockets, which no other user can enter."""
    folder = TEMP_FOLDER / f"reprise-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise UserError(f"{folder}: not a folder that only you can access. Remove it, then run the same command again.")
    return folder


def _connect_idle(pattern: str, stack: ExitStack) -> tuple[Path, Connection] | None:
    """Connect to an idle process, or return None if there is none; the lock is held until `stack` closes."""
    for socket in sorted(_folder().glob(f"{pattern}{SOCKET_SUFFIX}")):
        lock = FileLock(socket.with_suffix(LOCK_SUFFIX))
        try:
            lock.acquire(blocking=False)
        except Timeout:  # Another job uses the process.
            continue
        with suppress(OSError):
            connection = Client(str(socket))
            stack.callback(lock.release)
            return socket, connection
        remove_socket(socket)  # Its process was killed.
        lock.release()
    return None


def _start_process(name: str, owner: Owner, stack: ExitStack) -> tuple[Path, Connection]:
    """Start a process, and return its socket and a connection to it; its lock is held until `stack` closes."""
    _remove_stale_sockets()
    socket = _folder() / f"{name}-{secrets.token_hex(4)}{SOCKET_SUFFIX}"
    lock = FileLock(socket.with_suffix(LOCK_SUFFIX))
    lock.acquire()
    stack.callback(lock.release)
    command = [sys.executable, "-m", PROCESS_MODULE, str(socket), str(owner.pid), repr(owner.started)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            return socket, Client(str(socket))
        time.sleep(POLL_INTERVAL_S)
    process.kill()
    process.wait()
    remove_socket(socket)
    raise MachineError(
        "the process that keeps the model loaded does not start. Check the job's log, then run the same command again."
    )


def _remove_stale_sockets() -> None:
    """Remove the files that killed processes left behind if their Snakemake has ended too."""
    for path in _folder().iterdir():
        _, pid, *_ = path.name.split("-")
        if not pid_exists(int(pid)):
            path.unlink(missing_ok=True)


def remove_socket(socket: Path) -> None:
    """Remove the socket of a process that has ended, and its lock file."""
    for path in (socket, socket.with_suffix(LOCK_SUFFIX)):
        path.unlink(missing_ok=True)


def end_idle_process(owner: Owner | None = None) -> bool:
    """End the GPU process that has been idle for the longest time; return False if all are in use.

    A process of another Snakemake than `owner` is spared for its first seconds of idleness, since its next job may
    need it at once.
    """
    prefix = f"gpu-{owner.pid}-" if owner else "none of its own"
    idle_since_limit = time.time() - FOREIGN_IDLE_GRACE_S
    for socket in sorted(_folder().glob(f"gpu-*{SOCKET_SUFFIX}"), key=_last_used):
        if not socket.name.startswith(prefix) and _last_used(socket) > idle_since_limit:
            continue
        with ExitStack() as stack:
            process = _connect_idle(socket.stem, stack)
            if process is None:
                continue
            _, connection = process
            log.info(f"ending an idle model process, whose GPU is needed: {socket.stem}")
            with suppress(EOFError, OSError):
                connection.send(EXIT)
                connection.poll(END_TIMEOUT_S)
            return True
    return False


def _last_used(socket: Path) -> float:
    try:
        return socket.with_suffix(LOCK_SUFFIX).stat().st_mtime
    except FileNotFoundError:
        return 0.0
