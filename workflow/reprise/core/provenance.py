"""Provenance of a file: its stage, the settings of that stage and the digests of its inputs, recorded in the file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

INPUT_DIGEST_DIGITS = 16  # Number of recorded digits of an input's digest.


class Provenance(NamedTuple):
    """The inputs and settings of a job; paths are relative to the working directory or the workflow."""

    stage: str = ""
    settings: Mapping[str, Mapping[str, Any]] = {}
    """name -> settings"""
    inputs: Mapping[str, str] = {}
    """path -> digest of the file's content, truncated to `INPUT_DIGEST_DIGITS`"""
    retry: str = ""
    """an earlier result whose failures this job retries"""
    file: str = ""
    """path of the result itself; another path reveals that the file is a copy"""


_current: ContextVar[Provenance] = ContextVar("provenance")
_current.set(Provenance())


@contextmanager
def record_provenance(provenance: Provenance) -> Iterator[None]:
    """Record a provenance in every file that is written in the block."""
    token = _current.set(provenance)
    try:
        yield
    finally:
        _current.reset(token)


def get_current_provenance() -> Provenance:
    """Return the provenance of the running job."""
    return _current.get(Provenance())  # A new thread has no current provenance.


def set_current_provenance(provenance: Provenance) -> None:
    """Record a provenance from now on, until the block of `record_provenance` ends."""
    _current.set(provenance)


def build_provenance_record(path: Path) -> dict[str, Any]:
    """Return the provenance to record in a file that the running job writes, without empty fields."""
    job = get_current_provenance()
    return {name: value for name, value in job._replace(file=str(path) if job.stage else "")._asdict().items() if value}


def is_copied(path: Path, provenance: Provenance) -> bool:
    """Return whether a result was written under another path and then copied to this one."""
    return bool(provenance.file) and provenance.file != str(path)
