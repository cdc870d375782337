"""Stage `reproduction`: verdicts on the numbers that a paper prints too, from the csvs of all tables."""

from pathlib import Path

import polars as pl

from reprise.core.checksums import seal_text, sealed_text
from reprise.core.errors import run_command
from reprise.core.files import whole_file, write_text
from reprise.core.keyfile import read_key
from reprise.core.plain import as_cell, of_cell
from reprise.stages.arguments import arguments
from reprise.tables.build import TIDY
from reprise.tables.keys import ReproductionKey
from reprise.tables.render import collect, render
from reprise.tables.reproduction import Reproduction

TITLE = "Reproduction"
TEXT = pl.col(pl.String)


def main() -> None:
    args = arguments("Write the verdicts on reproduced numbers.", key=Path, tables=[Path], out=Path)
    found = Reproduction(read_key(args.key, ReproductionKey), read_tidy(args.tables))
    tables = found.tables()
    for form in ("md", "html"):
        write_text(args.out.with_suffix(f".{form}"), collect(TITLE, [render(table, form) for table in tables], form))
    with whole_file(args.out.with_suffix(".csv")) as temporary:
        found.rows().with_columns(TEXT.map_elements(as_cell, return_dtype=pl.String)).write_csv(temporary)
    seal_text(args.out.with_suffix(".csv"))


def read_tidy(paths: list[Path]) -> pl.DataFrame:
    """The rows of all tables, as they were before they were written for people."""
    parts = [pl.read_csv(sealed_text(path), schema=TIDY) for path in paths]
    rows = pl.concat(parts) if parts else pl.DataFrame(schema=TIDY)
    return rows.with_columns(TEXT.map_elements(of_cell, return_dtype=pl.String))


if __name__ == "__main__":
    run_command(main)
