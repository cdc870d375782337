"""Trace a run's numbers back to the release, and describe every stage with its files and settings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import read_json, verify_sealed_text
from reprise.core.lineage import Lineages, LineageStep
from reprise.core.paths import MANIFEST_KINDS, Results
from reprise.core.schemas import CLIP_MANIFEST, SOURCES, read_table
from reprise.report.folder import display_text, flatten_settings, to_text
from reprise.report.redaction import redact_paths

MAX_LIST_CHARACTERS = 1000  # maximum number of characters of a list in the settings
MAX_FILES = 40  # maximum number of released files that are listed; the output of the stage lists all


class Detail(NamedTuple):
    """A named text in a list of details, such as a setting and its value."""

    name: str
    text: str


class UsedSettings(NamedTuple):
    """Settings of one job, as recorded in the provenance of its outputs."""

    name: str
    settings: list[Detail]  # with dotted names, as `flatten_details` returns them


class StageProvenance(NamedTuple):
    """A stage with its files and settings. Settings of several stages are listed at the first of them."""

    name: str
    files: list[str]
    details: list[Detail]
    settings: list[UsedSettings]


class StageLineages:
    """Trace the lineage of a suite's results by stage. Every file is read once."""

    def __init__(self, results: Results) -> None:
        self._root = results.root.parent
        self._lineages, self._file_details = Lineages(self._root), cache(_read_details)

    def trace(self, result: Path) -> list[StageProvenance]:
        """Return the stages that led to a result, the release first."""
        steps_by_stage: dict[str, list[LineageStep]] = {}
        for step in self._lineages.trace(result):
            steps_by_stage.setdefault(step.stage, []).append(step)
        listed_settings: set[str] = set()
        stages = []
        for stage, steps in steps_by_stage.items():
            new_settings = {
                name: content
                for step in steps
                for name, content in step.provenance.settings.items()
                if name not in listed_settings
            }
            listed_settings |= set(new_settings)
            stages.append(
                StageProvenance(
                    name=stage,
                    files=[redact_paths(display_text(step.path.as_posix())) for step in steps],
                    details=self._file_details(stage, tuple(self._root / step.path for step in steps)),
                    settings=[UsedSettings(name, flatten_details(content)) for name, content in new_settings.items()],
                )
            )
        return stages


def flatten_details(content: Any) -> list[Detail]:
    """Return settings with dotted names. Long lists are truncated; texts are complete."""
    return list(_iter_details(content))


def _iter_details(content: Any) -> Iterator[Detail]:
    """Yield the non-empty values of settings or of a record."""
    for name, value in flatten_settings(content):
        if value not in (None, "", [], {}):
            text = redact_paths(display_text(to_text(value)))
            if len(text) > MAX_LIST_CHARACTERS and not isinstance(value, str):
                text = f"{text[:MAX_LIST_CHARACTERS]}... ({len(text)} characters)"
            yield Detail(display_text(name), text)


def _read_details(stage: str, files: Sequence[Path]) -> list[Detail]:
    """Describe the files of some stages: counts by status, records of fetched files, or digests of released files."""
    if stage in MANIFEST_KINDS and files:
        schema = CLIP_MANIFEST if stage == "clips" else SOURCES
        statuses: Counter[str] = Counter()
        for path in files:
            statuses.update(read_table(path, schema, skipped_columns=set(schema) - {"status"})["status"])
        return [Detail("status", ", ".join(f"{count} {status}" for status, count in statuses.most_common()))]
    details: list[Detail] = []
    if stage in ("weights", "serve_environment"):
        for path in files:
            details += _iter_details(read_json(verify_sealed_text(path)))
    elif stage == "release":
        for path in files:
            released_files = read_json(verify_sealed_text(path))
            details += [
                Detail(redact_paths(display_text(file["path"])), f"sha256 {file['sha256']}")
                for file in released_files[:MAX_FILES]
            ]
            if len(released_files) > MAX_FILES:
                details.append(Detail("and", f"{len(released_files) - MAX_FILES} more files"))
    return details
