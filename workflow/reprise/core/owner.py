"""The Snakemake process that a job runs for, and what happens when it is gone.

Snakemake that is killed leaves its jobs running, and the next command would meet them.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

POLL_S = 1.0
PROGRAM = "snakemake"
CLOCK_S = 60.0  # by which a clock that is set may move the start of a process


class Owner(NamedTuple):
    """A process; its start tells it from a later one with the same number."""

    pid: int
    started: float

    def process(self) -> psutil.Process | None:
        """Return the process, which knows by itself whether it still runs, whatever becomes of the clock."""
        try:
            process = psutil.Process(self.pid)
            return process if abs(process.create_time() - self.started) < CLOCK_S else None
        except psutil.NoSuchProcess:
            return None


def find_owner() -> Owner | None:
    """Return the Snakemake process that this process runs for; None where it was started in another way."""
    owner = None
    for process in psutil.Process().parents():
        try:
            if is_snakemake(process.cmdline()):
                owner = Owner(process.pid, process.create_time())
        except psutil.Error:  # ended meanwhile, or another user's
            continue
    return owner


def is_snakemake(command: Sequence[str]) -> bool:
    """Return whether a command is Snakemake's own, and not one that only names it, such as `tmux new -s snakemake`."""
    names = [Path(word).name for word in command]
    if not names or not names[0].startswith("python"):
        return names[:1] == [PROGRAM]
    rest = [name for name in names[1:] if name == "-m" or not name.startswith("-")]
    return rest[:1] == [PROGRAM] or rest[:2] == ["-m", PROGRAM]


def watch(owner: Owner, end: Callable[[], None]) -> None:
    """Call a function in a thread when a process has ended."""

    def wait() -> None:
        process = owner.process()
        while process is not None and _is_alive(process):
            time.sleep(POLL_S)
        end()

    threading.Thread(target=wait, name="owner", daemon=True).start()


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


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
