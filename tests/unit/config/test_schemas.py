"""Test that JSON Schemas and reference match the types, and that every configuration file fits its schema."""

import json
import os
from pathlib import Path

import pytest
import write_commands
from jsonschema import Draft202012Validator
from reprise.core.yaml_files import load_yaml
from write_reference import FOLDER, KINDS, generated

from tests.unit.config.conftest import ROOT

FILES = [(kind, path.relative_to(ROOT)) for kind, (_, pattern) in KINDS.items() for path in sorted(ROOT.glob(pattern))]
NAMES = [str(path) for _, path in FILES]


@pytest.mark.parametrize("name", generated())
def test_generated_files_are_committed(name: str) -> None:
    path = ROOT / name
    is_same = path.is_file() and path.read_text() == generated()[name]
    assert is_same, f"{name} differs from the types. Run: make reference"


def test_an_empty_default_is_not_described() -> None:
    assert not [line for line in write_commands.page().splitlines() if "; by default" in " ".join(line.split())]


def test_every_file_of_the_configuration_has_a_kind() -> None:
    assert {str(path.relative_to(ROOT)) for path in ROOT.glob("config/**/*.yaml")} == set(NAMES)


@pytest.mark.parametrize(("kind", "path"), FILES, ids=NAMES)
def test_a_file_fits_its_schema_and_names_it(kind: str, path: Path) -> None:
    schema = json.loads((ROOT / FOLDER / f"{kind}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    errors = [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(schema).iter_errors(load_yaml(ROOT / path))
    ]
    assert errors == []
    schema_path = os.path.relpath(ROOT / FOLDER / f"{kind}.schema.json", (ROOT / path).parent)
    first_line = (ROOT / path).read_text().partition("\n")[0]
    assert first_line == f"# yaml-language-server: $schema={schema_path}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described(kind: str) -> None:
    schema = json.loads((ROOT / FOLDER / f"{kind}.schema.json").read_text())
    for group in (schema, *schema.get("$defs", {}).values()):
        if "properties" in group:
            assert group["description"]
            undescribed = [key for key, value in group["properties"].items() if not value.get("description")]
            assert undescribed == []
