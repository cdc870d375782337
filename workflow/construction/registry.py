"""The steps of a construction, each a function of a module in the benchmark's folder, and the tables between them."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
from reprise.benchmarks.rows import grouped
from reprise.core.schemas import RESPONSES, read_table, table_of, write_table

from construction.filters import Row
from construction.tables import SCHEMAS

MEASURED = ("temporalbench",)
"""benchmarks that drop clips by what is measured in them: their step `clips` says which are fetched first"""
MODULES = {
    **dict.fromkeys(("clips", "candidates", "guidelines", "requests", "samples"), "making"),
    **dict.fromkeys(("review", "static", "release", "statistics"), "review"),
}
"""step -> its module, in the order of the chain; the step is a function there. Between `requests` and `samples` the
writers are asked, once a round"""


def load_step(kind: str, step: str) -> Any:
    return getattr(import_module(f"construction.{kind}.{MODULES[step]}"), step)


def read_tables(kind: str, paths: Iterable[Path]) -> dict[str, pl.DataFrame]:
    return {path.stem: read_table(path, SCHEMAS[kind][path.stem]) for path in paths}


def read_replies(paths: Iterable[Path]) -> list[pl.DataFrame]:
    """The replies of each round, `replies/<writer>/<round>.parquet`, with the name of the writer beside each."""
    rounds = grouped(paths, lambda path: int(path.stem))
    return [
        pl.concat(read_table(path, RESPONSES).with_columns(writer=pl.lit(path.parent.name)) for path in rounds[number])
        for number in sorted(rounds)
    ]


def write_tables(kind: str, found: Mapping[str, list[Row]], paths: Iterable[Path]) -> dict[str, pl.DataFrame]:
    schemas = SCHEMAS[kind]
    tables = {path: table_of(found[path.stem], schemas[path.stem]) for path in paths}
    for path, table in tables.items():
        write_table(table, path, schemas[path.stem])
    return {path.stem: table for path, table in tables.items()}
