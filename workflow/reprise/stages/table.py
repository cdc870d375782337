"""Stage `table`: write one table in every format."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.files import write_sealed_text
from reprise.core.paths import Results
from reprise.core.tabular import write_csv
from reprise.stages.command import In, Out
from reprise.tables.builder import TIDY_SCHEMA, TableBuilder
from reprise.tables.keys import TableKey
from reprise.tables.measurements import read_metrics, read_problems
from reprise.tables.published import PublishedTable
from reprise.tables.render import FORMATS, render
from reprise.tables.render.table import Table


def main(
    settings: TableKey,
    published_values: In[list[Path]],
    metrics: In[list[Path]],
    statistics: In[list[Path]],
    problems: In[list[Path]],
    tex: Out[Path],
) -> None:
    builder = TableBuilder(
        key=settings,
        metrics=read_metrics([*metrics, *statistics]),
        published=PublishedTable(next(iter(published_values), None), settings.table),
        problems=read_problems(problems, Results(settings.suite)),
    )
    write_formats(builder.build(), builder.tidy_rows, tex)


def write_formats(table: Table, tidy: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Write a table in every format, and its tidy rows as CSV."""
    for form in FORMATS:
        write_sealed_text(out.with_suffix(f".{form}"), render(table, form))
    write_csv(pl.DataFrame(tidy, schema=TIDY_SCHEMA), out.with_suffix(".csv"))
