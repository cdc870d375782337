"""Content of a table, independent of the format: numbers with their marks, rows in sections, columns in groups."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Literal

from reprise.benchmarks.rows import grouped

State = Literal["reproduced", "imported", "incomplete", "published", "not run", "lost"]
Better = Literal["highest", "lowest", "nearest_zero"]

EN_DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Number:
    """One number of a cell, unrounded, with everything that is printed with it."""

    value: float | None  # None prints an en dash
    decimals: int = 1
    signed: bool = False
    state: State = "reproduced"  # its source; for `published` the value itself is the paper's
    best: bool = False
    second: bool = False
    significant: bool = False
    greyed: bool = False  # printed in grey, because the sampling has too few frames for the metric
    published: float | None = None  # the paper's value, shown next to the value in a table of comparison
    notes: tuple[str, ...] = ()  # texts of its footnotes; equal texts share one letter
    interval: tuple[float, float] | None = None
    link: str = ""  # address of its lineage, to which HTML links


@dataclass(frozen=True)
class Cell:
    """One or several numbers printed together, as in `83.0 / 98.3`; a cell without numbers is blank."""

    numbers: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Text:
    """A cell of text, such as a number of frames or the name of a prompt."""

    text: str


@dataclass(frozen=True)
class Column:
    header: str
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True)
class ColumnGroup:
    """Neighbouring columns under one spanning header; without a header, columns that stand alone."""

    columns: tuple[Column, ...]
    header: str = ""


@dataclass(frozen=True)
class TableRow:
    label: str
    cells: tuple[Cell | Text, ...]
    notes: tuple[str, ...] = ()
    reference: bool = False  # chance, human annotators or a baseline: never the best of its section


@dataclass(frozen=True)
class Section:
    """Rows between two rules, under a title if it has one."""

    rows: tuple[TableRow, ...]
    title: str = ""
    is_marked: bool = True  # whether its best number is marked, in a table that marks best numbers


@dataclass(frozen=True)
class Table:
    title: str
    caption: str
    label: str  # name for references, such as `tab:velociti-table3`
    stub: str
    groups: tuple[ColumnGroup, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()  # remarks under the table that belong to no single cell
    warnings: tuple[str, ...] = ()  # reasons not to trust numbers of the table, before all other remarks
    provenance: tuple[str, ...] = ()
    notice: str = ""  # a warning before the caption that readers must see: toy numbers, a synthetic release
    comparison: bool = False  # show `reproduced (published, difference)` if the published value is known
    bold: Literal["best", "significant"] = (
        "best"  # the meaning of bold print; if it is `significant`, the best is underlined instead
    )
    significance: str = "significant"  # the definition of a significant number, for the legend
    origin: str = ""  # the place where the paper prints it, such as `VELOCITI, Table 3`
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    """Abbreviation -> its meaning; the legend explains those in headers and labels."""

    @property
    def heading(self) -> str:
        return f"{self.origin}: {self.title}" if self.origin else self.title

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for group in self.groups for column in group.columns)

    def rows(self) -> Iterator[TableRow]:
        return (row for section in self.sections for row in section.rows)


def sections_of(rows: Iterable[tuple[str, TableRow]]) -> tuple[Section, ...]:
    """Return a section for each title, in the order in which the titles first occur."""
    rows_by_title = grouped(rows, itemgetter(0))
    return tuple(Section(tuple(row for _, row in section_rows), title) for title, section_rows in rows_by_title.items())


def numbers_of(row: TableRow) -> tuple[Number, ...]:
    return tuple(number for cell in row.cells if isinstance(cell, Cell) for number in cell.numbers)


def format_value(value: float | None, decimals: int, *, signed: bool = False) -> str:
    """Return a rounded number with a real minus sign, never a negative zero; an en dash for None, NaN for no number."""
    if value is None:
        return EN_DASH
    if not math.isfinite(value):
        return "NaN"
    rounded = round(value, decimals) + 0.0  # adding 0.0 turns -0.0 into 0.0
    return f"{rounded:{'+' if signed else ''}.{decimals}f}".replace("-", MINUS)


def compared(number: Number) -> tuple[str, str] | None:
    """Return the published value and the difference of the printed values, or none if either is missing."""
    if number.value is None or number.published is None or number.state == "published":
        return None
    difference = round(number.value, number.decimals) - round(number.published, number.decimals)
    published = format_value(number.published, number.decimals, signed=number.signed)
    return published, format_value(difference, number.decimals, signed=True)


def mark_best(table: Table, column: int, better: Better = "highest") -> Table:
    """Return a copy with the best and second best number of a column marked in each section.

    Printed values compete, published ones too, so no row has a better number than the marked one. Values that print
    alike get the same mark. Rows of reference, incomplete and grey numbers do not compete. Of several numbers in a
    cell, the first competes.
    """
    sections = (_mark_section(section, column, better) if section.is_marked else section for section in table.sections)
    return replace(table, sections=tuple(sections))


def _mark_section(section: Section, column: int, better: Better) -> Section:
    """Return a section with its best numbers marked; the last of a ranking is neither best nor second best."""
    competing = [_competing_value(row, column, better) for row in section.rows]
    ranking = sorted({value for value in competing if value is not None}, reverse=better == "highest")
    best, second, *_ = [*ranking[:-1], None, None]
    rows = list(section.rows)
    for index, (row, value) in enumerate(zip(section.rows, competing, strict=True)):
        cell = row.cells[column]
        # A score of zero that leads is no achievement.
        if isinstance(cell, Cell) and value is not None and value in (best, second) and (value or better != "highest"):
            first, *remaining = cell.numbers
            marked = Cell((replace(first, best=value == best, second=value == second), *remaining))
            rows[index] = replace(row, cells=(*row.cells[:column], marked, *row.cells[column + 1 :]))
    return replace(section, rows=tuple(rows))


def _competing_value(row: TableRow, column: int, better: Better) -> float | None:
    """Return the printed value that competes, or none; for a bias, its distance from zero."""
    cell = row.cells[column]
    number = cell.numbers[0] if isinstance(cell, Cell) and cell.numbers else Number(None)
    if number.value is None or row.reference or number.greyed or number.state == "incomplete":
        return None
    value = round(number.value, number.decimals)
    return abs(value) if better == "nearest_zero" else value
