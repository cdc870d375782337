"""Complete command arguments in the shell; only file names are listed, so that the shell responds at once."""

import re
from collections.abc import Callable
from pathlib import Path

from typer import Context

from reprise.core.paths import RESULTS, TABLES, locate, working_folders

CONFIG = Path("config")


def _files_of(*folders: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        paths = (
            path for root in working_folders() for folder in folders for path in (root / CONFIG / folder).glob("*.yaml")
        )
        return sorted({path.stem for path in paths if path.stem.startswith(incomplete)})

    return complete


complete_suites = _files_of("suites")
complete_models = _files_of("models")
complete_benchmarks = _files_of("benchmarks")
complete_pinnable = _files_of("models", "suites")


def complete_runs(ctx: Context, incomplete: str) -> list[str]:
    folder = RESULTS / _suite(ctx) / "responses"
    files = folder.glob("*/*/*/*.parquet")
    names = (path.relative_to(folder).as_posix().removesuffix(".parquet") for path in files)
    return sorted(name for name in names if name.startswith(incomplete) and not name.endswith(".timings"))


def complete_tables(ctx: Context, incomplete: str) -> list[str]:
    names = (path.relative_to(TABLES).with_suffix("").as_posix() for path in TABLES.glob("*/*.csv"))
    return sorted(name for name in names if name.startswith(incomplete))


def _suite(ctx: Context) -> str:
    if suite := ctx.params.get("suite"):
        return str(suite)
    path = locate(CONFIG / "config.yaml")
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    match = re.search(r"(?m)^suite:\s*([\w.-]+)", text)
    return match[1] if match else ""
