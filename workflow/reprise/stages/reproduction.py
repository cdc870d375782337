"""Stage `reproduction`: compare measured with published numbers, from the CSV files of all tables."""

from pathlib import Path

import polars as pl

from reprise.core.files import verify_sealed_text, write_sealed_text
from reprise.core.paths import Results
from reprise.core.plain import unescape_cell
from reprise.core.tabular import write_csv
from reprise.stages.command import In, Out
from reprise.tables.builder import TIDY_SCHEMA
from reprise.tables.keys import ReproductionKey
from reprise.tables.measurements import read_problems
from reprise.tables.render import combine_tables, render
from reprise.tables.reproduction import Reproduction


def main(settings: ReproductionKey, tables: In[list[Path]], problems: In[list[Path]], md: Out[Path]) -> None:
    rows = pl.concat(
        [
            pl.DataFrame(schema=TIDY_SCHEMA),
            *(pl.read_csv(verify_sealed_text(path), schema=TIDY_SCHEMA) for path in tables),
        ]
    )
    reproduction = Reproduction(
        settings,
        rows.with_columns(pl.col(pl.String).map_elements(unescape_cell, return_dtype=pl.String)),
        read_problems(problems, Results(settings.suite)),
    )
    built_tables = reproduction.build_tables()
    for form in ("md", "html"):
        write_sealed_text(
            md.with_suffix(f".{form}"),
            combine_tables("Reproduction", [render(table, form) for table in built_tables], form),
        )
    write_csv(reproduction.to_frame(), md.with_suffix(".csv"))
