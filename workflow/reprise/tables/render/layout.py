"""A table laid out as pieces of marked text, which each format only has to spell."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from string import ascii_lowercase
from textwrap import wrap

from reprise.tables.render.legend import GREYED, MARKS, legend
from reprise.tables.render.pieces import Indexed, Line, Marks, Piece, Span, heading
from reprise.tables.render.table import (
    EN_DASH,
    Cell,
    Number,
    State,
    Table,
    TableRow,
    Text,
    compared,
    format_value,
    numbers_of,
)

WIDEST_HEADER = 9  # signs; a longer header of a column is broken between words
JOINT = " / "  # between the numbers of a cell


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
    """All that is printed of a table besides its title, its caption and the headers over groups of columns."""

    headers: tuple[Span | Indexed, ...]
    sections: tuple[LaidSection, ...]
    legend: tuple[Line, ...]
    footnotes: tuple[tuple[str, str], ...]
    """Letter and text."""


def lay_out(table: Table, *, stacked: bool = False) -> Layout:
    """Lay out a table: footnotes get their letters, numbers their print, marks their legend.

    Comparisons stand beside their numbers, or below them if `stacked`.
    """
    rows = _Rows(table, stacked)
    sections = tuple(LaidSection(one.title, tuple(map(rows.laid, one.rows))) for one in table.sections)
    headers = tuple(heading(column.header) for column in table.columns)
    footnotes = tuple((letter, text) for text, letter in rows.letters.items())
    return Layout(headers, sections, legend(table, stacked=stacked), footnotes)


def in_lines(header: str) -> list[str]:
    """A column's header in lines, broken between words alone."""
    return wrap(header, WIDEST_HEADER, break_long_words=False, break_on_hyphens=False) or [""]


class _Rows:
    """Lays out rows one after another, and gives each different footnote a letter in reading order."""

    def __init__(self, table: Table, stacked: bool) -> None:
        self._table, self._stacked = table, stacked
        self.letters: dict[str, str] = {}

    def laid(self, row: TableRow) -> LaidRow:
        """A state that all numbers of a row share is marked once, at the label."""
        states = {number.state for number in numbers_of(row)}
        shared = states.pop() if len(states) == 1 else None
        # In labels an underscore is a part of a name.
        name = heading(row.label) if "^" in row.label else Span(row.label)
        label = (name, *self._marks(row.notes, MARKS.get(shared, "") if shared else ""))
        cells = tuple(self._cell(cell, shared) for cell in row.cells)
        return LaidRow(label, cells, tuple(_below(row)) if self._table.comparison and self._stacked else ())

    def _cell(self, cell: Cell | Text, shared: State | None) -> Line:
        if isinstance(cell, Text):
            return (Span(cell.text),)
        # Several missing values print one dash.
        is_gap = all(number.value is None and not number.notes for number in cell.numbers)
        line: list[Piece] = []
        for number in cell.numbers[:1] if is_gap else cell.numbers:
            line += [*([Span(JOINT)] if line else []), *self._number(number, shared)]
        return tuple(line)

    def _number(self, number: Number, shared: State | None) -> Iterator[Piece]:
        """A number's print, its marks and, where comparisons stand beside, what the paper says."""
        by_best, is_known = self._table.bold == "best", number.value is not None
        bold, underlined = (number.best, number.second) if by_best else (number.significant, number.best)

        def shown(value: float | None) -> str:
            return format_value(value, number.decimals, signed=number.signed)

        if is_known:
            italic = number.state == "published"
            yield Span(shown(number.value), bold, underlined, italic=italic, grey=number.greyed, link=number.link)
        else:
            yield Span(EN_DASH)
        state = "" if number.state == shared else MARKS.get(number.state, "")
        significant = "*" if number.significant and by_best else ""
        yield from self._marks(number.notes, state, significant, GREYED if number.greyed else "")
        if number.interval and is_known:
            yield from (Span(" "), Span(f"({EN_DASH.join(map(shown, number.interval))})", small=True))
        if self._table.comparison and not self._stacked and (found := compared(number)):
            yield from (Span(" "), Span(f"({', '.join(found)})", small=True))

    def _marks(self, notes: Iterable[str], *symbols: str) -> Line:
        """Superscript symbols, then the letters of footnotes in their order; nothing where there are neither."""
        letters = {self.letters.setdefault(note, _letter(len(self.letters))) for note in notes}
        found = (*filter(None, symbols), *sorted(letters, key=lambda letter: (len(letter), letter)))
        return (Marks(found),) if found else ()


def _letter(index: int) -> str:
    """0 -> a, 25 -> z, 26 -> aa."""
    rest, last = divmod(index, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]


def _below(row: TableRow) -> Iterator[LaidRow]:
    """The published values behind a row and the differences from them, if it has any."""
    if not any(map(compared, numbers_of(row))):
        return
    found = [[compared(one) for one in cell.numbers] if isinstance(cell, Cell) else [] for cell in row.cells]
    for part, name in enumerate(("published", "difference")):
        texts = [JOINT.join(one[part] if one else EN_DASH for one in cell) if any(cell) else "" for cell in found]
        cells = tuple((Span(text, small=True),) if text else () for text in texts)
        yield LaidRow((Span(name, small=True),), cells)
