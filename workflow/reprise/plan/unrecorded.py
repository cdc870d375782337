"""Results that Snakemake would take for up to date although they are not, found before jobs are planned.

Snakemake goes by its own records and by dates. Where `.snakemake` was deleted, or results were copied or touched, the
result's own record of its settings and inputs tells. Nothing is written here: an error lists the files.
"""

import json
import os
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import file_digest, recorded
from reprise.core.paths import FIGURES, RESULTS, TABLES, TIME
from reprise.core.plain import first_of
from reprise.core.provenance import SHORT, Provenance
from reprise.core.settings import Settings
from reprise.core.settings_text import settings_text
from reprise.plan.changes import CurrentSettings
from reprise.plan.runs import Plan

METADATA = Path(".snakemake/metadata")
CLOCK_SKEW_S = 2.0  # the clock of a file server may differ from this machine's
MOST_LISTED = 8
LONGEST_NAME = 254


def check_results(plan: Plan, settings: Mapping[str, Settings]) -> None:
    """Raise an error that lists the results which Snakemake would keep although it should not."""
    current = CurrentSettings(settings)
    latest = time.time() + CLOCK_SKEW_S
    future, stale = [], []
    for path in _results(plan):
        if path.stat().st_mtime > latest:
            future.append(path)
        elif (made := recorded(path)) is not None and (why := _difference(path, made, current)):
            stale.append((path, why))
    if future:
        raise UserError(
            f"dated in the future, so that Snakemake would never make it again: {_listed(map(str, future))}. "
            "Correct the clock, then `touch` these files if they are right as they are, or delete them."
        )
    if stale:
        files = [str(path) for path, _ in stale]
        raise UserError(
            "made with other settings or inputs than there are now, and Snakemake has no record of that (its folder "
            f".snakemake was deleted, or results were copied or touched): "
            f"{_listed(f'{path} ({why})' for path, why in stale)}. Delete them, then run the same command again; no "
            f"answer is lost: rm {' '.join(files) if len(files) <= MOST_LISTED else f'-r {RESULTS}'}"
        )


def _results(plan: Plan) -> Iterator[Path]:
    """Yield the results of the suite, and what people read."""
    for folder in (plan.results.folder, TABLES, FIGURES, TIME):
        for where, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name != "logs"]
            yield from (path for name in names if name[0] != "." and (path := Path(where, name)).is_file())
    yield from (path for path in RESULTS.glob("*") if path.is_file())


def _difference(path: Path, made: Provenance, current: CurrentSettings) -> str:
    """Return what differs from how a result was made where Snakemake does not know; empty if nothing does."""
    for name, content in made.settings.items():
        now = current[name]
        if now and now != content and _passes(path, settings_text(name, now)):
            return f"settings of {name}"
    modified = path.stat().st_mtime
    for name, digest in made.inputs.items():
        source = Path(name)
        if source.is_file() and source.stat().st_mtime <= modified and _digest(source) != digest:
            return f"another {name}"
    return ""


def _passes(path: Path, text: str) -> bool:
    """Return whether Snakemake has no record of a result, or one of these settings, so that it keeps the result."""
    code = urlsafe_b64encode(str(path).encode()).decode()
    parts = [code[start : start + LONGEST_NAME] for start in range(0, len(code), LONGEST_NAME)]
    record = METADATA.joinpath(*(f"@{part}" for part in parts[:-1]), parts[-1])  # as Snakemake names its records
    try:
        return repr(text) in (json.loads(record.read_bytes())["params"] or [])
    except (OSError, ValueError, KeyError):
        return True


@cache
def _digest(path: Path) -> str:
    return file_digest(path)[:SHORT]


def _listed(names: Iterator[str]) -> str:
    return ", ".join(first_of(list(names), MOST_LISTED, "and {} more"))
