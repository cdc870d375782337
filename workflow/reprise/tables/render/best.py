"""Mark the best and the second best number of each section."""

from dataclasses import replace
from typing import Literal

from reprise.tables.render.table import Cell, Number, Section, Table, TableRow

Better = Literal["highest", "lowest", "nearest_zero"]


def mark_best(table: Table, column: int, better: Better = "highest") -> Table:
    """A copy with the best and second best number of a column marked, section by section.

    Printed values compete, published ones too, so that what is called the best of its rows is; equal print means equal
    marks. Rows of reference, incomplete and grey numbers do not compete; of several numbers in a cell the first does.
    """
    return replace(table, sections=tuple(_marked(section, column, better) for section in table.sections))


def _marked(section: Section, column: int, better: Better) -> Section:
    """A number is marked only if another one is worse: the last of a ranking is neither best nor second best."""
    if not section.is_marked:
        return section
    competing = [_competing_value(row, column, better) for row in section.rows]
    ranking = sorted({value for value in competing if value is not None}, reverse=better == "highest")
    best, second, *_ = [*ranking[:-1], None, None]
    rows = []
    for row, value in zip(section.rows, competing, strict=True):
        cell = row.cells[column]
        # A score of zero that leads is no achievement.
        if isinstance(cell, Cell) and value is not None and value in (best, second) and (value or better != "highest"):
            first, *others = cell.numbers
            marked = replace(first, best=value == best, second=value == second)
            cells = (*row.cells[:column], Cell((marked, *others)), *row.cells[column + 1 :])
            rows.append(replace(row, cells=cells))
        else:
            rows.append(row)
    return replace(section, rows=tuple(rows))


def _competing_value(row: TableRow, column: int, better: Better) -> float | None:
    """The printed value that takes part, or None; of a bias how far it is from zero."""
    cell = row.cells[column]
    number = cell.numbers[0] if isinstance(cell, Cell) and cell.numbers else Number(None)
    if number.value is None or row.reference or number.greyed or number.state == "incomplete":
        return None
    value = round(number.value, number.decimals)
    return abs(value) if better == "nearest_zero" else value
