"""Write what is made from code: JSON Schemas, editor settings, and the references of all keys and of all commands.

Run by `make reference`; a test fails if a file is out of date.
"""

import ast
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import write_commands
import write_readers
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
from reprise.core.settings import InWords, Settings
from reprise.models.adapters import ADAPTERS
from reprise.models.remote.serving.settings import NEEDS_NO_MORE

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

Written by `make reference` from the types that read the files: to change this page, change those
(`workflow/reprise/config/`). How the parts go together: [suites](suites.md), [models](models.md),
[protocols](protocols.md), [samplings](samplings.md), [tables](tables.md).

A key without a default is required. An unknown key, name or value is an error that says what is allowed; all problems
are reported at once, before anything runs. Names (of suites, models, benchmarks, protocols, samplings) are lower-case
letters, digits, `.`, `_` and `-`, first a letter or a digit: they stand in paths and commands. An editor with a YAML
language server completes and checks the files by the schemas in `config/schemas/`: the first line of a file names its
schema.
"""


def schema(kind: str) -> dict[str, Any]:
    """The schema of one kind of file."""
    made = schema_of(KINDS[kind][0])
    if kind == "model":
        made["properties"]["adapter"]["enum"] = sorted(ADAPTERS)
        made["properties"]["served_by"]["anyOf"].insert(0, {"enum": list(NEEDS_NO_MORE)})
        made["allOf"] = [_settings_of(name) for name in sorted(ADAPTERS)]
        for one in made["allOf"]:  # a reference is read from the root
            made["$defs"] |= one["then"]["properties"]["settings"].pop("$defs", {})
    return {"$schema": GenerateJsonSchema.schema_dialect, **made}


def _settings_of(adapter: str) -> dict[str, Any]:
    """The settings of a model that names this adapter; a job that starts its server says what else is required."""
    settings = schema_of(ADAPTERS[adapter].settings)
    then: dict[str, Any] = {"properties": {"settings": settings}}
    if ADAPTERS[adapter].is_hosted:
        required = {"properties": {"settings": {"required": settings.pop("required")}}}
        then |= {"if": {"not": {"required": ["served_by"]}}, "then": required}
    return {"if": {"properties": {"adapter": {"const": adapter}}}, "then": then}


def schema_of(kind: type[BaseModel]) -> dict[str, Any]:
    """The schema of a type, with the descriptions of all keys."""
    made = kind.model_json_schema()
    groups = {one.__name__: one for one in _groups(InWords)}
    for name, group in {kind.__name__: made, **made.get("$defs", {})}.items():
        for key, text in _descriptions(groups[name]).items() if name in groups else ():
            group["properties"][key]["description"] = text
        kind_key = group.get("properties", {}).get("kind", {})
        if "const" in kind_key:  # one of several kinds: its key is described as the group is
            kind_key.setdefault("description", f"`{kind_key['const']}`: {group['description']}")
    return dict(_plain(made))


def _groups(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A type and all that derive from it."""
    yield kind
    for one in kind.__subclasses__():
        yield from _groups(one)


def _descriptions(kind: type[BaseModel]) -> dict[str, str]:
    """Key -> the string below it in the source of its type, or of those that it derives from."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if one in (InWords, Settings) or not issubclass(one, InWords):
            continue
        definition = ast.parse(dedent(inspect.getsource(one))).body[0]
        for field, text in pairwise(definition.body if isinstance(definition, ast.ClassDef) else ()):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(words))):
                    found[key] = words
    return {key: words for key, words in found.items() if key in kind.model_fields}


def _plain(part: Any) -> Any:
    """A schema without titles that only repeat keys, and without the line breaks of docstrings; names are checked."""
    if isinstance(part, list):
        return [_plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = {key: value for key, value in part.items() if key != "title" or not isinstance(value, str)}
    if isinstance(kept.get("description"), str):
        kept["description"] = " ".join(kept["description"].split())
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    return {key: _plain(value) for key, value in kept.items()}


def schema_files() -> dict[str, str]:
    """Every schema, and the settings by which an editor finds them: path -> content."""
    files = {
        f"{FOLDER}/{kind}.schema.json": json.dumps(schema(kind), indent=1, ensure_ascii=False) + "\n" for kind in KINDS
    }
    globs = {f"./{FOLDER}/{kind}.schema.json": pattern for kind, (_, pattern) in KINDS.items()}
    return files | {".vscode/settings.json": json.dumps({"yaml.schemas": globs}, indent=2) + "\n"}


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
        return "[a sampling rule](samplings.md#rules)"
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
    bounds = [f"{words} {one[key]:g}" for key, words in limits.items() if key in one]
    return f", {' and '.join(bounds)}" if bounds else ""


def _adapters() -> Iterator[str]:
    yield "## `settings:` of each adapter\n"
    for name, adapter in sorted(ADAPTERS.items()):
        made = schema_of(adapter.settings)
        yield f"### `{name}`\n"
        yield from _keys(made) if made.get("properties") else ["No settings.\n"]


@cache
def generated() -> dict[str, str]:
    """Every generated file: path -> content."""
    pages = {
        REFERENCE: reference(),
        write_rows.PAGE: write_rows.page(ROOT),
        write_samplings.PAGE: write_samplings.page(ROOT),
        write_commands.PAGE: write_commands.page(),
        write_readers.PAGE: write_readers.page(ROOT),
    }
    return schema_files() | pages


def write(root: Path) -> None:
    """Write the files that differ, and name them."""
    for name, content in generated().items():
        path = root / name
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            write_text(path, content)
            print(name)


if __name__ == "__main__":
    write(ROOT)
