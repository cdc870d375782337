"""Describe which settings changed since a result was produced, which is the reason of most reruns."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reprise.core.files import canonical_json
from reprise.core.plain import plain
from reprise.core.provenance import Provenance
from reprise.core.settings import Settings
from reprise.core.settings_text import DIGEST

ABSENT = "(none)"
MAX_CHARS = 60


class ValueChange(NamedTuple):
    """Setting with another value than before; texts are cut to the place where they differ."""

    name: str
    before: str
    after: str

    @property
    def text(self) -> str:
        """Return the change as text."""
        if "code_versions." in self.name:
            return f"version of {self.name.rpartition('.')[2]}: {self.before} -> {self.after}"
        return f"{self.name}: {self.before} -> {self.after}"


class SettingsChange(NamedTuple):
    """Group of settings whose content differs from that with which a result was produced."""

    name: str
    changes: tuple[ValueChange, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return each change as text."""
        return tuple(change.text for change in self.changes)


class CurrentSettings:
    """Settings of all jobs in the form that results record, each serialised once."""

    def __init__(self, settings: Mapping[str, Settings]) -> None:
        self._settings = settings
        self._contents: dict[str, dict[str, Any]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Return the settings of this name, or an empty mapping if the suite has none."""
        if name not in self._contents:
            settings = self._settings.get(name)
            self._contents[name] = {} if settings is None else settings.model_dump(mode="json")
        return self._contents[name]

    def changes_since(self, provenance: Provenance) -> list[SettingsChange]:
        """Return the settings that differ from those in a result's provenance."""
        return [
            SettingsChange(name, tuple(changes_between(before, after)))
            for name, before in provenance.settings.items()
            if (after := self[name]) and after != before
        ]


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ValueChange]:
    """Yield the settings that differ, by dotted name."""
    old_values, new_values = dict(flatten(before)), dict(flatten(after))
    for name in sorted(old_values.keys() | new_values.keys()):
        # `key` and DIGEST are digests of the other settings.
        if old_values.get(name) != new_values.get(name) and name not in ("key", DIGEST):
            yield ValueChange(name.removeprefix("answers."), *_displayed(old_values.get(name), new_values.get(name)))


def flatten(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value by its dotted name; entries of a list are numbered from 1."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from flatten(value, f"{name}.{key}" if name else str(key))
    elif isinstance(content, list) and any(isinstance(entry, Mapping | list) for entry in content):
        for number, value in enumerate(content, start=1):
            yield from flatten(value, f"{name}.{number}")
    elif content not in (None, [], {}):
        yield name, content


def _displayed(before: Any, after: Any) -> tuple[str, str]:
    """Return two values as short texts that begin near the first difference."""
    texts = [
        ABSENT if value is None else plain(value if isinstance(value, str) else canonical_json(value))
        for value in (before, after)
    ]
    if all(text == ABSENT or re.fullmatch(r"[0-9a-f]{32,}", text) for text in texts):  # Both are digests.
        return texts[0][:12], texts[1][:12]
    common = next((i for i, (old, new) in enumerate(zip(*texts, strict=False)) if old != new), min(map(len, texts)))
    start = max(0, common - 20) if max(map(len, texts)) > MAX_CHARS else 0
    return _cut(texts[0], start), _cut(texts[1], start)


def _cut(text: str, start: int) -> str:
    end = start + MAX_CHARS
    return text if text == ABSENT else f"{'...' if start else ''}{text[start:end]}{'...' if text[end:] else ''}"
