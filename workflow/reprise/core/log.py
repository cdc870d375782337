"""The library's logger, which writes plain lines to standard error, and functions that parse the logs of jobs."""

import logging
import re
import sys
from pathlib import Path
from typing import NamedTuple, TextIO

from reprise.core.plain import sanitize
from reprise.core.terminal import get_width, wrap_text

log = logging.getLogger("reprise")
log.setLevel(logging.INFO)


class _SafeFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return wrap_text(sanitize(super().format(record)), get_width(sys.stderr))


class _LibraryHandler(logging.StreamHandler[TextIO]):
    """Handler for messages of other libraries.

    Some libraries install a handler that does not redact secrets if the root logger has none.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Skip messages of this library, for which `log` has a handler of its own."""
        return record.name.partition(".")[0] != log.name


def log_to_stderr() -> None:
    """Write messages of this library and of others to standard error, without secrets."""
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


# Beginnings of lines in the log of a failed job.
ERROR, TRACEBACK = "Error: ", "Traceback (most recent call last):"
TAIL_BYTES = 8192  # Number of bytes at the end of a log that are read.


class Progress(NamedTuple):
    """Progress of an inference job, which logs it as text and from whose log it is read again."""

    done: int
    total: int
    rate: float  # requests per second
    seconds_left: float

    def __str__(self) -> str:
        return f"{self.done} of {self.total} requests, {self.rate:.1f} a second, about {self.seconds_left:.0f} s left"


# A program that shows the status of a run itself sets this environment variable. The terminal output then writes each
# status as a line that begins with a carriage return.
STATUS_VARIABLE = "REPRISE_STATUS_LINES"
# A program that runs the jobs after a dry run sets this environment variable. The dry run then lists only the jobs.
PREVIEW_VARIABLE = "REPRISE_PREVIEW"

# Pattern of the text of a `Progress`.
PROGRESS = re.compile(r"^(\d+) of (\d+) requests, ([\d.]+) a second, about (\d+) s left$", re.MULTILINE)


def read_last_progress(log_file: Path) -> Progress | None:
    """Return the latest progress in the log of a job; None if the log has none yet."""
    matches = PROGRESS.findall(read_tail(log_file))
    if not matches:
        return None
    done, total, rate, seconds_left = matches[-1]
    return Progress(int(done), int(total), float(rate), float(seconds_left))


def read_tail(log_file: Path) -> str:
    """Return the end of a log; an empty text if the log cannot be read."""
    try:
        with log_file.open("rb") as stream:
            stream.seek(max(0, log_file.stat().st_size - TAIL_BYTES))
            return stream.read().decode(errors="replace")
    except OSError:
        return ""


def find_last_error(log_file: Path) -> str:
    """Return the error at the end of a log, of a traceback only the last line; empty if there is none.

    The log of a killed job, for example, has no error.
    """
    lines = read_tail(log_file).splitlines()
    for line_index in range(len(lines) - 1, -1, -1):
        if lines[line_index].startswith(ERROR):
            return "\n".join(lines[line_index:])
        if lines[line_index].startswith(TRACEBACK):
            return lines[-1]
    return ""
