"""What a run's numbers were made from: every step back to the release, with the settings that it was made under."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.files import file_digest, keys_of, read_json, sealed_text
from reprise.core.paths import STAGES, Results
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.report.folder import in_words, leaves, shown
from reprise.report.keys import Origin, Step

LONGEST_LIST = 1000
MOST_FILES = 40  # released files that are listed with their digests; the step's own file lists all


class Fact(NamedTuple):
    name: str
    text: str


class Used(NamedTuple):
    """A key file that files were made under, and what it says."""

    path: str
    settings: list[Fact]  # texts, such as prompts, are whole
    changed: bool  # whether it says something else by now


class Made(NamedTuple):
    """A step, its files, and what they were made under; a key file stands with the first step made under it."""

    name: str
    files: list[str]
    gone: int  # how many of the files are not there
    facts: list[Fact]
    keys: list[Used]


class Chains:
    """The chains of a suite's runs; every file is read once."""

    def __init__(self, results: Results) -> None:
        self._results, self._root = results, results.root.parent
        self._keys_of, self._used, self._facts = cache(_keys_of), cache(self._read), cache(_facts)

    def of(self, origin: Origin) -> list[Made]:
        """What a run's numbers were made from, the release first."""
        by_name: dict[str, list[Step]] = {}
        for step in origin.steps(self._results):
            by_name.setdefault(step.name, []).append(step)
        told: set[Path] = set()
        found = []
        for name, steps in by_name.items():
            digests = {key: digest for step in steps for key, digest in self._keys_of(step.path).items()}
            digests |= {step.key: "" for step in steps if step.key is not None and step.key not in digests}
            used = [self._used(path, digest) for path, digest in digests.items() if path not in told]
            told |= set(digests)
            there = tuple(step.path for step in steps if step.path.is_file())
            found.append(
                Made(
                    name=name,
                    files=[self._named(step.path) for step in steps],
                    gone=len(steps) - len(there),
                    facts=self._facts(name, there),
                    keys=[one for one in used if one.settings],
                )
            )
        return found

    def _named(self, path: Path) -> str:
        """A file's path as from the folder of the project."""
        return shown((path.relative_to(self._root) if path.is_relative_to(self._root) else path).as_posix())

    def _read(self, path: Path, digest: str) -> Used:
        return Used(self._named(path), settings(path), path.is_file() and not file_digest(path).startswith(digest))


def settings(path: Path) -> list[Fact]:
    """What a key file says, by dotted names; a list is cut, a text is whole."""
    return list(_said(read_json(path))) if path.is_file() else []


def _said(content: Any) -> Iterator[Fact]:
    for name, value in leaves(content):
        if value not in (None, "", [], {}):
            text = shown(in_words(value))
            if len(text) > LONGEST_LIST and not isinstance(value, str):
                text = f"{text[:LONGEST_LIST]}... ({len(text)} characters)"
            yield Fact(shown(name), text)


def _keys_of(path: Path) -> Mapping[Path, str]:
    """Key file -> its digest when a table was made under it."""
    found = keys_of(path) if path.suffix == ".parquet" and path.is_file() else None
    return {Path(name): digest for name, digest in (found or {}).items()}


def _facts(name: str, files: Sequence[Path]) -> list[Fact]:
    """What the files themselves say: digests of what was released and fetched, and what became of videos and clips."""
    if name in STAGES and files:
        schema = CLIP_LEDGER if name == "clips" else SOURCES
        statuses: Counter[str] = Counter()
        for path in files:
            statuses.update(read_table(path, schema, set(schema) - {"status"})["status"])
        return [Fact("status", ", ".join(f"{count} {status}" for status, count in statuses.most_common()))]
    found: list[Fact] = []
    for path in files if name in ("weights", "environment") else ():
        found += _said(read_json(sealed_text(path)))
    for path in files if name == "release" else ():
        content = read_json(sealed_text(path))
        found += [Fact(shown(one["path"]), f"sha256 {one['sha256']}") for one in content[:MOST_FILES]]
        found += [Fact("and", f"{len(content) - MOST_FILES} more files")] if content[MOST_FILES:] else []
    return found
