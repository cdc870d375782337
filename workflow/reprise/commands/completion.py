"""Complete command arguments in the shell from the names of files, which is fast.

Only the name of the configured suite is read from a file.
"""

import re
from collections.abc import Callable
from pathlib import Path

from typer import Context

from reprise.core.paths import RESULTS, TABLES, locate, working_folders

CONFIG = Path("config")


def _create_completer(*folders: str) -> Callable[[str], list[str]]:
    """Return a function that completes the names of the files in these folders of `config/`."""

    def complete(incomplete: str) -> list[str]:
        paths = (
            path for root in working_folders() for folder in folders for path in (root / CONFIG / folder).glob("*.yaml")
        )
        return sorted({path.stem for path in paths if path.stem.startswith(incomplete)})

    return complete


complete_models = _create_completer("models")
complete_benchmarks = _create_completer("benchmarks")
complete_pinnable = _create_completer("models", "suites")
_complete_suite_names = _create_completer("suites")


def complete_suites(incomplete: str) -> list[str]:
    """Return the values of `--config` that select a suite, `suite=<name>`, and begin with a text."""
    return [text for name in _complete_suite_names("") if (text := f"suite={name}").startswith(incomplete)]


def complete_runs(ctx: Context, incomplete: str) -> list[str]:
    """Return the names of the suite's runs with responses that begin with a text."""
    folder = RESULTS / _get_suite(ctx) / "responses"
    files = folder.glob("*/*/*/*.parquet")
    names = (path.relative_to(folder).as_posix().removesuffix(".parquet") for path in files)
    return sorted(name for name in names if name.startswith(incomplete) and not name.endswith(".timings"))


def complete_tables(ctx: Context, incomplete: str) -> list[str]:
    """Return the names of the existing tables that begin with a text."""
    names = (path.relative_to(TABLES).with_suffix("").as_posix() for path in TABLES.glob("*/*.csv"))
    return sorted(name for name in names if name.startswith(incomplete))


def _get_suite(ctx: Context) -> str:
    """Return the suite of option `--config`, or the configured one; an empty text if neither is found."""
    if suite := ctx.params.get("suite"):
        return str(suite)
    path = locate(CONFIG / "config.yaml")
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    match = re.search(r"(?m)^suite:\s*([\w.-]+)", text)
    return match[1] if match else ""
