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
from reprise.models.adapters import ADAPTERS, loaded
from reprise.models.asking.workers import Copy, WorkerDiedError, receive_results, request_results
from reprise.models.base import Clip, LargestClip
from reprise.models.keys import ModelRunKey

if TYPE_CHECKING:  # It imports an HTTP client, which only a job with a server needs.
    from reprise.models.remote.serving.host import Host

MODULE = "reprise.models.asking.model_process"
TEMPORARY = Path("/tmp")  # noqa: S108  a socket needs a short path (108 characters) on a local disk; its folder is private
SOCKET, LOCK = ".sock", ".lock"
START_S, END_S, POLL_S = 300.0, 20.0, 0.05
OTHERS_S = 15.0
LEAVE = None
"""message that ends an idle process"""
START, CHECK = "start", "check"
"""messages to the process that keeps a server"""
MODEL_FIELDS = {
    "adapter", "model", "settings", "dtype", "attention", "trust_remote_code", "serving", "versions", "code_versions",
}  # fmt: skip


@dataclass(frozen=True)
class Opening:
    """A message with what the process needs to load a model."""

    key: ModelRunKey
    store: Store
    threads: int
    weights: Path
    clips: Sequence[Clip] = ()
    """clips of the run, for which the GPUs must have room"""
    room: LargestClip | None = None
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


def is_kept(key: ModelRunKey) -> bool:
    """Return whether a run's model stays loaded between jobs: it has weights or a server of its own."""
    return ADAPTERS[key.answers.adapter].needs_weights or key.hosting is not None


def host_of(opening: Opening) -> "Host":
    """Return the server of a model without starting it."""
    key = opening.key
    assert key.answers.serving is not None and key.hosting is not None and opening.server_log is not None
    make: type[Host] = loaded("reprise.models.remote.serving.host:Host")
    return make(
        key.answers.serving,
        key.hosting,
        weights=opening.weights,
        name=key.answers.settings["model"],
        store=opening.store,
        log_file=opening.server_log,
    )


# --- connections ------------------------------------------------------------------------------------------------------


class KeptCopy(Copy):
    """A connection to a copy of a model that stays loaded."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def results(self, *arguments: Any) -> Iterator[Any]:
        try:
            yield from request_results(self.connection, arguments)
        except (EOFError, OSError) as error:
            raise WorkerDiedError("has ended, or was killed") from error

    def close(self) -> None:
        with suppress(OSError), fromfd(self.connection.fileno(), AF_UNIX, SOCK_STREAM) as duplicate:
            duplicate.shutdown(SHUT_RDWR)  # Closing the socket would not wake a thread that waits for an answer.


def begin_all(copies: Sequence[KeptCopy], begin: object) -> None:
    """Begin a run on all copies at once; raise the UserError of a copy that cannot load the model."""
    try:
        for copy in copies:
            copy.connection.send((begin,))
        for copy in copies:
            list(receive_results(copy.connection))
    except (EOFError, OSError) as error:
        raise MachineError(
            "the process that loads the model has ended, or was killed, such as for want of memory. What was answered "
            "is kept. Give the job more memory (`memory_mb` in the model's file), then run the same command again."
        ) from error


class KeptHost:
    """A server that keeps running for the next job."""

    def __init__(self, owner: Owner, opening: Opening) -> None:
        self._owner, self._opening = owner, opening
        self._stack = ExitStack()
        self._copy: KeptCopy | None = None

    def start(self) -> dict[str, Any]:
        """Start the server, or connect to it, and return the adapter's settings for reaching it."""
        (self._copy,) = self._stack.enter_context(kept_model(self._owner, self._opening))
        (settings,) = self._copy.results(START)
        os.environ[settings["key"]] = settings.pop("secret")
        return dict(settings)

    def check(self, *, is_lost: bool) -> None:
        """Raise a MachineError if the server has ended."""
        try:
            if self._copy is not None:
                list(self._copy.results(CHECK, is_lost))
        except WorkerDiedError as error:
            raise MachineError(
                f"the process that keeps the server {error}. Answers so far are kept: run the same command again."
            ) from error

    def close(self) -> None:
        self._stack.close()


@contextmanager
def kept_model(owner: Owner, opening: Opening) -> Iterator[list[KeptCopy]]:
    """Connect to all copies of a model; start its process first if no idle one has it loaded."""
    kind = "gpu" if opening.key.gpus else "cpu"
    name = f"{kind}-{owner.pid}-{owner.started:.0f}-{opening.identity}"
    with ExitStack() as stack:
        socket, connection, count = _open(name, owner, opening, stack)
        connections = [connection]
        for _ in range(count - 1):
            connections.append(Client(str(socket)))
            stack.callback(connections[-1].close)
        yield list(map(KeptCopy, connections))


def _open(name: str, owner: Owner, opening: Opening, stack: ExitStack) -> tuple[Path, Connection, int]:
    """Return the socket of a process that has the model loaded, a connection to it, and the number of its copies."""
    while True:
        socket, connection = _connect_idle(f"{name}-*", stack) or _start_process(name, owner, stack)
        stack.callback(connection.close)
        try:
            connection.send(opening)
            send_handle(connection, 2, None)  # The process writes its messages to the log of this job.
            ((count, room),) = receive_results(connection)
        except (EOFError, OSError) as error:
            raise MachineError(
                "the process that loads the model has ended, or was killed. Nothing was recorded: run the same command "
                "again."
            ) from error
        if count:
            return socket, connection, count
        opening = replace(opening, room=room)
        log.info("the model is loaded again: a clip is larger than those before, or its server has ended")
        with suppress(EOFError, OSError):
            connection.poll(END_S)  # The old process must end before a new one takes its GPUs.


def _folder() -> Path:
    """Return the folder of this user's sockets, which no other user can enter."""
    folder = TEMPORARY / f"reprise-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise UserError(f"{folder}: not a folder of yours alone. Remove it, then run the same command again.")
    return folder


def _connect_idle(pattern: str, stack: ExitStack) -> tuple[Path, Connection] | None:
    """Connect to an idle process, or return None if there is none; the lock is held until `stack` closes."""
    for socket in sorted(_folder().glob(f"{pattern}{SOCKET}")):
        lock = FileLock(socket.with_suffix(LOCK))
        try:
            lock.acquire(blocking=False)
        except Timeout:  # Another job uses the process.
            continue
        with suppress(OSError):
            connection = Client(str(socket))
            stack.callback(lock.release)
            return socket, connection
        remove_socket(socket)  # Nothing listens at it: its process was killed.
        lock.release()
    return None


def _start_process(name: str, owner: Owner, stack: ExitStack) -> tuple[Path, Connection]:
    """Start a process, and return its socket and a connection to it; its lock is held until `stack` closes."""
    _remove_stale_sockets()
    socket = _folder() / f"{name}-{secrets.token_hex(4)}{SOCKET}"
    lock = FileLock(socket.with_suffix(LOCK))
    lock.acquire()
    stack.callback(lock.release)
    command = [sys.executable, "-m", MODULE, str(socket), str(owner.pid), repr(owner.started)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError):
            return socket, Client(str(socket))
        time.sleep(POLL_S)
    process.kill()
    process.wait()
    remove_socket(socket)
    raise MachineError(
        "the process that keeps the model loaded does not start. The job's log may say why; run the same command again."
    )


def _remove_stale_sockets() -> None:
    """Remove the files that killed processes left behind, where their Snakemake has ended too."""
    for path in _folder().iterdir():
        _, pid, *_ = path.name.split("-")
        if not pid_exists(int(pid)):
            path.unlink(missing_ok=True)


def remove_socket(socket: Path) -> None:
    """Remove the socket of a process that has ended, and its lock file."""
    for path in (socket, socket.with_suffix(LOCK)):
        path.unlink(missing_ok=True)


def end_idle_process(owner: Owner | None = None) -> bool:
    """End the GPU process that has been idle for the longest time; return False if all are in use.

    A process of another Snakemake than `owner` is spared for its first seconds of idleness, since its next job may
    need it at once.
    """
    prefix = f"gpu-{owner.pid}-" if owner else "none of its own"
    idle_since_limit = time.time() - OTHERS_S
    for socket in sorted(_folder().glob(f"gpu-*{SOCKET}"), key=_last_used):
        if not socket.name.startswith(prefix) and _last_used(socket) > idle_since_limit:
            continue
        with ExitStack() as stack:
            process = _connect_idle(socket.stem, stack)
            if process is None:
                continue
            _, connection = process
            log.info(f"ending an idle model process, whose GPU is needed: {socket.stem}")
            with suppress(EOFError, OSError):
                connection.send(LEAVE)
                connection.poll(END_S)
            return True
    return False


def _last_used(socket: Path) -> float:
    try:
        return socket.with_suffix(LOCK).stat().st_mtime
    except FileNotFoundError:
        return 0.0
