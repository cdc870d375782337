"""JSON Schemas of the configuration's files, made from the types that read them: editors complete and check by them."""

import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from reprise.config.benchmark import Benchmark
from reprise.config.main import Main
from reprise.config.model import External, Model
from reprise.config.suite import Suite
from reprise.config.tables import Tables

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
    made = KINDS[kind][0].model_json_schema()
    return {"$schema": GenerateJsonSchema.schema_dialect, **plain(made)}


def plain(part: Any) -> Any:
    """A schema without titles that only repeat keys, and without the line breaks of docstrings; names are checked."""
    if isinstance(part, list):
        return [plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = {key: value for key, value in part.items() if key != "title" or not isinstance(value, str)}
    if isinstance(kept.get("description"), str):
        kept["description"] = " ".join(kept["description"].split())
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    return {key: plain(value) for key, value in kept.items()}


def schema_files() -> dict[str, str]:
    """Every schema, and the settings by which an editor finds them: path -> content."""
    files = {
        f"{FOLDER}/{kind}.schema.json": json.dumps(schema(kind), indent=1, ensure_ascii=False) + "\n" for kind in KINDS
    }
    globs = {f"./{FOLDER}/{kind}.schema.json": pattern for kind, (_, pattern) in KINDS.items()}
    return files | {".vscode/settings.json": json.dumps({"yaml.schemas": globs}, indent=2) + "\n"}
