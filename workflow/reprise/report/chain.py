"""What a run's numbers were made from: every step back to the release, with the settings that it was made under."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.core.checksums import keys_of, sealed_text
from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_json
from reprise.core.origin import STAGES, Origin, Step
from reprise.core.paths import Results
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.report.scripts import shown
from reprise.report.settings import in_words, leaves

LONGEST_LIST = 1000
MOST_FILES = 40
"""released files that are listed with their digests; the step's own file lists all"""
EMPTY: tuple[Any, ...] = (None, "", [], {})


class Fact(NamedTuple):
    """Something that is known, by its name."""

    name: str
    text: str


class Used(NamedTuple):
    """A key file that files were made under, and what it says."""

    path: str
    settings: list[Fact]
    """texts, such as prompts, are whole"""
    changed: bool
    """whether it says something else by now"""


class Made(NamedTuple):
    """A step, its files, and what they were made under; a key file stands with the first step made under it."""

    name: str
    files: list[str]
    gone: int
    """how many of the files are not there"""
    facts: list[Fact]
    keys: list[Used]


class Chains:
    """The chains of a suite's runs; every file is read once."""

    def __init__(self, results: Results) -> None:
        self._root = results.root.parent
        self._keys: dict[Path, Mapping[str, str]] = {}
        self._used: dict[tuple[Path, str], Used] = {}
        self._facts: dict[tuple[Path, ...], list[Fact]] = {}

    def of(self, origin: Origin) -> list[Made]:
        """What a run's numbers were made from, the release first."""
        told: set[Path] = set()
        found = []
        for name, steps in _by_name(origin.steps()).items():
            digests = self._digests(steps)
            found.append(self._made(name, steps, {path: one for path, one in digests.items() if path not in told}))
            told |= set(digests)
        return found

    def _made(self, name: str, steps: Sequence[Step], digests: Mapping[Path, str]) -> Made:
        used = (self._of_key(path, digest) for path, digest in digests.items())
        there = [step.path for step in steps if step.path.is_file()]
        facts = self._facts_of(name, there)
        files = [shown(self._named(step.path)) for step in steps]
        return Made(name, files, len(steps) - len(there), facts, [one for one in used if one.settings])

    def _digests(self, steps: Sequence[Step]) -> dict[Path, str]:
        """Key file -> the digest under which files were made; none of a key that they do not name themselves."""
        found = {Path(name): digest for step in steps for name, digest in self._names(step.path).items()}
        return found | {step.key: "" for step in steps if step.key is not None and step.key not in found}

    def _named(self, path: Path) -> str:
        """A file's path as from the folder of the project."""
        return (path.relative_to(self._root) if path.is_relative_to(self._root) else path).as_posix()

    def _names(self, path: Path) -> Mapping[str, str]:
        if path not in self._keys:
            is_table = path.suffix == ".parquet" and path.is_file()
            self._keys[path] = (keys_of(path) or {}) if is_table else {}
        return self._keys[path]

    def _of_key(self, path: Path, digest: str) -> Used:
        place = path, digest
        if place not in self._used:
            changed = path.is_file() and not file_digest(path).startswith(digest)
            self._used[place] = Used(shown(self._named(path)), settings(path), changed)
        return self._used[place]

    def _facts_of(self, name: str, files: Sequence[Path]) -> list[Fact]:
        place = tuple(files)
        if place not in self._facts:
            self._facts[place] = list(_facts(name, files))
        return self._facts[place]


def settings(path: Path) -> list[Fact]:
    """What a key file says, by dotted names; a list is cut, a text is whole."""
    if not path.is_file():
        return []
    return [Fact(shown(name), _text(value)) for name, value in leaves(read_json(path)) if value not in EMPTY]


def _text(value: Any) -> str:
    text = shown(in_words(value))
    if isinstance(value, str) or len(text) <= LONGEST_LIST:
        return text
    return f"{text[:LONGEST_LIST]}... ({len(text)} characters)"


def _by_name(steps: Iterable[Step]) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for step in steps:
        found.setdefault(step.name, []).append(step)
    return found


def _facts(name: str, files: Sequence[Path]) -> Iterator[Fact]:
    """What the files themselves say: digests of what was released and fetched, and what became of videos and clips."""
    if name in STAGES and files:
        yield Fact("status", _statuses(name, files))
    for path in files if name in ("release", "weights", "environment") else ():
        content = read_json(sealed_text(path))
        if name == "release":
            yield from (Fact(shown(one["path"]), f"sha256 {one['sha256']}") for one in content[:MOST_FILES])
            if content[MOST_FILES:]:
                yield Fact("and", f"{len(content) - MOST_FILES} more files")
        else:
            yield from (Fact(shown(key), _text(value)) for key, value in leaves(content) if value not in EMPTY)


def _statuses(stage: str, files: Sequence[Path]) -> str:
    schema = CLIP_LEDGER if stage == "clips" else SOURCES
    found: Counter[str] = Counter()
    for path in files:
        try:
            found.update(read_table(path, schema, set(schema) - {"status"})["status"])
        except UserError:  # a damaged table: its own job says so
            found["not readable"] += 1
    return ", ".join(f"{count} {status}" for status, count in found.most_common())
