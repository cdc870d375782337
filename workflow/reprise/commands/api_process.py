"""Run a command of Reprise for a Python program: show its progress, and raise its message if it fails.

The command runs in its own process, so it changes neither the folder nor the memory of the program.
"""

import builtins
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from reprise.core.errors import UserError
from reprise.core.log import ERROR, STATUS_VARIABLE

NOTEBOOK_WIDTH = 140  # Width of a status in a notebook, in characters.
MAX_MESSAGE_LINES = 30  # Lines of a failed command's output in the error.
FAILURES = ("FAILED ", ERROR)  # Beginnings of the first line about a failure.
# Seconds that an interrupted command gets to stop its jobs.
STOP_SECONDS = 90


class ProgressDisplay:
    """Display of a command's progress: its lines and, in a terminal or a notebook, a status that is overwritten."""

    def __init__(self) -> None:
        is_notebook = hasattr(builtins, "__IPYTHON__")
        self._stream = sys.stdout if is_notebook else sys.stderr
        self._width = NOTEBOOK_WIDTH if is_notebook else shutil.get_terminal_size().columns - 1
        self.is_live = is_notebook or self._stream.isatty()
        self._status = ""

    def show_status(self, text: str) -> None:
        self._write(text[: self._width])

    def print_line(self, line: str) -> None:
        if self._status:
            self._write("")
        print(line, file=self._stream, flush=True)

    def _write(self, status: str) -> None:
        """Overwrite the current status by another one, or clear it if the new one is empty."""
        # Blanks overwrite the rest of a longer status. Without a new status, the cursor returns to the first column.
        print(f"\r{status.ljust(len(self._status))}", end="" if status else "\r", file=self._stream, flush=True)
        self._status = status


def run_command_line(
    arguments: Sequence[str],
    folder: Path,
    work: Callable[[], None] | None = None,
    should_hide_failure: Callable[[], bool] = lambda: False,
) -> None:
    """Run `reprise` with these arguments in a folder.

    Args:
        arguments: Arguments of `reprise`.
        folder: Working folder of the command.
        work: Function that this thread calls repeatedly until the command ends; each call takes at most a second.
        should_hide_failure: Function that returns whether a failure of the command is not displayed, because the caller
            explains it.

    Raises:
        UserError: The command fails; the error has its message.
    """
    display, messages = ProgressDisplay(), list[str]()
    earlier_locks = _list_locks(folder)
    environment = os.environ | ({STATUS_VARIABLE: "1"} if display.is_live else {})
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "reprise", *arguments],
            cwd=folder, env=environment, process_group=0,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stderr is not None
        relay = threading.Thread(
            target=_relay, args=(process.stderr, display, messages, should_hide_failure), daemon=True
        )
        relay.start()
        try:
            while work is not None and process.poll() is None:
                work()
            process.wait()
        finally:
            if process.poll() is None:
                _stop(process)
                # An interrupted Snakemake may leave the lock that it created. Only one at a time can have one.
                for lock in _list_locks(folder) - earlier_locks:
                    lock.unlink(missing_ok=True)
            relay.join()
        if process.returncode:
            output.seek(0)
            raise UserError(_find_message([*output.read().decode(errors="replace").splitlines(), *messages]))


def _relay(
    stream: IO[bytes], display: ProgressDisplay, messages: list[str], should_hide_failure: Callable[[], bool]
) -> None:
    """Show the lines of a stream until it ends, and collect those that are not a status."""
    is_hidden = False
    for content in stream:
        line = content.decode(errors="replace").rstrip("\n")
        if line.startswith("\r"):
            display.show_status(line.rpartition("\r")[2])
        else:
            messages.append(line)
            is_hidden = is_hidden or (line.startswith(FAILURES) and should_hide_failure())
            if not is_hidden:
                display.print_line(line)
    display.show_status("")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop a command that still runs, with all its processes, as Ctrl-C does in a terminal."""
    with suppress(subprocess.TimeoutExpired, ProcessLookupError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(STOP_SECONDS)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _list_locks(folder: Path) -> set[Path]:
    """Return the files by which Snakemake locks a working folder."""
    return set(folder.glob(".snakemake/locks/*.lock"))


def _find_message(lines: Sequence[str]) -> str:
    """Return the lines from the first error on; for a bug the last lines."""
    first = next((index for index, line in enumerate(lines) if line.startswith(FAILURES)), 0)
    return "\n".join(lines[first:][-MAX_MESSAGE_LINES:]).removeprefix(ERROR)
