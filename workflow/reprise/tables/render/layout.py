"""A table laid out as pieces of marked text, which each format only has to spell."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase

from reprise.tables.render.legend import GREYED, MARKS, legend
from reprise.tables.render.numbers import EN_DASH, compared, format_comparison, format_interval, format_number
from reprise.tables.render.pieces import Line, Marks, Piece, Span, heading
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
    below: tuple["LaidRow", ...] = ()
    """Where comparisons stand below the numbers: a row of published values and one of differences."""


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


def lay_out(table: Table, *, stacked: bool = False) -> Layout:
    """Lay out a table: footnotes get their letters, numbers their print, marks their legend.

    Comparisons stand beside their numbers, or below them if `stacked`.
    """
    letters = footnote_letters(table)
    sections = [
        LaidSection(section.title, tuple(lay_out_row(row, table, letters, stacked) for row in section.rows))
        for section in table.sections
    ]
    return Layout(
        spanning=tuple(spanning_headers(table, letters)),
        headers=tuple((heading(column.header), *marks(column.notes, letters)) for column in table.columns),
        sections=tuple(sections),
        legend=legend(table, stacked=stacked),
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


def lay_out_row(row: TableRow, table: Table, letters: Letters, stacked: bool) -> LaidRow:
    """A state that all numbers of a row share is marked once, at the label."""
    shared = shared_state(row)
    name = heading(row.label) if "^" in row.label else Span(row.label)  # in labels an underscore is a part of a name
    label = (name, *marks(row.notes, letters, MARKS.get(shared, "") if shared else ""))
    beside = table.comparison and not stacked
    cells = tuple(lay_out_cell(cell, table, letters, shared, beside) for cell in row.cells)
    return LaidRow(label, cells, tuple(rows_below(row)) if table.comparison and stacked else ())


def rows_below(row: TableRow) -> Iterator[LaidRow]:
    """The published values behind a row and the differences from them, if it has any."""
    if any(map(compared, numbers_of(row))):
        for part, name in enumerate(("published", "difference")):
            yield LaidRow((Span(name, small=True),), tuple(cell_below(cell, part) for cell in row.cells))


def cell_below(cell: Cell | Text, part: int) -> Line:
    """What a cell is compared with, or its differences; nothing where nothing is known."""
    found = [] if isinstance(cell, Text) else [compared(number) for number in cell.numbers]
    if not any(found):
        return ()
    before, after = joints(cell)
    text = [one[part] if one else EN_DASH for one in found]
    return (Span(text[0] + "".join(f"{before}{one}{after}" for one in text[1:]), small=True),)


def shared_state(row: TableRow) -> State | None:
    """The state of all numbers of a row, or None where they differ or there are none."""
    states = {number.state for number in numbers_of(row)}
    return states.pop() if len(states) == 1 else None


def joints(cell: Cell | Text) -> tuple[str, str]:
    """What stands before and after every number of a cell but the first."""
    return (" (", ")") if isinstance(cell, Cell) and cell.joining == "parentheses" else (" / ", "")


def lay_out_cell(cell: Cell | Text, table: Table, letters: Letters, shared: State | None, beside: bool) -> Line:
    """The pieces of one cell."""
    if isinstance(cell, Text):
        return (Span(cell.text), *marks(cell.notes, letters))
    if len(cell.numbers) > 1 and all(is_bare_gap(number) for number in cell.numbers):
        return lay_out_number(cell.numbers[0], table, letters, shared, beside)
    before, after = joints(cell)
    line: list[Piece] = []
    for index, number in enumerate(cell.numbers):
        part = lay_out_number(number, table, letters, shared, beside)
        line += [Span(before), *part, Span(after)] if index else part
    return tuple(piece for piece in line if piece != Span(""))


def is_bare_gap(number: Number) -> bool:
    """A missing value without any note; several of them print one dash."""
    return number.value is None and not number.notes


def lay_out_number(number: Number, table: Table, letters: Letters, shared: State | None, beside: bool) -> Line:
    """A number's print, its marks and, where comparisons stand beside, what the paper says."""
    symbols = [] if number.state == shared else [MARKS.get(number.state, "")]
    if number.significant and table.bold == "best":
        symbols.append("*")
    if number.greyed:
        symbols.append(GREYED)
    asides = (format_interval(number), format_comparison(number) if beside else "")
    after = (piece for aside in asides if aside for piece in (Span(" "), Span(aside, small=True)))
    return (value_span(number, table.bold), *marks(number.notes, letters, *symbols), *after)


def value_span(number: Number, bold: Bold) -> Span:
    """The value in bold, underlined or italic print."""
    if number.value is None:
        return Span(EN_DASH)
    emphasis = (number.best, number.second) if bold == "best" else (number.significant, number.best)
    return Span(
        format_number(number), *emphasis, italic=number.state == "published", grey=number.greyed, link=number.link
    )


def marks(notes: Iterable[str], letters: Letters, *symbols: str) -> Line:
    """Superscript symbols, then the letters of footnotes in their order; nothing where there are neither."""
    named = sorted({letters[note] for note in notes}, key=lambda letter: (len(letter), letter))
    found = (*(symbol for symbol in symbols if symbol), *named)
    return (Marks(found),) if found else ()
