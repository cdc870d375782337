"""What a run's numbers were made from: every stage back to the release, with the settings of each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import read_json, sealed_text
from reprise.core.lineage import Lineages, Step
from reprise.core.paths import STAGES, Results
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.report.folder import in_words, leaves, shown

LONGEST_LIST = 1000
MOST_FILES = 40  # released files that are listed with their digests; the step's own file lists all


class Fact(NamedTuple):
    name: str
    text: str


class Used(NamedTuple):
    """Settings that files were made with."""

    name: str
    settings: list[Fact]  # long texts, such as prompts, as digests


class Made(NamedTuple):
    """A stage, its files, and what they were made with; settings stand with the first stage that was made with them."""

    name: str
    files: list[str]
    facts: list[Fact]
    settings: list[Used]


class Chains:
    """The chains of a suite's runs; every file is read once."""

    def __init__(self, results: Results) -> None:
        self._root = results.root.parent
        self._lineages, self._facts = Lineages(self._root), cache(_facts)

    def of(self, result: Path) -> list[Made]:
        """What a result was made from, the release first."""
        by_stage: dict[str, list[Step]] = {}
        for step in self._lineages.of(result):
            by_stage.setdefault(step.stage, []).append(step)
        told: set[str] = set()
        found = []
        for stage, steps in by_stage.items():
            used = {name: content for step in steps for name, content in step.made.settings.items() if name not in told}
            told |= set(used)
            found.append(
                Made(
                    name=stage,
                    files=[shown(step.path.as_posix()) for step in steps],
                    facts=self._facts(stage, tuple(self._root / step.path for step in steps)),
                    settings=[Used(name, facts_of(content)) for name, content in used.items()],
                )
            )
        return found


def facts_of(content: Any) -> list[Fact]:
    """Settings by dotted names; a list is cut, a text is whole."""
    return list(_said(content))


def _said(content: Any) -> Iterator[Fact]:
    for name, value in leaves(content):
        if value not in (None, "", [], {}):
            text = shown(in_words(value))
            if len(text) > LONGEST_LIST and not isinstance(value, str):
                text = f"{text[:LONGEST_LIST]}... ({len(text)} characters)"
            yield Fact(shown(name), text)


def _facts(name: str, files: Sequence[Path]) -> list[Fact]:
    """What the files themselves say: digests of what was released and fetched, and what became of videos and clips."""
    if name in STAGES and files:
        schema = CLIP_LEDGER if name == "clips" else SOURCES
        statuses: Counter[str] = Counter()
        for path in files:
            statuses.update(read_table(path, schema, set(schema) - {"status"})["status"])
        return [Fact("status", ", ".join(f"{count} {status}" for status, count in statuses.most_common()))]
    found: list[Fact] = []
    for path in files if name in ("weights", "serve_environment") else ():
        found += _said(read_json(sealed_text(path)))
    for path in files if name == "release" else ():
        content = read_json(sealed_text(path))
        found += [Fact(shown(one["path"]), f"sha256 {one['sha256']}") for one in content[:MOST_FILES]]
        found += [Fact("and", f"{len(content) - MOST_FILES} more files")] if content[MOST_FILES:] else []
    return found
