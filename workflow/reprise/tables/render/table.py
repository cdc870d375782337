"""Define the content of a table, independent of the format: numbers with marks, sections of rows, groups of columns."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Literal

from reprise.benchmarks.annotations import group_by_key
from reprise.core.notation import format_difference, format_value, round_value

State = Literal["reproduced", "imported", "incomplete", "published", "not run", "lost"]
BestRule = Literal["highest", "lowest", "nearest_zero"]


@dataclass(frozen=True)
class TableNumber:
    """One number of a cell, unrounded, with its marks, notes and comparison."""

    value: float | None  # None prints an en dash
    decimals: int = 1
    signed: bool = False
    state: State = "reproduced"  # source of the value, or the reason why there is none
    is_best: bool = False
    is_second_best: bool = False
    is_significant: bool = False
    is_greyed: bool = False  # printed in grey, because the sampling has too few frames for the metric
    published: float | None = None  # the paper's number, for a comparison with the value
    notes: tuple[str, ...] = ()  # texts of footnotes; equal texts share one letter
    interval: tuple[float, float] | None = None
    link: str = ""  # address of the number's items, for HTML


@dataclass(frozen=True)
class Cell:
    """One or several numbers printed together, as in `83.0 / 98.3`; a cell without numbers is blank."""

    numbers: tuple[TableNumber, ...] = ()


@dataclass(frozen=True)
class TextCell:
    """A cell of text, such as a number of frames or the name of a prompt."""

    text: str


@dataclass(frozen=True)
class TableColumn:
    """The header and the alignment of a column."""

    header: str
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True)
class ColumnGroup:
    """Neighbouring columns under one spanning header, or without a header."""

    columns: tuple[TableColumn, ...]
    header: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row of the table, with the texts of its footnotes."""

    label: str
    cells: tuple[Cell | TextCell, ...]
    notes: tuple[str, ...] = ()
    is_reference: bool = False  # chance, human annotators or a baseline: never the best of its section


@dataclass(frozen=True)
class TableSection:
    """Rows between two rules, under a title if it has one."""

    rows: tuple[TableRow, ...]
    title: str = ""
    marks_best: bool = True  # whether the best number of each column is marked


@dataclass(frozen=True)
class Table:
    """A whole table with everything that is printed above and below it."""

    title: str
    caption: str
    label: str  # name for references, such as `tab:velociti-table3`
    stub: str  # header of the row labels
    groups: tuple[ColumnGroup, ...]
    sections: tuple[TableSection, ...]
    notes: tuple[str, ...] = ()  # remarks under the table that belong to no single cell
    warnings: tuple[str, ...] = ()  # reasons not to trust numbers of the table, before all other remarks
    provenance: tuple[str, ...] = ()
    notice: str = ""  # a warning before the caption: toy numbers, a synthetic release
    has_comparison: bool = False  # whether numbers are shown as `reproduced (published, difference)`
    bold: Literal["best", "significant"] = "best"
    """The meaning of bold print; if it is `significant`, the best number is underlined instead."""
    significance: str = "significant"  # the definition of a significant number, for the legend
    origin: str = ""  # where the paper prints the table, such as `VELOCITI, Table 3`
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    """Abbreviation -> its meaning; the legend explains those in headers and labels."""

    @property
    def heading(self) -> str:
        return f"{self.origin}: {self.title}" if self.origin else self.title

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        return tuple(column for group in self.groups for column in group.columns)

    def rows(self) -> Iterator[TableRow]:
        return (row for section in self.sections for row in section.rows)


def group_into_sections(rows: Iterable[tuple[str, TableRow]]) -> tuple[TableSection, ...]:
    """Return a section for each title, in the order in which the titles first occur."""
    rows_by_title = group_by_key(rows, itemgetter(0))
    return tuple(
        TableSection(tuple(row for _, row in section_rows), title) for title, section_rows in rows_by_title.items()
    )


def collect_numbers(row: TableRow) -> tuple[TableNumber, ...]:
    """Return all numbers of a row, in reading order."""
    return tuple(number for cell in row.cells if isinstance(cell, Cell) for number in cell.numbers)


def format_comparison(number: TableNumber) -> tuple[str, str] | None:
    """Return the published value and the difference of the printed values, or None if either value is missing."""
    if number.value is None or number.published is None or number.state == "published":
        return None
    difference = round_value(number.value, number.decimals) - round_value(number.published, number.decimals)
    published = format_value(number.published, number.decimals, signed=number.signed)
    return published, format_difference(difference, number.decimals)


def mark_best(table: Table, column: int, best_rule: BestRule = "highest") -> Table:
    """Return a copy with the best and second best number of a column marked in each section.

    Values are compared as printed, and equal values get the same mark. Published values take part. Reference rows,
    incomplete numbers and grey numbers do not. Of several numbers in a cell, only the first takes part.
    """
    sections = (
        _mark_section(section, column, best_rule) if section.marks_best else section for section in table.sections
    )
    return replace(table, sections=tuple(sections))


def _mark_section(section: TableSection, column: int, best_rule: BestRule) -> TableSection:
    """Return a section with its best and second best numbers marked, but never the worst number of the section."""
    competing_values = [_competing_value(row, column, best_rule) for row in section.rows]
    # Distinct values, the best first.
    ranking = sorted({value for value in competing_values if value is not None}, reverse=best_rule == "highest")
    best, second, *_ = [*ranking[:-1], None, None]  # The worst value is dropped, and None replaces missing ranks.
    rows = list(section.rows)
    for index, (row, value) in enumerate(zip(section.rows, competing_values, strict=True)):
        cell = row.cells[column]
        # A best score of zero is not marked.
        if (
            isinstance(cell, Cell)
            and value is not None
            and value in (best, second)
            and (value or best_rule != "highest")
        ):
            first, *others = cell.numbers
            marked = Cell((replace(first, is_best=value == best, is_second_best=value == second), *others))
            rows[index] = replace(row, cells=(*row.cells[:column], marked, *row.cells[column + 1 :]))
    return replace(section, rows=tuple(rows))


def _competing_value(row: TableRow, column: int, best_rule: BestRule) -> float | None:
    """Return the printed value for the ranking of a column, or None. A bias is ranked by its distance from zero."""
    cell = row.cells[column]
    number = cell.numbers[0] if isinstance(cell, Cell) and cell.numbers else TableNumber(None)
    if number.value is None or row.is_reference or number.is_greyed or number.state == "incomplete":
        return None
    value = round_value(number.value, number.decimals)
    return abs(value) if best_rule == "nearest_zero" else value
