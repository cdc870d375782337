"""The library's logger, which writes plain lines to standard error, and functions that parse the logs of jobs."""

import logging
import re
import sys
from pathlib import Path
from typing import NamedTuple, TextIO

from reprise.core.plain import sanitize

log = logging.getLogger("reprise")
log.setLevel(logging.INFO)


class _SafeFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return sanitize(super().format(record))


class _LibraryHandler(logging.StreamHandler[TextIO]):
    """Handler for messages of other libraries.

    Some libraries install a handler that does not redact secrets if the root logger has none.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return record.name.partition(".")[0] != log.name


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_SafeFormatter("%(message)s"))
    log.handlers = [handler]
    root = logging.getLogger()
    library_handler = _LibraryHandler(sys.stderr)
    library_handler.setFormatter(_SafeFormatter("%(name)s: %(message)s"))
    root.handlers = [
        *(existing for existing in root.handlers if not isinstance(existing, _LibraryHandler)),
        library_handler,
    ]


ERROR, TRACEBACK = "Error: ", "Traceback (most recent call last):"
TAIL_BYTES = 8192


class Progress(NamedTuple):
    done: int
    total: int
    rate: float
    seconds_left: float

    def __str__(self) -> str:
        return f"{self.done} of {self.total} requests, {self.rate:.1f} a second, about {self.seconds_left:.0f} s left"


PROGRESS = re.compile(r"^(\d+) of (\d+) requests, ([\d.]+) a second, about (\d+) s left$", re.MULTILINE)


def read_last_progress(log: Path) -> Progress | None:
    """Return the latest progress in the log of a job; None if the log has none yet."""
    matches = PROGRESS.findall(read_tail(log))
    return (
        Progress(int(matches[-1][0]), int(matches[-1][1]), float(matches[-1][2]), float(matches[-1][3]))
        if matches
        else None
    )


def read_tail(log: Path) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""


def find_last_error(log: Path) -> str:
    """Return the error at the end of a log; empty if there is none, as for a killed job."""
    lines = read_tail(log).splitlines()
    for line_index in range(len(lines) - 1, -1, -1):
        if lines[line_index].startswith(ERROR):
            return "\n".join(lines[line_index:])
        if lines[line_index].startswith(TRACEBACK):
            return lines[-1]
    return ""
