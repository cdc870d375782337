"""Describe which settings changed since a result was produced, which is the reason for most reruns."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reprise.core.files import canonical_json
from reprise.core.plain import sanitize_line
from reprise.core.provenance import Provenance
from reprise.core.settings import Settings
from reprise.core.settings_text import DIGEST

NO_VALUE = "(none)"  # text of a setting that does not exist before or after
MAX_VALUE_CHARS = 60  # characters of a value that a message shows


class ValueChange(NamedTuple):
    """Setting whose value changed. Long values are cut to the part where they begin to differ."""

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
    """Settings of one job that changed since a result was produced."""

    name: str
    """name of the job's settings, such as `frames/velociti/fps1`"""
    changes: tuple[ValueChange, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return each change as text."""
        return tuple(change.text for change in self.changes)


class CurrentSettings:
    """Current settings of all jobs, in the form in which results record them. Each is serialised once."""

    def __init__(self, settings_by_name: Mapping[str, Settings]) -> None:
        self._settings_by_name = settings_by_name
        self._content_by_name: dict[str, dict[str, Any]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        """Return the settings of this name, or an empty mapping if the suite has none."""
        if name not in self._content_by_name:
            settings = self._settings_by_name.get(name)
            self._content_by_name[name] = {} if settings is None else settings.model_dump(mode="json")
        return self._content_by_name[name]

    def changes_since(self, provenance: Provenance) -> list[SettingsChange]:
        """Return the settings that differ from those in a result's provenance."""
        return [
            SettingsChange(name, tuple(find_changes(before, after)))
            for name, before in provenance.settings.items()
            if (after := self[name]) and after != before
        ]


def find_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ValueChange]:
    """Yield the settings whose values differ, in the order of their dotted names."""
    old_values, new_values = dict(flatten(before)), dict(flatten(after))
    for name in sorted(old_values.keys() | new_values.keys()):
        old_value, new_value = old_values.get(name), new_values.get(name)
        # `key` and DIGEST are digests of the other settings.
        if old_value != new_value and name not in ("key", DIGEST):
            yield ValueChange(name.removeprefix("answers."), *_shorten_values(old_value, new_value))


def flatten(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value with its dotted name. List entries are numbered from 1."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from flatten(value, f"{name}.{key}" if name else str(key))
    elif isinstance(content, list) and any(isinstance(entry, Mapping | list) for entry in content):
        for number, value in enumerate(content, start=1):
            yield from flatten(value, f"{name}.{number}")
    elif content not in (None, [], {}):
        yield name, content


def _shorten_values(before: Any, after: Any) -> tuple[str, str]:
    """Return two values as short texts that begin near the first difference."""
    texts = [
        NO_VALUE if value is None else sanitize_line(value if isinstance(value, str) else canonical_json(value))
        for value in (before, after)
    ]
    if all(text == NO_VALUE or re.fullmatch(r"[0-9a-f]{32,}", text) for text in texts):  # Each is a digest or none.
        return texts[0][:12], texts[1][:12]
    character_pairs = enumerate(zip(*texts, strict=False))
    first_difference = next((index for index, (old, new) in character_pairs if old != new), min(map(len, texts)))
    start = max(0, first_difference - 20) if max(map(len, texts)) > MAX_VALUE_CHARS else 0
    return _cut(texts[0], start), _cut(texts[1], start)


def _cut(text: str, start: int) -> str:
    """Return at most MAX_VALUE_CHARS characters of a text, with dots where something is left out."""
    end = start + MAX_VALUE_CHARS
    return text if text == NO_VALUE else f"{'...' if start else ''}{text[start:end]}{'...' if text[end:] else ''}"
