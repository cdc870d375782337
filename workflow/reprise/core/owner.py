"""The Snakemake process that a job runs for, and what happens when it is gone.

Snakemake that is killed leaves its jobs running, and the next command would meet them.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

POLL_S = 1.0
PROGRAM = "snakemake"
WORDS = 4  # of a command, in which the program's name stands: `python -m snakemake`


class Owner(NamedTuple):
    """A process; its start tells it from a later one with the same number."""

    pid: int
    started: float

    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        try:
            process = psutil.Process(self.pid)
            return bool(process.create_time() == self.started and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False


def find_owner() -> Owner | None:
    """Return the Snakemake process that this process runs for; None where it was started in another way."""
    owner = None
    for process in psutil.Process().parents():
        try:
            if any(Path(word).name == PROGRAM for word in process.cmdline()[:WORDS]):
                owner = Owner(process.pid, process.create_time())
        except psutil.Error:  # ended meanwhile, or another user's
            continue
    return owner


def watch(owner: Owner, end: Callable[[], None]) -> None:
    """Call a function in a thread when a process has ended."""

    def wait() -> None:
        while owner.is_running():
            time.sleep(POLL_S)
        end()

    threading.Thread(target=wait, name="owner", daemon=True).start()


def end_with(owner: Owner | None) -> None:
    """End this process, and what it started in its session, when its Snakemake has ended."""
    if owner is not None:
        watch(owner, _end)


def _end() -> None:
    session = os.getsid(0)
    for child in psutil.Process().children(recursive=True):
        try:
            if os.getsid(child.pid) == session:
                child.kill()
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    os._exit(1)
