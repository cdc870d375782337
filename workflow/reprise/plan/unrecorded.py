"""Find outdated results that Snakemake would keep, before jobs are planned.

Snakemake relies on its own records and on modification times. It misses changes if a user deletes `.snakemake`, or
copies or touches results. The provenance of each result reveals such changes. This module changes nothing: it reports
the files in an error.
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
from reprise.core.paths import FIGURES, RESULTS, TABLES, TEMPORAL, find_input, report_files
from reprise.core.plain import summarize_list
from reprise.core.provenance import INPUT_DIGEST_DIGITS, Provenance, is_copied
from reprise.core.settings import Settings
from reprise.core.settings_text import format_settings_line
from reprise.plan.changes import CurrentSettings
from reprise.plan.retries import find_retries
from reprise.plan.runs import Plan
from reprise.plan.site import find_rerun_triggers
from reprise.plan.targets import list_outputs

METADATA = Path(".snakemake/metadata")  # folder of Snakemake's own records
INCOMPLETE = Path(".snakemake/incomplete")  # folder of its marks of results whose job has started and not finished
CLOCK_SKEW_S = 2.0  # The clocks of a file server and of this machine may differ.
MAX_LISTED = 8  # files in a message
MAX_NAME_LENGTH = 254  # Snakemake splits longer names of its records, because file systems limit them.


def check_results(plan: Plan, settings: Mapping[str, Settings], arguments: Sequence[str] = ()) -> None:
    """Raise a UserError that lists the outdated results which this call of Snakemake would keep."""
    differences = _Differences(plan, settings, arguments)
    latest_time = time.time() + CLOCK_SKEW_S
    paths_in_future: list[Path] = []
    difference_by_path: dict[Path, str] = {}
    for path in _list_results(plan):
        if path.stat().st_mtime > latest_time:
            paths_in_future.append(path)
        elif _locate_record(INCOMPLETE, path).exists():
            continue  # A kill may have separated it from its provenance. The profiles make Snakemake repeat its job.
        elif difference := differences.describe(path):
            difference_by_path[path] = difference
    if paths_in_future:
        raise UserError(
            f"dated in the future, so Snakemake would never make them again: {_shorten(map(str, paths_in_future))}. "
            "Correct the clock, then delete these files, or set their dates to now: "
            f"find {RESULTS} -newermt now -exec touch {{}} +"
        )
    if difference_by_path:
        difference_by_path |= _find_dependents(plan, difference_by_path)
        if len(difference_by_path) <= MAX_LISTED:
            removal_command = f"rm {' '.join(map(str, difference_by_path))}"
        else:
            removal_command = f"rm -r {' '.join(_list_removal_patterns(difference_by_path))}"
        raise UserError(
            "outdated results that Snakemake would keep, because its folder .snakemake was deleted, results were "
            "copied, edited or touched, or `--rerun-triggers` leaves out params: "
            f"{_shorten(f'{path} ({difference})' for path, difference in difference_by_path.items())}. "
            f"Delete them, then run the same command again; no answer is lost: {removal_command}"
        )


def _find_dependents(plan: Plan, outdated_paths: Collection[Path]) -> dict[Path, str]:
    """Return the results that depend on outdated ones, each with the reason.

    Snakemake recomputes a deleted input only if the results that depend on it are deleted too.
    """
    results_by_input: dict[Path, list[Path]] = defaultdict(list)
    for path in _list_results(plan):
        for name in (read_provenance(path) or Provenance()).inputs:
            results_by_input[Path(name)].append(path)
    reason_by_dependent: dict[Path, str] = {}
    pending_paths = list(outdated_paths)
    while pending_paths:
        source = pending_paths.pop()
        for path in results_by_input.pop(source, ()):
            if path not in outdated_paths and path not in reason_by_dependent:
                reason_by_dependent[path] = f"made from {source}"
                pending_paths.append(path)
    return reason_by_dependent


def _list_removal_patterns(paths: Iterable[Path]) -> list[str]:
    """Return patterns for `rm -r`: the folder of each result, or all its files if the folder has other results."""
    mixed_folders = {RESULTS, TABLES}
    return sorted({f"{path.with_suffix('')}.*" if path.parent in mixed_folders else str(path.parent) for path in paths})


def _list_results(plan: Plan) -> Iterator[Path]:
    """Yield the results of the suite and its outputs for readers."""
    for folder in (plan.results.folder, TABLES, FIGURES, TEMPORAL):
        for directory, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name != "logs"]
            yield from (path for name in names if name[0] != "." and (path := Path(directory, name)).is_file())
    yield from (path for path in (*RESULTS.glob("*"), *report_files()) if path.is_file())


class _Differences:
    """Find the differences of results from the current plan that Snakemake does not detect."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings], arguments: Sequence[str]) -> None:
        self._current_settings = CurrentSettings(settings)
        self._outputs = list_outputs(plan).keys()
        self._plan, self._suite_folder = plan, plan.results.folder
        self._has_params_trigger = "params" in find_rerun_triggers(arguments)

    @cached_property
    def _retries(self) -> dict[Path, str]:
        """Return the results that must be recomputed because of failures, each with the reason."""
        return dict(find_retries(self._plan))

    def describe(self, path: Path) -> str:
        """Return the first difference of a result, or an empty text."""
        # Without its own record of the result, Snakemake cannot notice a changed param `retry`.
        if not _read_snakemake_record(path) and path in self._retries:
            return self._retries[path]
        provenance = read_provenance(path)
        if provenance is None:  # The file belongs to the user, or is a copy without its hidden provenance file.
            is_record_lost = str(path) in self._outputs and not _read_snakemake_record(path)
            return "without a record of its settings" if is_record_lost else ""
        if is_copied(path, provenance):
            return f"made as {provenance.file}"
        for name, content in provenance.settings.items():
            current_content = self._current_settings[name]
            is_changed = bool(current_content) and current_content != content
            if is_changed and self._keeps_result(path, format_settings_line(name, current_content)):
                return f"settings of {name} changed"
        modified = path.stat().st_mtime
        for name, digest in provenance.inputs.items():
            source = find_input(name)
            if source.is_file() and source.stat().st_mtime <= modified and _digest(source) != digest:
                return f"{name} changed"
        # Users may edit files in the suite's folder, such as sheets for reviewers.
        return "edited" if not path.is_relative_to(self._suite_folder) and is_edited(path) else ""

    def _keeps_result(self, path: Path, settings_line: str) -> bool:
        """Return whether Snakemake would keep a result although its current settings, in this line, are new.

        Snakemake keeps the result if params do not trigger reruns, or if its record of the result has no params or
        already has the current settings.
        """
        params = _read_snakemake_record(path).get("params")
        return not self._has_params_trigger or params is None or repr(settings_line) in params


def _read_snakemake_record(path: Path) -> Mapping[str, Any]:
    """Return Snakemake's own record of a result, or an empty mapping without one."""
    try:
        content = json.loads(_locate_record(METADATA, path).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _locate_record(folder: Path, path: Path) -> Path:
    """Return the path of Snakemake's record of a result: its encoded path, split into folders of limited length."""
    encoded_path = urlsafe_b64encode(str(path).encode()).decode()
    parts = [encoded_path[start : start + MAX_NAME_LENGTH] for start in range(0, len(encoded_path), MAX_NAME_LENGTH)]
    return folder.joinpath(*(f"@{part}" for part in parts[:-1]), parts[-1])


@cache
def _digest(path: Path) -> str:
    """Return the digest of an input, shortened as in provenance."""
    return file_digest(path)[:INPUT_DIGEST_DIGITS]


def _shorten(names: Iterator[str]) -> str:
    """Return the first names, and how many more there are."""
    return ", ".join(summarize_list(list(names), MAX_LISTED, "and {} more"))
