"""A model that stays loaded between the jobs of one Snakemake, in a process of its own (`model_process.py`).

The first job that needs a model starts the process; later ones connect to it. A job has it for itself: a lock on a file
beside the process's socket says whether it is idle. The process ends with its Snakemake, after a minute without a job,
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
from reprise.models.asking.workers import Copy, WorkerDiedError, given_by, results_of
from reprise.models.base import Clip, LargestClip
from reprise.models.keys import ModelRunKey

if TYPE_CHECKING:  # a client of HTTP, which only a job with a server needs
    from reprise.models.remote.serving.host import Host

MODULE = "reprise.models.asking.model_process"
TEMPORARY = Path("/tmp")  # noqa: S108  a socket's path is at most 108 characters, and local; the folder is private
SOCKET, LOCK = ".sock", ".lock"
START_S, END_S, POLL_S = 300.0, 20.0, 0.05
OTHERS_S = 15.0
LEAVE = None
"""what is sent to an idle process that is to end"""
START, CHECK = "start", "check"
"""what is asked of a server"""
OF_MODEL = {
    "adapter", "model", "settings", "dtype", "attention", "trust_remote_code", "serving", "versions", "code_versions",
}  # fmt: skip


@dataclass(frozen=True)
class Opening:
    """What the process needs to load a model."""

    key: ModelRunKey
    store: Store
    threads: int
    weights: Path
    clips: Sequence[Clip] = ()
    """of the run, for which GPUs must have room"""
    room: LargestClip | None = None
    """for which they had room where the model was loaded before"""
    server_log: Path | None = None

    @property
    def identity(self) -> str:
        """Return what tells models apart that are loaded in different ways."""
        key = self.key
        answers = key.answers.model_dump(mode="json", include=OF_MODEL)
        hosting = key.hosting.model_dump(mode="json") if key.hosting else None
        others = [key.checkpoint, key.gpus, key.gpus_per_copy, key.serving, hosting, self.threads]
        return value_digest([answers, *others])[:16]


def is_kept(key: ModelRunKey) -> bool:
    """Return whether a run's model takes long to load."""
    return ADAPTERS[key.answers.adapter].needs_weights or key.hosting is not None


def host_of(opening: Opening) -> "Host":
    """Return the server of a model, not started."""
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


# --- asking it --------------------------------------------------------------------------------------------------------


class KeptCopy(Copy):
    """A connection to a copy of a model that stays loaded."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def results(self, *asked: Any) -> Iterator[Any]:
        try:
            yield from results_of(self.connection, asked)
        except (EOFError, OSError) as error:
            raise WorkerDiedError("has ended, or was killed") from error

    def close(self) -> None:
        with suppress(OSError), fromfd(self.connection.fileno(), AF_UNIX, SOCK_STREAM) as same:
            same.shutdown(SHUT_RDWR)  # wakes the thread that waits for an answer, which closing does not


def begin_all(copies: Sequence[KeptCopy], begin: object) -> None:
    """Begin a run with all copies at once; raise the UserError of a copy that cannot."""
    try:
        for copy in copies:
            copy.connection.send((begin,))
        for copy in copies:
            list(given_by(copy.connection))
    except (EOFError, OSError) as error:
        raise MachineError(
            "the process that loads the model has ended, or was killed, such as for want of memory. What was answered "
            "is kept. Give the job more memory (`memory_mb` in the model's file), then run the same command again."
        ) from error


class KeptHost:
    """A server that stays for the next job."""

    def __init__(self, owner: Owner, opening: Opening) -> None:
        self._owner, self._opening = owner, opening
        self._ends = ExitStack()
        self._copy: KeptCopy | None = None

    def start(self) -> dict[str, Any]:
        """Start it, or find it, and return the adapter's settings by which it is reached."""
        (self._copy,) = self._ends.enter_context(kept_model(self._owner, self._opening))
        (found,) = self._copy.results(START)
        os.environ[found["key"]] = found.pop("secret")
        return dict(found)

    def check(self, *, is_lost: bool) -> None:
        """Raise a MachineError where it has ended."""
        try:
            if self._copy is not None:
                list(self._copy.results(CHECK, is_lost))
        except WorkerDiedError as died:
            raise MachineError(
                f"the process that keeps the server {died}. Answers so far are kept: run the same command again."
            ) from died

    def close(self) -> None:
        self._ends.close()


@contextmanager
def kept_model(owner: Owner, opening: Opening) -> Iterator[list[KeptCopy]]:
    """Connect to all copies of a model; the first job that needs it starts the process and has it loaded."""
    kind = "gpu" if opening.key.gpus else "cpu"
    name = f"{kind}-{owner.pid}-{owner.started:.0f}-{opening.identity}"
    with ExitStack() as ends:
        socket, connection, count = _open(name, owner, opening, ends)
        connections = [connection]
        for _ in range(count - 1):
            connections.append(Client(str(socket)))
            ends.callback(connections[-1].close)
        yield list(map(KeptCopy, connections))


def _open(name: str, owner: Owner, opening: Opening, ends: ExitStack) -> tuple[Path, Connection, int]:
    """Return a connection to a process that has the model loaded, and the number of its copies."""
    while True:
        socket, connection = _idle_process(f"{name}-*", ends) or _new_process(name, owner, ends)
        ends.callback(connection.close)
        try:
            connection.send(opening)
            send_handle(connection, 2, None)  # what the process has to say stands in this job's log
            ((count, room),) = given_by(connection)
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
            connection.poll(END_S)  # until that process has ended


def _folder() -> Path:
    """Return the folder of this user's sockets, which nobody else can enter."""
    folder = TEMPORARY / f"reprise-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UserError(f"{folder}: not a folder of yours alone. Remove it, then run the same command again.")
    return folder


def _idle_process(pattern: str, ends: ExitStack) -> tuple[Path, Connection] | None:
    """Take an idle process, and keep its lock until the end; None where there is none."""
    for socket in sorted(_folder().glob(f"{pattern}{SOCKET}")):
        lock = FileLock(socket.with_suffix(LOCK))
        try:
            lock.acquire(blocking=False)
        except Timeout:  # another job has it
            continue
        with suppress(OSError):
            connection = Client(str(socket))
            ends.callback(lock.release)
            return socket, connection
        forget(socket)  # its process was killed
        lock.release()
    return None


def _new_process(name: str, owner: Owner, ends: ExitStack) -> tuple[Path, Connection]:
    _sweep()
    socket = _folder() / f"{name}-{secrets.token_hex(4)}{SOCKET}"
    lock = FileLock(socket.with_suffix(LOCK))
    lock.acquire()
    ends.callback(lock.release)
    command = [sys.executable, "-m", MODULE, str(socket), str(owner.pid), repr(owner.started)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError):
            return socket, Client(str(socket))
        time.sleep(POLL_S)
    process.kill()
    process.wait()
    forget(socket)
    raise MachineError(
        "the process that keeps the model loaded does not start. The job's log may say why; run the same command again."
    )


def _sweep() -> None:
    """Remove what killed processes left, whose Snakemake has ended."""
    for path in _folder().iterdir():
        _, pid, *_ = path.name.split("-")
        if not pid_exists(int(pid)):
            path.unlink(missing_ok=True)


def forget(socket: Path) -> None:
    """Remove the files of a process that has ended."""
    for path in (socket, socket.with_suffix(LOCK)):
        path.unlink(missing_ok=True)


def end_idle_process(owner: Owner | None = None) -> bool:
    """End the process on a GPU that has been idle longest; False where all are in use.

    That of another Snakemake than the `owner` may be needed again at once.
    """
    own = f"gpu-{owner.pid}-" if owner else "none of its own"
    patience = time.time() - OTHERS_S
    for socket in sorted(_folder().glob(f"gpu-*{SOCKET}"), key=_last_used):
        if not socket.name.startswith(own) and _last_used(socket) > patience:
            continue
        with ExitStack() as ends:
            found = _idle_process(socket.stem, ends)
            if found is None:
                continue
            _, connection = found
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
