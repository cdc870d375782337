"""The reference of every key that a user can set, written from the types that read the configuration."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reprise.config.json_schemas import KINDS, schema, schema_of
from reprise.core import names
from reprise.models.adapters import ADAPTERS

FILE = "docs/reference/config.md"
HEAD = """# Every key of the configuration

Written by `python -m reprise schemas` from the types that read the files: to change this page, change those
(`workflow/reprise/config/`). [config/README.md](../../config/README.md) explains how the parts go together. A key
without a default must be given.
"""


def reference() -> str:
    """The page."""
    parts = [HEAD]
    shared: dict[str, Any] = {}
    for kind, (_, pattern) in KINDS.items():
        made = schema(kind)
        shared |= made.get("$defs", {})
        parts.append(f"## `{pattern}`\n\n{_without_file(made['description'])}\n")
        parts += _keys(made)
    parts.append("## Groups of keys\n")
    for name in sorted(shared):
        parts.append(f"### {name}\n\n{shared[name]['description']}\n")
        parts += _keys(shared[name])
    parts += _adapters()
    parts += _samplings()
    return "\n".join(parts)


def _without_file(description: str) -> str:
    """A description that begins with the file that it is of, without it."""
    text = description.partition("`: ")[2]
    return f"{text[:1].upper()}{text[1:]}"


def _keys(made: Mapping[str, Any]) -> Iterator[str]:
    """A table of the keys of a group."""
    if "properties" not in made:
        if "patternProperties" in made:
            yield f"Each entry is {_kind(made)}.\n"
        return
    lines = ["| key | value | default | |", "|---|---|---|---|"]
    for key, one in made["properties"].items():
        cells = (f"`{key}`", _kind(one), _default(one, key in made.get("required", ())), one["description"])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    yield "\n".join(lines) + "\n"


def _default(one: Mapping[str, Any], is_required: bool) -> str:
    if is_required or "const" in one:
        return ""
    if "$ref" in one:
        return "as there"
    return "none" if one.get("default") is None else f"`{json.dumps(one['default'], ensure_ascii=False)}`"


def _kind(one: Mapping[str, Any]) -> str:
    """What values a key can have, in words."""
    if "$ref" in one:
        name = str(one["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in one:
        return f"`{one['const']}`"
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in one["enum"])
    choices = [choice for choice in one.get("anyOf", one.get("oneOf", ())) if choice.get("type") != "null"]
    if choices and all("rule" in choice.get("properties", {}) for choice in choices):
        return "[a sampling rule](#sampling-rules)"
    if choices:
        return " or ".join(_kind(choice) for choice in choices)
    if "patternProperties" in one:
        return f"`<name>:` {_kind(next(iter(one['patternProperties'].values())))}"
    if isinstance(one.get("additionalProperties"), dict):
        return f"`<text>:` {_kind(one['additionalProperties'])}"
    if one.get("type") == "array":
        return f"list of {_kind(one['items'])}"
    if one.get("type") == "string":
        return _text(one)
    words = {"integer": "whole number", "number": "number", "boolean": "true or false", "object": "keys"}
    return words[one["type"]] + _range(one)


def _text(one: Mapping[str, Any]) -> str:
    pattern = one.get("pattern")
    words: dict[str | None, str] = {
        None: "text",
        names.NAME: "name",
        names.RUN: "run",
        names.REVISION: "commit or `unpinned`",
    }
    return words.get(pattern, f"text like `{pattern}`")


def _range(one: Mapping[str, Any]) -> str:
    limits = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    said = [f"{words} {one[key]:g}" for key, words in limits.items() if key in one]
    return f", {' and '.join(said)}" if said else ""


def _adapters() -> Iterator[str]:
    yield "## `settings:` of each adapter\n"
    for name, adapter in sorted(ADAPTERS.items()):
        made = schema_of(adapter.settings)
        yield f"### `{name}`\n"
        yield from _keys(made) if made.get("properties") else ["No settings.\n"]


def _samplings() -> Iterator[str]:
    yield "## Sampling rules\n"
    made = schema("config")["properties"]["samplings"]["patternProperties"]
    rules = next(iter(made.values()))["oneOf"]
    lines = ["| rule | parameters | |", "|---|---|---|"]
    for rule in rules:
        name, *parameters = rule["properties"]
        del name
        cells = (
            f"`{rule['properties']['rule']['const']}`",
            ", ".join(f"`{one}`" for one in parameters),
            rule["description"],
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    yield "\n".join(lines) + "\n"
