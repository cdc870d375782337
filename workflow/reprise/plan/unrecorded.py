"""Find results that Snakemake would consider up to date although they are not, before jobs are planned.

Snakemake relies on its own records and on modification times. If `.snakemake` was deleted, or results were copied or
touched, the result's own record of its settings and inputs reveals the difference. Nothing is written here: an error
lists the files.
"""

import json
import os
import time
from base64 import urlsafe_b64encode
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from reprise.core.errors import UserError
from reprise.core.files import file_digest, is_edited, read_provenance
from reprise.core.paths import FIGURES, RESULTS, TABLES, TEMPORAL, report_files
from reprise.core.plain import summarize_list
from reprise.core.provenance import INPUT_DIGEST_DIGITS, Provenance, is_moved
from reprise.core.settings import Settings
from reprise.core.settings_text import settings_text
from reprise.plan.changes import CurrentSettings
from reprise.plan.retries import find_retries
from reprise.plan.runs import Plan
from reprise.plan.site import find_rerun_triggers
from reprise.plan.targets import list_outputs

METADATA = Path(".snakemake/metadata")
CLOCK_SKEW_S = 2.0  # The clock of a file server may differ from that of this machine.
MAX_LISTED = 8
MAX_NAME_LENGTH = 254


def check_results(plan: Plan, settings: Mapping[str, Settings], arguments: Sequence[str] = ()) -> None:
    """Raise a UserError that lists the outdated results which this call of Snakemake would keep."""
    differences = _Differences(plan, settings, arguments)
    latest = time.time() + CLOCK_SKEW_S
    future: list[Path] = []
    stale: dict[Path, str] = {}
    for path in _results(plan):
        if path.stat().st_mtime > latest:
            future.append(path)
        elif diff := differences.describe(path):
            stale[path] = diff
    if future:
        raise UserError(
            f"dated in the future, so Snakemake would never make them again: {_shorten(map(str, future))}. "
            "Correct the clock, then delete these files, or set their dates to now: "
            f"find {RESULTS} -newermt now -exec touch {{}} +"
        )
    if stale:
        stale |= _dependents(plan, stale)
        removal = (
            f"rm {' '.join(map(str, stale))}" if len(stale) <= MAX_LISTED else f"rm -r {' '.join(_folders(stale))}"
        )
        raise UserError(
            "outdated results that Snakemake would keep, because its folder .snakemake was deleted, results were "
            "copied, edited or touched, or `--rerun-triggers` leaves out params: "
            f"{_shorten(f'{path} ({diff})' for path, diff in stale.items())}. Delete them, then run the same command "
            f"again; no answer is lost: {removal}"
        )


def _dependents(plan: Plan, stale: Collection[Path]) -> dict[Path, str]:
    """Find the results made from stale ones; Snakemake makes a deleted input again only if these are deleted too."""
    results_by_input: dict[Path, list[Path]] = defaultdict(list)
    for path in _results(plan):
        for name in (read_provenance(path) or Provenance()).inputs:
            results_by_input[Path(name)].append(path)
    dependents: dict[Path, str] = {}
    pending = list(stale)
    while pending:
        source = pending.pop()
        for path in results_by_input.pop(source, ()):
            if path not in stale and path not in dependents:
                dependents[path] = f"made from {source}"
                pending.append(path)
    return dependents


def _folders(paths: Iterable[Path]) -> list[str]:
    """Return the folders of these results, or file patterns where a folder also has results of other kinds."""
    mixed_folders = {RESULTS, TABLES}
    return sorted({f"{path.with_suffix('')}.*" if path.parent in mixed_folders else str(path.parent) for path in paths})


def _results(plan: Plan) -> Iterator[Path]:
    """Yield the results of the suite and the files for readers."""
    for folder in (plan.results.folder, TABLES, FIGURES, TEMPORAL):
        for directory, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name != "logs"]
            yield from (path for name in names if name[0] != "." and (path := Path(directory, name)).is_file())
    yield from (path for path in (*RESULTS.glob("*"), *report_files()) if path.is_file())


class _Differences:
    """Differences between results and what would be produced now, as far as Snakemake does not detect them."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings], arguments: Sequence[str]) -> None:
        self._current = CurrentSettings(settings)
        self._outputs = list_outputs(plan).keys()
        self._plan, self._suite = plan, plan.results.folder
        self._has_params_trigger = "params" in find_rerun_triggers(arguments)

    @cached_property
    def _retries(self) -> dict[Path, str]:
        return dict(find_retries(self._plan))

    def describe(self, path: Path) -> str:
        """Return what differs, or an empty text."""
        # Without a record, Snakemake has no earlier param to compare.
        if not _metadata(path) and path in self._retries:
            return self._retries[path]
        provenance = read_provenance(path)
        if provenance is None:  # It is a user's own file, or a copy without its hidden record.
            is_lost = str(path) in self._outputs and not _metadata(path)
            return "without a record of its settings" if is_lost else ""
        if is_moved(path, provenance):
            return f"made as {provenance.file}"
        for name, content in provenance.settings.items():
            current = self._current[name]
            if current and current != content and self._is_kept(path, settings_text(name, current)):
                return f"settings of {name} changed"
        modified = path.stat().st_mtime
        for name, digest in provenance.inputs.items():
            source = Path(name)
            if source.is_file() and source.stat().st_mtime <= modified and _digest(source) != digest:
                return f"{name} changed"
        # Users may fill in files of the suite's folder, such as sheets for reviewers.
        return "edited" if not path.is_relative_to(self._suite) and is_edited(path) else ""

    def _is_kept(self, path: Path, text: str) -> bool:
        """Return whether Snakemake keeps a result: params do not trigger reruns, are not recorded, or are the same."""
        params = _metadata(path).get("params")
        return not self._has_params_trigger or params is None or repr(text) in params


def _metadata(path: Path) -> Mapping[str, Any]:
    """Return Snakemake's own record of a result, or an empty mapping without one."""
    code = urlsafe_b64encode(str(path).encode()).decode()
    parts = [code[start : start + MAX_NAME_LENGTH] for start in range(0, len(code), MAX_NAME_LENGTH)]
    # Snakemake names its records in this way.
    record = METADATA.joinpath(*(f"@{part}" for part in parts[:-1]), parts[-1])
    try:
        content = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


@cache
def _digest(path: Path) -> str:
    return file_digest(path)[:INPUT_DIGEST_DIGITS]


def _shorten(names: Iterator[str]) -> str:
    return ", ".join(summarize_list(list(names), MAX_LISTED, "and {} more"))
