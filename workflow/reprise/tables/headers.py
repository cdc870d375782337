"""Headers of a table: of its row labels and of its columns."""

from collections.abc import Sequence
from itertools import groupby

from reprise.config.tables import Column, Row
from reprise.tables.render import table as rendered


def stub_of(rows: Sequence[Row]) -> str:
    """What rows are, where their table does not say."""
    if all(row.dataset for row in rows):
        return "Data set"
    return "Judge" if all(row.judges for row in rows) else "Model"


def column_name(column: Column) -> str:
    """A column's name outside its spanning header."""
    return f"{column.span} {column.title}" if column.span else column.title


def column_groups(columns: Sequence[Column]) -> tuple[rendered.ColumnGroup, ...]:
    """Neighbours under one spanning header together."""
    return tuple(
        rendered.ColumnGroup(tuple(rendered.Column(column.title) for column in members), span or "")
        for span, members in ((span, list(group)) for span, group in groupby(columns, key=lambda c: c.span))
    )
