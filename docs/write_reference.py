"""Write the files generated from code: JSON Schemas, editor settings, and the reference pages.

`make reference` runs it; a test fails if a file is out of date.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import write_commands
import write_extraction
import write_rows
import write_samplings
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from reprise.config.benchmark import Benchmark
from reprise.config.figures import Figures
from reprise.config.main import Main
from reprise.config.model import External, Model
from reprise.config.suite import Suite
from reprise.config.tables import Tables
from reprise.core import names
from reprise.core.files import write_text
from reprise.core.settings import Settings, StrictModel
from reprise.models.adapters import ADAPTERS
from reprise.models.remote.serving.settings import NAME_ONLY_ENGINES

ROOT = Path(__file__).parents[1]
FOLDER = "config/schemas"
# Kind of file -> its type, and a glob pattern of such files.
KINDS: dict[str, tuple[type[BaseModel], str]] = {
    "config": (Main, "config/config.yaml"),
    "suite": (Suite, "config/suites/*.yaml"),
    "model": (Model, "config/models/*.yaml"),
    "external": (External, "config/external.yaml"),
    "benchmark": (Benchmark, "config/benchmarks/*.yaml"),
    "tables": (Tables, "config/tables/**/*.yaml"),
    "figures": (Figures, "config/figures/**/*.yaml"),
}


REFERENCE = "docs/reference/config.md"
HEAD = """# Every key of the configuration

Written by `make reference` from the types in `workflow/reprise/config/`.

This page lists the keys of each file in `config/`, by file. If the value of a key is a group of keys, the key links to
the section of this group. Each line has the following parts:

- the name of the key;
- its default value. A key without a default is required; `null` means that nothing is set;
- in brackets, the kind of value or the allowed values. Brackets are left out if the value is any text, or if the
  default shows its kind. `<name>:` before a kind means several entries, each with a name that you choose;
- what the key does.

Names of models, samplings and so on consist of lower-case letters, digits, `.`, `_` and `-`, and start with a letter or
a digit. If a file has an unknown key, name or value, an error lists all such mistakes before anything runs. The first
line of each file names a schema. Editors with a YAML language server use it to complete and check the file.
"""


def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of file."""
    json_schema = schema_of(KINDS[kind][0])
    if kind == "model":
        json_schema["properties"]["adapter"]["enum"] = sorted(ADAPTERS)
        json_schema["properties"]["served_by"]["anyOf"].insert(0, {"enum": list(NAME_ONLY_ENGINES)})
        json_schema["allOf"] = [_settings_of(name) for name in sorted(ADAPTERS)]
        for condition in json_schema["allOf"]:  # A `$ref` is resolved from the root, so move the definitions there.
            json_schema["$defs"] |= condition["then"]["properties"]["settings"].pop("$defs", {})
    return {"$schema": GenerateJsonSchema.schema_dialect, **json_schema}


def _settings_of(adapter: str) -> dict[str, Any]:
    """Return the part of the schema that checks `settings:` if a model has this adapter.

    With `served_by`, no key is required, because the job that starts the server sets the required keys.
    """
    settings = schema_of(ADAPTERS[adapter].settings)
    consequence: dict[str, Any] = {"properties": {"settings": settings}}
    if ADAPTERS[adapter].can_be_hosted:
        required = {"properties": {"settings": {"required": settings.pop("required")}}}
        consequence |= {"if": {"not": {"required": ["served_by"]}}, "then": required}
    return {"if": {"properties": {"adapter": {"const": adapter}}}, "then": consequence}


def schema_of(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of a type, with the descriptions of all keys."""
    json_schema = kind.model_json_schema()
    groups = {subclass.__name__: subclass for subclass in _groups(StrictModel)}
    for name, group in {kind.__name__: json_schema, **json_schema.get("$defs", {})}.items():
        for key, text in _descriptions(groups[name]).items() if name in groups else ():
            group["properties"][key]["description"] = text
        kind_key = group.get("properties", {}).get("kind", {})
        if "const" in kind_key:  # a tagged union: describe the tag like its group
            kind_key.setdefault("description", f"`{kind_key['const']}`: {group['description']}")
    return dict(_clean_schema(json_schema))


def _groups(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield a type and all of its subclasses."""
    yield kind
    for subclass in kind.__subclasses__():
        yield from _groups(subclass)


def _descriptions(kind: type[BaseModel]) -> dict[str, str]:
    """Return key -> docstring below the key in the source of a type and of its base classes."""
    descriptions: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base in (StrictModel, Settings) or not issubclass(base, StrictModel):
            continue
        definition = ast.parse(dedent(inspect.getsource(base))).body[0]
        # A docstring is the statement after the field that it describes.
        for statement, next_statement in pairwise(definition.body if isinstance(definition, ast.ClassDef) else ()):
            match statement, next_statement:
                case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(text_below))):
                    descriptions[key] = text_below
    return {key: text_below for key, text_below in descriptions.items() if key in kind.model_fields}


def _clean_schema(part: Any) -> Any:
    """Drop titles that repeat keys and line breaks of docstrings; forbid keys that match no pattern."""
    if isinstance(part, list):
        return [_clean_schema(element) for element in part]
    if not isinstance(part, dict):
        return part
    # A `title` that is no text is the schema of a key with this name.
    keywords = {keyword: value for keyword, value in part.items() if keyword != "title" or not isinstance(value, str)}
    if isinstance(keywords.get("description"), str):
        keywords["description"] = " ".join(keywords["description"].split())
    if "patternProperties" in keywords:
        keywords["additionalProperties"] = False
    return {keyword: _clean_schema(value) for keyword, value in keywords.items()}


def schema_files() -> dict[str, str]:
    """Return every schema, and the editor settings that refer to them, by path."""
    files = {
        f"{FOLDER}/{kind}.schema.json": json.dumps(schema(kind), indent=1, ensure_ascii=False) + "\n" for kind in KINDS
    }
    globs = {f"./{FOLDER}/{kind}.schema.json": pattern for kind, (_, pattern) in KINDS.items()}
    return files | {".vscode/settings.json": json.dumps({"yaml.schemas": globs}, indent=2) + "\n"}


def reference() -> str:
    """Return the page: a section for each kind of file, and one for the adapters, each with its groups of keys."""
    parts = [HEAD]
    described: set[str] = set()
    for kind, (file_type, pattern) in KINDS.items():
        json_schema = schema(kind)
        parts.append(f"## `{pattern}`\n\n{_without_file(json_schema['description'])}\n")
        parts += _keys(json_schema, file_type)
        parts += _group_sections(json_schema, file_type, described)
    parts.append("## `settings:` of each adapter\n")
    for name, adapter in sorted(ADAPTERS.items()):
        json_schema = schema_of(adapter.settings)
        keys = list(_keys(json_schema, adapter.settings)) or ["No settings.\n"]
        parts += [f"### `{name}`\n", *keys]
        parts += _group_sections(json_schema, adapter.settings, described)
    return "\n".join(parts)


def _without_file(description: str) -> str:
    """Return a description without the file name at its beginning."""
    text = description.partition("`: ")[2]
    return f"{text[:1].upper()}{text[1:]}"


def _group_sections(json_schema: Mapping[str, Any], kind: type[BaseModel], described: set[str]) -> Iterator[str]:
    """Yield a section for each group of keys that a schema uses, in the order of use.

    Groups in `described` have a section already. This function adds those that it describes.
    """
    types = {subclass.__name__: subclass for subclass in _groups(StrictModel)}
    schemas = dict(json_schema.get("$defs", {}))
    queue = list(_group_names(json_schema, kind))
    while queue:
        name = queue.pop(0)
        if name in described:
            continue
        described.add(name)
        group = schemas.get(name) or schema_of(types[name])
        schemas = dict(group.get("$defs", {})) | schemas
        tags = "".join(
            f"`{key}: {tag['const']}`. " for key, tag in group.get("properties", {}).items() if "const" in tag
        )
        yield f"### {name}\n\n{tags}{group['description']}\n"
        if name in types:
            yield from _keys(group, types[name])
            queue = [*_group_names(group, types[name]), *queue]


def _group_names(json_schema: Mapping[str, Any], kind: type[BaseModel]) -> Iterator[str]:
    """Yield the groups that the keys of a group refer to, then the group with its shared keys."""
    shared = _shared_group(kind)
    shared_keys = _shared_keys(json_schema, shared)
    for key, subschema in json_schema.get("properties", {}).items():
        if key not in shared_keys:
            yield from re.findall(r"#/\$defs/(\w+)", json.dumps(subschema))
    if "patternProperties" in json_schema:
        yield from re.findall(r"#/\$defs/(\w+)", json.dumps(json_schema["patternProperties"]))
    if shared:
        yield shared.__name__


def _shared_group(kind: type[BaseModel]) -> type[BaseModel] | None:
    """Return the nearest base class with several keys, which the page describes once; None if there is none."""
    return next((base for base in kind.__mro__[1:] if issubclass(base, Settings) and len(base.model_fields) > 1), None)


def _shared_keys(json_schema: Mapping[str, Any], shared: type[BaseModel] | None) -> set[str]:
    """Return the keys of a group that do not differ from those of a base class."""
    if shared is None:
        return set()
    base = schema_of(shared)
    return {
        key
        for key, subschema in base["properties"].items()
        if json_schema["properties"].get(key) == subschema
        and (key in base.get("required", ())) == (key in json_schema.get("required", ()))
    }


def _keys(json_schema: Mapping[str, Any], kind: type[BaseModel]) -> Iterator[str]:
    """Yield a list of the keys of a group, without tags and without keys that its shared group describes."""
    if "properties" not in json_schema:
        if "patternProperties" in json_schema:
            yield f"Each entry is {_kind(json_schema)}.\n"
        return
    shared = _shared_group(kind)
    if shared:
        yield f"Also the keys of [{shared.__name__}](#{shared.__name__.lower()}).\n"
    hidden_keys = _shared_keys(json_schema, shared)
    lines = []
    for key, subschema in json_schema["properties"].items():
        if key in hidden_keys or "const" in subschema:
            continue
        default = "" if key in json_schema.get("required", ()) else _default(subschema)
        values = "" if _is_kind_obvious(subschema) else f" ({_kind(subschema)})"
        lines.append(f"- `{key}`{default}{values}. {_link_pages(subschema['description'])}")
    if lines:
        yield "\n".join(lines) + "\n"


def _link_pages(description: str) -> str:
    """Turn the paths of pages in a description into links from the reference."""

    def link(match: re.Match[str]) -> str:
        page = match[1].removeprefix("reference/") if match[1].startswith("reference/") else f"../{match[1]}"
        return f"[{Path(match[1]).stem}]({page})"

    return re.sub(r"docs/([\w/-]+\.md)", link, description)


def _is_kind_obvious(subschema: Mapping[str, Any]) -> bool:
    """Return whether a key takes text, or values of the kind that its default shows."""
    kind = _kind(subschema)
    is_number = isinstance(subschema.get("default"), int | float)
    return kind in ("text", "boolean") or (kind in ("integer", "number") and is_number)


def _default(subschema: Mapping[str, Any]) -> str:
    """Return the default of a key as it follows the key; a group of keys has the defaults of its own keys."""
    default = {} if "$ref" in subschema else subschema.get("default")
    if default and default == subschema.get("items", {}).get("enum"):
        return ": all"
    return f": `{json.dumps(default, ensure_ascii=False)}`"


def _kind(subschema: Mapping[str, Any]) -> str:
    """Describe the values that a key can have."""
    if "$ref" in subschema:
        name = str(subschema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in subschema:
        return f"`{subschema['const']}`"
    if "enum" in subschema:
        return ", ".join(f"`{value}`" for value in subschema["enum"])
    choices = [choice for choice in subschema.get("anyOf", subschema.get("oneOf", ())) if choice.get("type") != "null"]
    if choices and all("rule" in choice.get("properties", {}) for choice in choices):
        return "[a sampling rule](samplings.md#rules)"
    if choices:
        return " or ".join(_kind(choice) for choice in choices)
    if "patternProperties" in subschema:
        return f"`<name>:` {_kind(next(iter(subschema['patternProperties'].values())))}"
    if isinstance(subschema.get("additionalProperties"), dict):
        return f"`<text>:` {_kind(subschema['additionalProperties'])}"
    if subschema.get("type") == "array":
        return f"list of {_kind(subschema['items'])}"
    if subschema.get("type") == "string":
        return _text(subschema)
    kind_by_type = {"integer": "integer", "number": "number", "boolean": "boolean", "object": "keys"}
    return kind_by_type[subschema["type"]] + _range(subschema)


def _text(subschema: Mapping[str, Any]) -> str:
    """Describe the texts that a key can have, by their pattern."""
    pattern = subschema.get("pattern")
    kind_by_pattern: dict[str | None, str] = {
        None: "text",
        names.NAME: "name",
        names.NAME.strip("^$"): "name",
        names.RUN: "run",
        names.REVISION: "commit or `unpinned`",
    }
    return kind_by_pattern.get(pattern, f"text like `{pattern}`")


def _range(subschema: Mapping[str, Any]) -> str:
    """Return the bounds of a number, without lower bounds of 0 and 1 alone, which follow from the meaning."""
    low = subschema.get("minimum", subschema.get("exclusiveMinimum"))
    high = subschema.get("maximum", subschema.get("exclusiveMaximum"))
    if high is None:
        return "" if low in (None, 0, 1) else f" ≥ {low:g}"
    return f" {low:g} to {high:g}"


@cache
def generated() -> dict[str, str]:
    """Return the content of every generated file by path."""
    pages = {
        REFERENCE: reference(),
        write_rows.PAGE: write_rows.page(ROOT),
        write_samplings.PAGE: write_samplings.page(ROOT),
        write_commands.PAGE: write_commands.page(),
        write_extraction.PAGE: write_extraction.page(ROOT),
    }
    return schema_files() | pages


def write(root: Path) -> None:
    """Write the files that differ, and print their names."""
    for name, content in generated().items():
        path = root / name
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            write_text(path, content)
            print(name)


if __name__ == "__main__":
    write(ROOT)
