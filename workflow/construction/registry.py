"""The steps of a construction, each a function in the benchmark's folder, and the tables they exchange."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
from reprise.benchmarks.annotations import group_by_key
from reprise.core.schemas import RESPONSES, build_table, read_table, write_table

from construction.filters import Row
from construction.tables import SCHEMAS

MEASURED_BENCHMARKS = ("temporalbench",)
"""Benchmarks that filter clips by measured metadata. Their step `clips` lists the clips to fetch and measure."""
MODULE_BY_STEP = {
    **dict.fromkeys(("clips", "candidates", "guidelines", "requests", "samples"), "making"),
    **dict.fromkeys(("review", "static", "release", "statistics"), "review"),
}
"""Step -> the module that defines it as a function, in the order of the steps. The writers reply once per round,
between `requests` and `samples`."""


def load_step(kind: str, step: str) -> Any:
    """Return the function of a step; `kind` is the benchmark that is constructed, such as `velociti`."""
    return getattr(import_module(f"construction.{kind}.{MODULE_BY_STEP[step]}"), step)


def read_tables(kind: str, paths: Iterable[Path]) -> dict[str, pl.DataFrame]:
    """Return name -> table for files named `<table>.parquet`."""
    return {path.stem: read_table(path, SCHEMAS[kind][path.stem]) for path in paths}


def read_replies(paths: Iterable[Path]) -> list[pl.DataFrame]:
    """Read the replies of each round from `replies/<writer>/<round>.parquet`, with a column that names the writer."""
    rounds = group_by_key(paths, lambda path: int(path.stem))
    return [
        pl.concat(read_table(path, RESPONSES).with_columns(writer=pl.lit(path.parent.name)) for path in rounds[number])
        for number in sorted(rounds)
    ]


def write_tables(kind: str, rows: Mapping[str, list[Row]], paths: Iterable[Path]) -> dict[str, pl.DataFrame]:
    """Write the rows of each table to the path with the table's name, and return the tables by name."""
    schemas = SCHEMAS[kind]
    tables = {path: build_table(rows[path.stem], schemas[path.stem]) for path in paths}
    for path, table in tables.items():
        write_table(table, path, schemas[path.stem])
    return {path.stem: table for path, table in tables.items()}
