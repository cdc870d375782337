"""Finds the modules of a benchmark's construction: a folder beside this file with one module a step."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from reprise.construction.filters import Row
from reprise.core.schemas import read_table, table_of, write_table

STEPS = ("candidates", "requests", "samples", "review", "release", "statistics")
"""in the order of the chain; between `requests` and `samples` the writer is asked, once a round"""


def module_name(kind: str, step: str) -> str:
    """Import string of a step; its digest is in the key of the step's job."""
    return f"reprise.construction.{kind}.{step}"


def load_step(kind: str, step: str) -> Any:
    """The module of a step."""
    return import_module(module_name(kind, step))


def read_tables(kind: str, paths: Iterable[Path]) -> dict[str, pl.DataFrame]:
    """Tables of a construction by their names, which are those of their files."""
    schemas = import_module(f"reprise.construction.{kind}.tables").SCHEMAS
    return {path.stem: read_table(path, schemas[path.stem]) for path in paths}


def write_tables(
    kind: str, found: Mapping[str, list[Row]], paths: Iterable[Path], made_under: Mapping[str, str]
) -> dict[str, pl.DataFrame]:
    """Write each table to the file of its name."""
    schemas = import_module(f"reprise.construction.{kind}.tables").SCHEMAS
    tables = {path: table_of(found[path.stem], schemas[path.stem]) for path in paths}
    for path, table in tables.items():
        write_table(table, path, schemas[path.stem], made_under)
    return {path.stem: table for path, table in tables.items()}
