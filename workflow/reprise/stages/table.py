"""Stage `tables`: write one table in every format."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.checksums import seal_text
from reprise.core.errors import run_command
from reprise.core.files import whole_file, write_text
from reprise.core.keyfile import read_key
from reprise.core.paths import Results
from reprise.core.plain import as_cell
from reprise.stages.arguments import arguments
from reprise.tables.build import TIDY, Builder
from reprise.tables.keys import TableKey
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.published import Published
from reprise.tables.render import FORMATS, render
from reprise.tables.render.table import Table


def main() -> None:
    args = arguments(
        "Write a table.", key=Path, published=[Path], metrics=[Path], statistics=[Path], problems=[Path], out=Path
    )
    key = read_key(args.key, TableKey)
    builder = Builder(
        key=key,
        metrics=read_metrics([*args.metrics, *args.statistics]),
        published=Published(next(iter(args.published), None), key.table),
        problems=read_problems(args.problems, Results(key.suite)),
    )
    write_formats(builder.table(), builder.tidy, args.out)


def write_formats(table: Table, tidy: Sequence[Mapping[str, Any]], out: Path) -> None:
    """The table in every format, and its tidy rows beside it."""
    for form in FORMATS:
        write_text(out.with_suffix(f".{form}"), render(table, form))
    shown = pl.col(pl.String).map_elements(as_cell, return_dtype=pl.String)
    with whole_file(out.with_suffix(".csv")) as temporary:
        pl.DataFrame(tidy, schema=TIDY).with_columns(shown).write_csv(temporary)
    for form in (*FORMATS, "csv"):
        seal_text(out.with_suffix(f".{form}"))


if __name__ == "__main__":
    run_command(main)
