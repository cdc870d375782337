"""What the scoring stages read of their key files, without pydantic: its import would take a third of their time.

Every model has several such jobs. The plan has written and checked the files, by the types of `<room>/keys.py`.
"""

from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from reprise.core.errors import UserError
from reprise.core.files import read_json

T = TypeVar("T")


class RunView(NamedTuple):
    """Of the key of a run, or of a judge of a protocol's answers: `RunKey`."""

    run: str
    key: str
    answers: dict[str, Any]


class VerdictsView(NamedTuple):
    """Of `VerdictsKey`."""

    reading: str
    patterns: list[dict[str, str]]
    embedder: str | None


class JudgeRequestsView(NamedTuple):
    """Of `JudgeRequestsKey`."""

    benchmark: str
    form: str
    rated_to: int
    max_tokens: int
    prompt: dict[str, str]
    unread_only: bool
    reading: str
    patterns: list[dict[str, str]]


class MetricsView(NamedTuple):
    """Of `MetricsKey`."""

    benchmark: str
    form: str
    items: str | None
    level: float
    rated_to: int = 3


def read_view(path: Path, kind: type[T]) -> T:
    """The values of a key file that a view names, or an error that names the one that is missing."""
    content = read_json(path)
    optional = getattr(kind, "_field_defaults", {})
    missing = [name for name in kind.__annotations__ if name not in content and name not in optional]
    if missing:
        raise UserError(f"{path}: {missing[0]}: missing. Delete the file and run snakemake again.")
    return kind(**{name: content[name] for name in kind.__annotations__ if name in content})
