"""The library's one log, plain lines on standard error, and what jobs write in theirs for others to read."""

import logging
import re
import sys
from pathlib import Path
from typing import NamedTuple, TextIO

from reprise.core.plain import safe

log = logging.getLogger("reprise")
log.setLevel(logging.INFO)


class _Safe(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return safe(super().format(record))


class _OfLibraries(logging.StreamHandler[TextIO]):
    """Shows what other libraries log. Without it they would install a handler that hides no secret."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.name.partition(".")[0] != log.name


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Safe("%(message)s"))
    log.handlers = [handler]
    root = logging.getLogger()
    others = _OfLibraries(sys.stderr)
    others.setFormatter(_Safe("%(name)s: %(message)s"))
    root.handlers = [*(one for one in root.handlers if not isinstance(one, _OfLibraries)), others]


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


def last_progress(log: Path) -> Progress | None:
    """The last that a job said of how far it is; None if it said nothing yet."""
    found = PROGRESS.findall(tail_of(log))
    return Progress(int(found[-1][0]), int(found[-1][1]), float(found[-1][2]), float(found[-1][3])) if found else None


def tail_of(log: Path) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""


def last_words(log: Path) -> str:
    """The error that a job's log ends with; empty if it ends with none, as that of a killed job does."""
    lines = tail_of(log).splitlines()
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].startswith(ERROR):
            return "\n".join(lines[number:])
        if lines[number].startswith(TRACEBACK):
            return lines[-1]
    return ""
