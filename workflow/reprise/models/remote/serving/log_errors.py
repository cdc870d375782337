"""Find the root cause of a server's failed start in its log, in which processes report each other's failures."""

import re
from collections import defaultdict
from itertools import takewhile
from typing import NamedTuple

from reprise.core.plain import sanitize_line, truncate

# The prefix of vLLM's log lines: `(Worker_TP1 pid=50) ERROR 11-28 17:26:48 [executor.py:953] ...`.
LOG_PREFIX = re.compile(
    r"(?P<process>\([^()]*\bpid=\d+[^()]*\) ?)?"
    r"(?:(?P<level>[A-Z]+) +\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \[[^\]]*\] ?)?"
)
HARMLESS_LEVELS = ("DEBUG", "INFO", "WARNING")
TRACEBACK, FATAL = "Traceback (most recent call last):", "Fatal Python error: "
EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*|:?$)")
# Exceptions that only report the failure of another process or an earlier exception.
INDIRECT_ERRORS = re.compile(
    r"root cause|background process|initialization failed|"
    r"^(?:[\w.]*\.)?(?:BrokenPipeError|ConnectionResetError|EOFError|CancelledError|KeyboardInterrupt|SystemExit|"
    r"EngineDeadError|ZMQError|ChildFailedError|DistBackendError|DistNetworkError)\b",
    re.IGNORECASE,
)
# Limits for messages of several lines, such as those of pydantic.
MAX_MESSAGE_LINES = 4
MAX_MESSAGE_CHARACTERS = 600


class LoggedException(NamedTuple):
    """An exception at the end of a traceback, with its line number in the log."""

    line_number: int
    text: str

    @property
    def is_indirect(self) -> bool:
        """Return whether the exception only reports another failure."""
        return INDIRECT_ERRORS.search(self.text) is not None


def find_root_cause(text: str) -> str | None:
    """Return the exception that made a server fail, or None if its log has no traceback.

    The last exception is the cause, unless it only reports another failure. Then the cause is the first exception that
    does not report another failure, because all other processes fail as a consequence.
    """
    exceptions = sorted(_find_exceptions(text))
    if not exceptions:
        return None
    if not exceptions[-1].is_indirect:
        return exceptions[-1].text
    return next((exception.text for exception in exceptions if not exception.is_indirect), exceptions[-1].text)


def _find_exceptions(text: str) -> list[LoggedException]:
    """Return the exceptions of all processes, whose lines may be interleaved."""
    lines_by_process: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for line_number, line in enumerate(text.splitlines()):
        prefix = LOG_PREFIX.match(line)
        assert prefix is not None  # every part of the pattern is optional
        if prefix["level"] not in HARMLESS_LEVELS:
            lines_by_process[prefix["process"] or ""].append((line_number, line[prefix.end() :].rstrip()))
    return [exception for lines in lines_by_process.values() for exception in _find_process_exceptions(lines)]


def _find_process_exceptions(lines: list[tuple[int, str]]) -> list[LoggedException]:
    exceptions = []
    is_in_traceback = False
    for index, (line_number, line) in enumerate(lines):
        if line.startswith(FATAL):
            exceptions.append(LoggedException(line_number, sanitize_line(line)))
        elif line.startswith(TRACEBACK):
            is_in_traceback = True
        elif is_in_traceback and line and not line[0].isspace():
            is_in_traceback = False
            if EXCEPTION.match(line):
                next_lines = (text for _, text in lines[index + 1 : index + MAX_MESSAGE_LINES])
                message = [line, *takewhile(lambda text: text[:1].isspace(), next_lines)]
                exceptions.append(
                    LoggedException(line_number, truncate(sanitize_line(" ".join(message)), MAX_MESSAGE_CHARACTERS))
                )
    return exceptions
