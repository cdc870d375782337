"""The provenance of a run's numbers: every stage back to the release, with the settings of each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import read_json, sealed_text
from reprise.core.lineage import Lineages, Step
from reprise.core.paths import STAGES, Results
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.report.folder import as_text, display_text, leaves

LONGEST_LIST = 1000
MOST_FILES = 40  # released files that are listed with their digests; the file of the step lists all


class Fact(NamedTuple):
    name: str
    text: str


class UsedSettings(NamedTuple):
    """Settings that files were made with."""

    name: str
    settings: list[Fact]  # long texts, such as prompts, as digests


class StageProvenance(NamedTuple):
    """A stage with its files and their settings; settings are listed only at the first stage that has them."""

    name: str
    files: list[str]
    facts: list[Fact]
    settings: list[UsedSettings]


class Chains:
    """The provenance of a suite's runs; every file is read once."""

    def __init__(self, results: Results) -> None:
        self._root = results.root.parent
        self._lineages, self._file_facts = Lineages(self._root), cache(_file_facts)

    def of(self, result: Path) -> list[StageProvenance]:
        """Return the stages that a result was made by, starting with the release."""
        by_stage: dict[str, list[Step]] = {}
        for step in self._lineages.of(result):
            by_stage.setdefault(step.stage, []).append(step)
        recorded: set[str] = set()
        stages = []
        for stage, steps in by_stage.items():
            new_settings = {
                name: content for step in steps for name, content in step.made.settings.items() if name not in recorded
            }
            recorded |= set(new_settings)
            stages.append(
                StageProvenance(
                    name=stage,
                    files=[display_text(step.path.as_posix()) for step in steps],
                    facts=self._file_facts(stage, tuple(self._root / step.path for step in steps)),
                    settings=[UsedSettings(name, facts_of(content)) for name, content in new_settings.items()],
                )
            )
        return stages


def facts_of(content: Any) -> list[Fact]:
    """Return settings by dotted names; a long list is cut, a text is complete."""
    return list(_settings(content))


def _settings(content: Any) -> Iterator[Fact]:
    for name, value in leaves(content):
        if value not in (None, "", [], {}):
            text = display_text(as_text(value))
            if len(text) > LONGEST_LIST and not isinstance(value, str):
                text = f"{text[:LONGEST_LIST]}... ({len(text)} characters)"
            yield Fact(display_text(name), text)


def _file_facts(name: str, files: Sequence[Path]) -> list[Fact]:
    """Return what the files record: digests of released or fetched files, and counts of videos or clips by status."""
    if name in STAGES and files:
        schema = CLIP_LEDGER if name == "clips" else SOURCES
        statuses: Counter[str] = Counter()
        for path in files:
            statuses.update(read_table(path, schema, set(schema) - {"status"})["status"])
        return [Fact("status", ", ".join(f"{count} {status}" for status, count in statuses.most_common()))]
    facts: list[Fact] = []
    for path in files if name in ("weights", "serve_environment") else ():
        facts += _settings(read_json(sealed_text(path)))
    for path in files if name == "release" else ():
        content = read_json(sealed_text(path))
        facts += [Fact(display_text(file["path"]), f"sha256 {file['sha256']}") for file in content[:MOST_FILES]]
        facts += [Fact("and", f"{len(content) - MOST_FILES} more files")] if content[MOST_FILES:] else []
    return facts
