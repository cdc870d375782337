"""Mark the best and the second best number of each section."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from reprise.tables.render.table import Cell, Number, Section, Table, TableRow

Better = Literal["highest", "lowest", "nearest_zero"]


def mark_best(table: Table, columns: Iterable[int], better: Better = "highest", *, part: int = 0) -> Table:
    """A copy with the best and second best number of these columns marked, section by section.

    `part` says which number of a cell competes. Printed values compete, published ones too, so that what is called the
    best of its rows is; equal print means equal marks. Rows of reference, incomplete and grey numbers do not compete.
    """
    for column in columns:
        sections = [mark_section(one, column, part, better) if one.is_marked else one for one in table.sections]
        table = replace(table, sections=tuple(sections))
    return table


def mark_section(section: Section, column: int, part: int, better: Better) -> Section:
    """A copy of the section with one number of one column marked.

    A number is marked only if another one is worse: the last of a ranking is neither best nor second best.
    """
    competing = [competing_value(row, column, part, better) for row in section.rows]
    ranking = sorted({value for value in competing if value is not None}, reverse=better == "highest")
    marked = {value: rank for rank, value in enumerate(ranking[:-1]) if is_mark_worthy(value, better)}
    rows = [
        row
        if value is None
        else mark_row(row, column, part, best=marked.get(value) == 0, second=marked.get(value) == 1)
        for row, value in zip(section.rows, competing, strict=True)
    ]
    return replace(section, rows=tuple(rows))


def is_mark_worthy(value: float, better: Better) -> bool:
    """Whether a value that leads is an achievement: no score of zero is."""
    return better != "highest" or value != 0


def competing_value(row: TableRow, column: int, part: int, better: Better) -> float | None:
    """The printed value that takes part, or None; of a bias how far it is from zero."""
    number = number_at(row, column, part)
    if number is None or number.value is None or row.reference or number.greyed or number.state == "incomplete":
        return None
    value = round(number.value, number.decimals)
    return abs(value) if better == "nearest_zero" else value


def number_at(row: TableRow, column: int, part: int) -> Number | None:
    """A cell's number, or None where the cell has fewer."""
    cell = row.cells[column]
    return cell.numbers[part] if isinstance(cell, Cell) and part < len(cell.numbers) else None


def mark_row(row: TableRow, column: int, part: int, *, best: bool, second: bool) -> TableRow:
    """A copy of the row with one number's marks set."""
    cell = row.cells[column]
    if not isinstance(cell, Cell):
        return row
    marked = replace(cell.numbers[part], best=best, second=second)
    numbers = (*cell.numbers[:part], marked, *cell.numbers[part + 1 :])
    return replace(row, cells=(*row.cells[:column], replace(cell, numbers=numbers), *row.cells[column + 1 :]))
