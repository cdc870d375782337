"""The JSON Schemas and the reference are those of the types, and every file of the configuration fits them."""

import json
import os
from pathlib import Path

import pytest
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
    assert is_same, f"{name} is not what the types say. Run: make reference"


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
    place = os.path.relpath(ROOT / FOLDER / f"{kind}.schema.json", (ROOT / path).parent)
    first = (ROOT / path).read_text().partition("\n")[0]
    assert first == f"# yaml-language-server: $schema={place}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described(kind: str) -> None:
    schema = json.loads((ROOT / FOLDER / f"{kind}.schema.json").read_text())
    for group in (one for one in (schema, *schema.get("$defs", {}).values()) if "properties" in one):
        assert group["description"]
        assert [key for key, one in group["properties"].items() if not one.get("description")] == []
