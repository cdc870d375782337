"""Find the Snakemake process that started a job, and end the job when that process has ended.

Jobs of a killed Snakemake would otherwise continue and conflict with the next command.
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
MAX_CLOCK_SHIFT_S = 60.0  # A change of the clock may shift the start time of a process by this much.


class Owner(NamedTuple):
    """A Snakemake process, identified by process id and start time, because process ids are reused."""

    pid: int
    start_time: float

    def process(self) -> psutil.Process | None:
        """Return the process if it still exists; psutil detects its end even if the clock is changed later."""
        try:
            process = psutil.Process(self.pid)
            return process if abs(process.create_time() - self.start_time) < MAX_CLOCK_SHIFT_S else None
        except psutil.NoSuchProcess:
            return None


def find_owner() -> Owner | None:
    """Return the outermost Snakemake process that started this process; None if Snakemake did not start it."""
    owner = None
    for process in psutil.Process().parents():
        try:
            if is_snakemake(process.cmdline()):
                owner = Owner(process.pid, process.create_time())
        except psutil.Error:  # The process ended meanwhile, or belongs to another user.
            continue
    return owner


def is_snakemake(command: Sequence[str]) -> bool:
    """Return whether a command runs Snakemake; `tmux new -s snakemake` only contains its name."""
    words = [Path(word).name for word in command]
    if not words or not words[0].startswith("python"):
        return words[:1] == [PROGRAM]
    arguments = [word for word in words[1:] if word == "-m" or not word.startswith("-")]
    return arguments[:1] == [PROGRAM] or arguments[:2] == ["-m", PROGRAM]


def watch_process(owner: Owner, on_end: Callable[[], None]) -> None:
    """Call a function in a thread once a process has ended."""

    def wait() -> None:
        process = owner.process()
        while process is not None and _is_alive(process):
            time.sleep(POLL_S)
        on_end()

    threading.Thread(target=wait, name="owner", daemon=True).start()


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def exit_with_owner(owner: Owner | None) -> None:
    """End this process and its children in the same session once its Snakemake has ended."""
    if owner is not None:
        watch_process(owner, _end_process_tree)


def _end_process_tree() -> None:
    """Kill the children of this process that are in its session, and exit."""
    session = os.getsid(0)
    for child in psutil.Process().children(recursive=True):
        try:
            if os.getsid(child.pid) == session:
                child.kill()
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    os._exit(1)
