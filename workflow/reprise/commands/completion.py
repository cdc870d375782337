"""What a shell offers when a command is completed: names of files alone, so that it is there at once."""

import re
from collections.abc import Callable
from pathlib import Path

from typer import Context

from reprise.core.paths import RESULTS, located, places

CONFIG = Path("config")


def _files_of(*folders: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        paths = (path for place in places() for folder in folders for path in (place / CONFIG / folder).glob("*.yaml"))
        return sorted({path.stem for path in paths if path.stem.startswith(incomplete)})

    return complete


suites, models, benchmarks = _files_of("suites"), _files_of("models"), _files_of("benchmarks")
pinned = _files_of("models", "suites")


def runs(ctx: Context, incomplete: str) -> list[str]:
    found = _keys(ctx, "*/*/*/*.json", "", incomplete)
    return [name for name in found if not name.startswith(("judges/", "retries/"))]  # keys of something else


def tables(ctx: Context, incomplete: str) -> list[str]:
    return _keys(ctx, "*/*.json", "tables", incomplete)


def _keys(ctx: Context, pattern: str, below: str, incomplete: str) -> list[str]:
    suite = ctx.params.get("suite")
    if not suite:
        file = located(CONFIG / "config.yaml")
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        found = re.search(r"(?m)^suite:\s*([\w.-]+)", text)
        suite = found[1] if found else ""
    folder = RESULTS / suite / "keys" / below
    names = (path.relative_to(folder).as_posix().removesuffix(".json") for path in folder.glob(pattern))
    return sorted(name for name in names if name.startswith(incomplete))
