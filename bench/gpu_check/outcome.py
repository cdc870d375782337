"""Define the lines that checks print, and the settings that every check gets."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

PASSED, FAILED, NOT_TRIED = "passed", "failed", "not tried"

Measurement = float | int | str
"""A measured value, or a name such as that of a GPU."""


class NotTriedError(Exception):
    """Raised if the machine lacks something that a check needs."""


class FailedError(Exception):
    """Raised if a check measures an unacceptable value."""

    def __init__(self, reason: str, measured: Mapping[str, Measurement] | None = None) -> None:
        super().__init__(reason)
        self.measured = dict(measured or {})


class Line(NamedTuple):
    """The printed result of a check on one risk."""

    name: str
    status: str
    measured: Mapping[str, Measurement] = {}
    reason: str = ""
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """Return the printed line."""
        numbers = ", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                            for name, value in self.measured.items())  # fmt: skip
        details = "; ".join(part for part in (self.reason, numbers) if part)
        return f"{self.status:9}  {self.name:28}  {details}"


def passed(name: str, **measured: Measurement) -> Line:
    """Return a line that passed; underscores in the names of measurements are printed as blanks."""
    return Line(name, PASSED, {key.replace("_", " "): value for key, value in measured.items()})


def line_with_reason(name: str, reason: str, **measured: Measurement) -> Line:
    """Return a line that failed if there is a reason, else one that passed."""
    return passed(name, **measured)._replace(status=FAILED if reason else PASSED, reason=reason)


@dataclass(frozen=True)
class Session:
    """Settings of one invocation of the script."""

    device: str
    """`cuda`, or `cpu` with tiny shapes"""
    folder: Path
    """temporary files: checkpoints, videos, locks"""
    store: Path
    """the project's store, with the environments of servers"""
    logs: Path

    @property
    def is_cpu(self) -> bool:
        return self.device == "cpu"

    @property
    def gpus(self) -> int:
        """Return the number of GPUs of a job with one model."""
        return 0 if self.is_cpu else 1


@dataclass(frozen=True)
class Check:
    """A function that yields lines, with its requirements."""

    name: str
    target: str
    """module:function, called with the session and the arguments in a process of its own"""
    lines: tuple[str, ...]
    """the names of its lines; a line that it does not yield counts as failed"""
    seconds: float
    """the deadline"""
    packages: tuple[str, ...] = ()
    """top-level modules that the check needs; without them its lines are `not tried`"""
    arguments: tuple[str, ...] = ()
    only_gpu: str = ""
    """the reason why it needs a GPU; empty if a CPU suffices"""
