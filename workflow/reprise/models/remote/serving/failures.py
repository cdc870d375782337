"""Find the root cause of a failed start in the log of a server, whose processes each report the failure of the last."""

import re
from collections import defaultdict
from itertools import takewhile
from typing import NamedTuple

from reprise.core.plain import cut, plain

# How vLLM marks the lines of its processes: `(Worker_TP1 pid=50) ERROR 11-28 17:26:48 [executor.py:953] ...`.
PREFIX = re.compile(
    r"(?P<process>\([^()]*\bpid=\d+[^()]*\) ?)?"
    r"(?:(?P<level>[A-Z]+) +\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \[[^\]]*\] ?)?"
)
HARMLESS = ("DEBUG", "INFO", "WARNING")
TRACEBACK, FATAL = "Traceback (most recent call last):", "Fatal Python error: "
EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: .*|:?$)")
# Exceptions that only say that another process, or an earlier one, failed.
POINTERS = re.compile(
    r"root cause|background process|initialization failed|"
    r"^(?:[\w.]*\.)?(?:BrokenPipeError|ConnectionResetError|EOFError|CancelledError|KeyboardInterrupt|SystemExit|"
    r"EngineDeadError|ZMQError|ChildFailedError|DistBackendError|DistNetworkError)\b",
    re.IGNORECASE,
)
# A message of several lines, such as one of pydantic.
MOST_LINES = 4
LONGEST = 600


class Raised(NamedTuple):
    """An exception at the end of a traceback."""

    line: int
    text: str

    @property
    def is_pointer(self) -> bool:
        return POINTERS.search(self.text) is not None


def root_cause(text: str) -> str | None:
    """Return the exception that made a server fail; None where its log has no traceback.

    The last exception counts. Where it only points at an earlier one, the first that does not is the cause: what
    other processes raise later follows from it.
    """
    raised = sorted(_raised(text))
    if not raised:
        return None
    if not raised[-1].is_pointer:
        return raised[-1].text
    return next((one.text for one in raised if not one.is_pointer), raised[-1].text)


def _raised(text: str) -> list[Raised]:
    """Collect the exceptions of each process, whose lines may stand between those of others."""
    processes: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, line in enumerate(text.splitlines()):
        prefix = PREFIX.match(line)
        assert prefix is not None  # all of it is optional
        if prefix["level"] not in HARMLESS:
            processes[prefix["process"] or ""].append((number, line[prefix.end() :].rstrip()))
    return [one for lines in processes.values() for one in _of_process(lines)]


def _of_process(lines: list[tuple[int, str]]) -> list[Raised]:
    raised = []
    is_inside = False
    for place, (number, line) in enumerate(lines):
        if line.startswith(FATAL):
            raised.append(Raised(number, plain(line)))
        elif line.startswith(TRACEBACK):
            is_inside = True
        elif is_inside and line and not line[0].isspace():
            is_inside = False
            if EXCEPTION.match(line):
                following = (more for _, more in lines[place + 1 : place + MOST_LINES])
                message = [line, *takewhile(lambda more: more[:1].isspace(), following)]
                raised.append(Raised(number, cut(plain(" ".join(message)), LONGEST)))
    return raised
