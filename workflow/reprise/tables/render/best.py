"""Mark the best and the second best number of each section."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from reprise.tables.render.table import Cell, Number, Section, State, Table, TableRow

MEASURED_HERE: tuple[State, ...] = ("reproduced", "imported")


def mark_best(
    table: Table,
    columns: Iterable[int],
    higher_is_better: bool = True,
    *,
    part: int = 0,
    states: Collection[State] = MEASURED_HERE,
) -> Table:
    """A copy with the best and second best number of these columns marked, section by section.

    `part` says which number of a cell competes. Printed values compete, so that equal print means equal marks and
    ties are all marked. Rows of reference and numbers of another state do not compete; one row alone has no best.
    """
    for column in columns:
        sections = [mark_section(section, column, part, higher_is_better, states) for section in table.sections]
        table = replace(table, sections=tuple(sections))
    return table


def mark_section(
    section: Section, column: int, part: int, higher_is_better: bool, states: Collection[State]
) -> Section:
    """A copy of the section with one number of one column marked."""
    competing = [competing_value(row, column, part, states) for row in section.rows]
    values = [value for value in competing if value is not None]
    ranking = sorted(set(values), reverse=higher_is_better) if len(values) > 1 else []
    rows = [
        row if value is None else mark_row(row, column, part, best=value in ranking[:1], second=value in ranking[1:2])
        for row, value in zip(section.rows, competing, strict=True)
    ]
    return replace(section, rows=tuple(rows))


def competing_value(row: TableRow, column: int, part: int, states: Collection[State]) -> float | None:
    """The printed value that takes part, or None."""
    number = number_at(row, column, part)
    if number is None or number.value is None or row.reference or number.state not in states:
        return None
    return round(number.value, number.decimals)


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
