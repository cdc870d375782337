"""What a shell offers when a command is completed: names of files alone, so that it is there at once."""

import re
from collections.abc import Iterator
from pathlib import Path

from typer import Context

CONFIG, RESULTS = Path("config"), Path("results")
SUITE = re.compile(r"^suite:\s*([\w.-]+)", re.MULTILINE)
# Folders of keys that are as deep as a run's and of something else.
NO_RUNS = {"judges", "retries"}


def suites(incomplete: str) -> list[str]:
    """The suites."""
    return sorted(name for name in _stems("suites") if name.startswith(incomplete))


def pinned(incomplete: str) -> list[str]:
    """What can be pinned: models and suites."""
    return sorted(name for name in (*_stems("models"), *_stems("suites")) if name.startswith(incomplete))


def judges(incomplete: str) -> list[str]:
    """The models that have a file."""
    return sorted(name for name in _stems("models") if name.startswith(incomplete))


def benchmarks(incomplete: str) -> list[str]:
    """The benchmarks."""
    return sorted(name for name in _stems("benchmarks") if name.startswith(incomplete))


def runs(ctx: Context, incomplete: str) -> list[str]:
    """The runs that a suite was planned with."""
    found = _keys(ctx, "*/*/*/*.json")
    return sorted(name for name in found if name.startswith(incomplete) and name.partition("/")[0] not in NO_RUNS)


def tables(ctx: Context, incomplete: str) -> list[str]:
    """The tables that a suite was planned with."""
    return sorted(name for name in _keys(ctx, "tables/*/*.json", "tables") if name.startswith(incomplete))


def _stems(folder: str) -> Iterator[str]:
    return (path.stem for path in (CONFIG / folder).glob("*.yaml"))


def _keys(ctx: Context, pattern: str, below: str = "") -> Iterator[str]:
    """The subjects of key files of the suite that is typed, or configured."""
    folder = RESULTS / (ctx.params.get("suite") or _configured()) / "keys"
    return (path.relative_to(folder / below).as_posix().removesuffix(".json") for path in folder.glob(pattern))


def _configured() -> str:
    try:
        found = SUITE.search((CONFIG / "config.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""
