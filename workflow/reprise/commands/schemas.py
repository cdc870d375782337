"""`schemas`: write what is made from the types of the configuration: JSON Schemas, editor settings, the reference."""

from pathlib import Path

from reprise.config.json_schemas import schema_files
from reprise.config.reference import FILE, reference
from reprise.core.files import write_if_changed


def generated() -> dict[str, str]:
    """Every generated file: path -> content."""
    return schema_files() | {FILE: reference()}


def write_schemas(root: Path) -> None:
    """Write the files that differ."""
    for name, content in generated().items():
        if write_if_changed(root / name, content):
            print(name)
