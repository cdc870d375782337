"""Model libraries that are imported once for all jobs on this machine: torch and transformers take four seconds of a
processor, as long as a small model takes for a hundred answers.

Snakemake's process starts one that waits (`keep_warm`). A job that asks a model on the CPU has it import what the model
needs, once, and fork: the fork is the job's worker, asked as a copy of a model is. It ends with the job, the waiting
one with Snakemake. Where none is found, such as on another node, a job imports for itself.
"""

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from reprise.models.asking.workers import Make, Worker, serve

ADDRESS = "REPRISE_WARM"


def keep_warm() -> None:
    """Start the process that waits until this one ends, and tell this one's later children where it is."""
    address = str(Path(mkdtemp(prefix="reprise-")) / "socket")  # in a folder of this user alone
    until, _ = os.pipe()  # the other end is closed when this process ends, however it does
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        given = listening.fileno()
        subprocess.Popen([sys.executable, "-m", __name__, address, str(given)], stdin=until, pass_fds=[given])
    os.close(until)
    os.environ[ADDRESS] = address


def warm_worker(make: Make, module: str) -> Worker | None:
    """A worker that has the module already; none where no process waits on this machine."""
    address = os.environ.get(ADDRESS)
    if address is None or "SLURM_JOB_ID" in os.environ:  # a cluster's job keeps to what it was given
        return None
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(address)
        except OSError:
            return None
        return _WarmWorker(make, module, Connection(link.detach()))


class _WarmWorker(Worker):
    """A worker that is forked from the process that waits."""

    def __init__(self, make: Make, module: str, connection: "Connection[Any, Any]") -> None:
        super().__init__(make, "asking")
        self._connection, self._module = connection, module

    def _start(self) -> None:
        self._connection.send(self._module)
        send_handle(self._connection, sys.stderr.fileno(), None)
        self._connection.send(self._make)
        self._process = self._connection.recv()

    def close(self) -> None:
        """It ends when it gives its next answer, or at once where it has nothing to do."""
        self._connection.close()

    def _end(self) -> str:
        self.close()
        return "has ended"


def wait_for_jobs(address: str, listening: socket.socket) -> None:
    """Import and fork for each job that asks, until Snakemake has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C Snakemake hears, and ends
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork
    while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
        connection = Connection(listening.accept()[0].detach())
        with suppress(EOFError, OSError), connection:  # of a job that has ended meanwhile
            module = connection.recv()
            with suppress(ImportError):  # which the job meets again, and names
                import_module(module)
            if os.fork() == 0:
                listening.close()
                _work(connection)
    shutil.rmtree(Path(address).parent)


def _work(connection: "Connection[Any, Any]") -> None:
    """What a fork does, all of it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        handle = recv_handle(connection)
        os.dup2(handle, sys.stderr.fileno())
        os.close(handle)
        make = connection.recv()
        connection.send(os.getpid())
        serve(connection, make, {})
    finally:
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    wait_for_jobs(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
