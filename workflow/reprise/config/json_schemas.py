"""JSON Schemas of the configuration's files, made from the types that read them: editors complete and check by them."""

import ast
import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from reprise.config.benchmark import Benchmark
from reprise.config.main import Main
from reprise.config.model import External, Model
from reprise.config.suite import Suite
from reprise.config.tables import Tables
from reprise.core.settings import InWords, Settings
from reprise.models.adapters import ADAPTERS

FOLDER = "config/schemas"
# Kind of file -> its type, and a glob pattern of such files.
KINDS: dict[str, tuple[type[BaseModel], str]] = {
    "config": (Main, "config/config.yaml"),
    "suite": (Suite, "config/suites/*.yaml"),
    "model": (Model, "config/models/*.yaml"),
    "external": (External, "config/external.yaml"),
    "benchmark": (Benchmark, "config/benchmarks/*.yaml"),
    "tables": (Tables, "config/tables/**/*.yaml"),
}


def schema(kind: str) -> dict[str, Any]:
    """The schema of one kind of file."""
    made = schema_of(KINDS[kind][0])
    if kind == "model":
        made["properties"]["adapter"]["enum"] = sorted(ADAPTERS)
        made["allOf"] = [_settings_of(name) for name in sorted(ADAPTERS)]
    return {"$schema": GenerateJsonSchema.schema_dialect, **made}


def _settings_of(adapter: str) -> dict[str, Any]:
    """The settings of a model that names this adapter."""
    return {
        "if": {"properties": {"adapter": {"const": adapter}}},
        "then": {"properties": {"settings": schema_of(ADAPTERS[adapter].settings)}},
    }


def schema_of(kind: type[BaseModel]) -> dict[str, Any]:
    """The schema of a type, with the descriptions of all keys."""
    made = kind.model_json_schema()
    groups = {one.__name__: one for one in _groups(InWords)}
    for name, group in {kind.__name__: made, **made.get("$defs", {})}.items():
        for key, text in _descriptions(groups[name]).items() if name in groups else ():
            group["properties"][key]["description"] = text
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
