"""Which setting changed since a result was made, from what to what: the reason of most reruns, in words."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reprise.core.files import canonical_json
from reprise.core.plain import plain
from reprise.core.provenance import Provenance
from reprise.core.settings import Settings
from reprise.core.settings_text import DIGEST

ABSENT = "(none)"
LONGEST = 60


class Change(NamedTuple):
    """A setting whose value is another one now; texts are cut to the place where they differ."""

    name: str
    before: str
    after: str

    @property
    def words(self) -> str:
        if "code_versions." in self.name:
            return f"version of {self.name.rpartition('.')[2]}: {self.before} -> {self.after}"
        return f"{self.name}: {self.before} -> {self.after}"


class SettingsChange(NamedTuple):
    """Settings whose content is another one than a result was made with."""

    name: str
    changes: tuple[Change, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(change.words for change in self.changes)


class CurrentSettings:
    """The settings of all jobs as results record them, each made once."""

    def __init__(self, settings: Mapping[str, Settings]) -> None:
        self._settings = settings
        self._contents: dict[str, dict[str, Any]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Return the settings of this name; empty where the suite has none."""
        if name not in self._contents:
            known = self._settings.get(name)
            self._contents[name] = {} if known is None else known.model_dump(mode="json")
        return self._contents[name]

    def changes_since(self, made: Provenance) -> list[SettingsChange]:
        """Return which of the settings that a result was made with are others now."""
        return [
            SettingsChange(name, tuple(changes_between(before, after)))
            for name, before in made.settings.items()
            if (after := self[name]) and after != before
        ]


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the settings that differ, by their dotted names."""
    one, other = dict(leaves(before)), dict(leaves(after))
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name) and name not in ("key", DIGEST):  # digests of the others
            yield Change(name.removeprefix("answers."), *_shown(one.get(name), other.get(name)))


def leaves(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its dotted name; entries of a list are counted from 1."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(content, list) and any(isinstance(one, Mapping | list) for one in content):
        for number, value in enumerate(content, start=1):
            yield from leaves(value, f"{name}.{number}")
    elif content not in (None, [], {}):
        yield name, content


def _shown(before: Any, after: Any) -> tuple[str, str]:
    texts = [
        ABSENT if one is None else plain(one if isinstance(one, str) else canonical_json(one))
        for one in (before, after)
    ]
    if all(text == ABSENT or re.fullmatch(r"[0-9a-f]{32,}", text) for text in texts):  # digests
        return texts[0][:12], texts[1][:12]
    same = next((at for at, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), min(map(len, texts)))
    start = max(0, same - 20) if max(map(len, texts)) > LONGEST else 0
    return _cut(texts[0], start), _cut(texts[1], start)


def _cut(text: str, start: int) -> str:
    end = start + LONGEST
    return text if text == ABSENT else f"{'...' if start else ''}{text[start:end]}{'...' if text[end:] else ''}"
