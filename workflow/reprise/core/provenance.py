"""How a file was made: its stage, the settings of that stage and the contents of its inputs, recorded in the file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

SHORT = 16  # digits of a digest of an input


class Provenance(NamedTuple):
    """What a job was given. Paths are those of its rule, relative to the working directory."""

    stage: str = ""
    settings: Mapping[str, Mapping[str, Any]] = {}
    """name -> settings"""
    inputs: Mapping[str, str] = {}
    """path -> digest of its content"""
    retry: str = ""
    """which earlier result this one repeats, because it held failures"""


_current: ContextVar[Provenance] = ContextVar("provenance")
_current.set(Provenance())


@contextmanager
def recording(provenance: Provenance) -> Iterator[None]:
    """Record this provenance in every file that is written in the block."""
    token = _current.set(provenance)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> dict[str, Any]:
    """Return the provenance of the running job as JSON; fields without a value are left out."""
    return {name: value for name, value in _current.get(Provenance())._asdict().items() if value}
