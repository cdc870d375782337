"""A table laid out as pieces of marked text, which each format only has to spell."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase

from reprise.tables.render.legend import MARKS, legend
from reprise.tables.render.numbers import EN_DASH, format_comparison, format_number
from reprise.tables.render.pieces import Line, Marks, Span
from reprise.tables.render.table import Bold, Cell, Number, State, Table, TableRow, Text, numbers_of

Letters = Mapping[str, str]


@dataclass(frozen=True)
class Spanning:
    """A header over some neighbouring columns, counted from the first after the row labels."""

    line: Line
    first: int
    count: int


@dataclass(frozen=True)
class LaidRow:
    """A row's label and cells."""

    label: Line
    cells: tuple[Line, ...]


@dataclass(frozen=True)
class LaidSection:
    """A section's title, empty if it has none, and its rows."""

    title: str
    rows: tuple[LaidRow, ...]


@dataclass(frozen=True)
class Layout:
    """All that is printed of a table besides its title and caption."""

    spanning: tuple[Spanning, ...]
    headers: tuple[Line, ...]
    sections: tuple[LaidSection, ...]
    legend: tuple[Line, ...]
    footnotes: tuple[tuple[str, str], ...]
    """Letter and text."""


def lay_out(table: Table) -> Layout:
    """Lay out a table: footnotes get their letters, numbers their print, marks their legend."""
    letters = footnote_letters(table)
    sections = [
        LaidSection(section.title, tuple(lay_out_row(row, table, letters) for row in section.rows))
        for section in table.sections
    ]
    return Layout(
        spanning=tuple(spanning_headers(table, letters)),
        headers=tuple((Span(column.header), *marks(column.notes, letters)) for column in table.columns),
        sections=tuple(sections),
        legend=legend(table),
        footnotes=tuple((letter, text) for text, letter in letters.items()),
    )


def footnote_letters(table: Table) -> Letters:
    """A letter for each different footnote, in reading order."""
    different = dict.fromkeys(footnotes_in_reading_order(table))
    return {text: letter_name(index) for index, text in enumerate(different)}


def footnotes_in_reading_order(table: Table) -> Iterator[str]:
    """The texts of all footnotes, repeated as often as they are referred to."""
    for group in table.groups:
        yield from group.notes
    for column in table.columns:
        yield from column.notes
    for row in table.rows():
        yield from row.notes
        for cell in row.cells:
            yield from cell.notes if isinstance(cell, Text) else (note for part in cell.numbers for note in part.notes)


def letter_name(index: int) -> str:
    """0 -> a, 25 -> z, 26 -> aa."""
    rest, last = divmod(index, len(ascii_lowercase))
    return (letter_name(rest - 1) if rest else "") + ascii_lowercase[last]


def spanning_headers(table: Table, letters: Letters) -> Iterator[Spanning]:
    """The headers over groups of columns; groups without one are left out."""
    first = 0
    for group in table.groups:
        if group.header:
            yield Spanning((Span(group.header), *marks(group.notes, letters)), first, len(group.columns))
        first += len(group.columns)


def lay_out_row(row: TableRow, table: Table, letters: Letters) -> LaidRow:
    """A state that all numbers of a row share is marked once, at the label."""
    shared = shared_state(row)
    label = (Span(row.label), *marks(row.notes, letters, MARKS.get(shared, "") if shared else ""))
    return LaidRow(label, tuple(lay_out_cell(cell, table, letters, shared) for cell in row.cells))


def shared_state(row: TableRow) -> State | None:
    """The state of all numbers of a row, or None where they differ or there are none."""
    states = {number.state for number in numbers_of(row)}
    return states.pop() if len(states) == 1 else None


def lay_out_cell(cell: Cell | Text, table: Table, letters: Letters, shared: State | None) -> Line:
    """The pieces of one cell."""
    if isinstance(cell, Text):
        return (Span(cell.text), *marks(cell.notes, letters))
    if len(cell.numbers) > 1 and all(is_bare_gap(number) for number in cell.numbers):
        return lay_out_number(cell.numbers[0], table, letters, shared)
    before, after = (" (", ")") if cell.joining == "parentheses" else (" / ", "")
    line: list[Span | Marks] = []
    for index, number in enumerate(cell.numbers):
        part = lay_out_number(number, table, letters, shared)
        line += [Span(before), *part, Span(after)] if index else part
    return tuple(piece for piece in line if piece != Span(""))


def is_bare_gap(number: Number) -> bool:
    """A missing value without any note; several of them print one dash."""
    return number.value is None and not number.notes


def lay_out_number(number: Number, table: Table, letters: Letters, shared: State | None) -> Line:
    """A number's print, its marks and, in a table of comparison, what the paper says."""
    symbols = [] if number.state == shared else [MARKS.get(number.state, "")]
    if number.significant and table.bold == "best":
        symbols.append("*")
    comparison = format_comparison(number) if table.comparison else ""
    beside = (Span(" "), Span(comparison, small=True)) if comparison else ()
    return (value_span(number, table.bold), *marks(number.notes, letters, *symbols), *beside)


def value_span(number: Number, bold: Bold) -> Span:
    """The value in bold, underlined or italic print."""
    if number.value is None:
        return Span(EN_DASH)
    emphasis = (number.best, number.second) if bold == "best" else (number.significant, number.best)
    return Span(format_number(number), *emphasis, italic=number.state == "published")


def marks(notes: Iterable[str], letters: Letters, *symbols: str) -> Line:
    """Superscript symbols, then the letters of footnotes; nothing where there are neither."""
    found = tuple(symbol for symbol in symbols if symbol) + tuple(letters[note] for note in notes)
    return (Marks(found),) if found else ()
