"""A table laid out as pieces of marked text, which each format only has to spell."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from string import ascii_lowercase
from textwrap import wrap

from reprise.tables.render.table import (
    EN_DASH,
    MINUS,
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

# What a format that prints one line shows as a blank.
BLANKS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
WIDEST_HEADER = 9  # signs; a longer header of a column is broken between words
JOINT = " / "  # between the numbers of a cell
GREYED = "°"
NO_BREAK = "\N{NO-BREAK SPACE}"  # a symbol alone at the end of a line would explain nothing
MARKS: dict[State, tuple[str, str]] = {
    "published": ("†", "Published value in italics, not reproduced here."),
    "imported": ("‡", "Scored here from answers made elsewhere."),
    "incomplete": ("§", "Incomplete: some of its items were not asked."),
    "not run": ("¶", "Not run."),
    "lost": ("‖", "Not run; the paper's number is lost in its extracted text."),
}


@dataclass(frozen=True)
class Span:
    text: str
    bold: bool = False
    underlined: bool = False
    italic: bool = False
    small: bool = False
    grey: bool = False
    link: str = ""  # The address that HTML leads to


@dataclass(frozen=True)
class Marks:
    """Superscript symbols and footnote letters."""

    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Indexed:
    """A name with an index below or an exponent, as the header `s_t` means."""

    name: str
    index: str
    raised: bool = False

    @property
    def is_variable(self) -> bool:
        """Whether the name is a variable, as s, and no word or model, as BLEU."""
        return len(self.name) == 1 and self.name.islower()


Piece = Span | Marks | Indexed
Line = tuple[Piece, ...]


@dataclass(frozen=True)
class LaidRow:
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


def heading(text: str) -> Span | Indexed:
    """A header or a row's label: text, or a name with an index where it is written as one, such as `s_t` or `M^3`."""
    found = re.fullmatch(r"([A-Za-z]+)([_^])([A-Za-z0-9])", text)
    return Indexed(found[1], found[3], raised=found[2] == "^") if found else Span(text)


def in_lines(header: str) -> list[str]:
    """A column's header in lines, broken between words alone."""
    return wrap(header, WIDEST_HEADER, break_long_words=False, break_on_hyphens=False) or [""]


def lay_out(table: Table, *, stacked: bool = False) -> Layout:
    """Lay out a table: footnotes get their letters, numbers their print, marks their legend.

    Comparisons stand beside their numbers, or below them if `stacked`.
    """
    rows = _Rows(table, stacked)
    sections = tuple(LaidSection(one.title, tuple(map(rows.laid, one.rows))) for one in table.sections)
    headers = tuple(heading(column.header) for column in table.columns)
    legend = tuple(line for is_needed, line in _legend(table, stacked) if is_needed)
    return Layout(headers, sections, legend, tuple((letter, text) for text, letter in rows.letters.items()))


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
        label = (name, *self._marks(row.notes, _sign(shared)))
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
        if is_known:
            bold, underlined = (number.best, number.second) if by_best else (number.significant, number.best)
            italic = number.state == "published"
            text = format_value(number.value, number.decimals, signed=number.signed)
            yield Span(text, bold, underlined, italic=italic, grey=number.greyed, link=number.link)
        else:
            yield Span(EN_DASH)
        state = "" if number.state == shared else _sign(number.state)
        significant = "*" if number.significant and by_best else ""
        yield from self._marks(number.notes, state, significant, GREYED if number.greyed else "")
        if number.interval and is_known:
            ends = EN_DASH.join(format_value(end, number.decimals, signed=number.signed) for end in number.interval)
            yield from (Span(" "), Span(f"({ends})", small=True))
        if self._table.comparison and not self._stacked and (found := compared(number)):
            yield from (Span(" "), Span(f"({', '.join(found)})", small=True))

    def _marks(self, notes: Iterable[str], *symbols: str) -> Line:
        """Superscript symbols, then the letters of footnotes in their order; nothing where there are neither."""
        letters = {self.letters.setdefault(note, _letter(len(self.letters))) for note in notes}
        found = (*filter(None, symbols), *sorted(letters, key=lambda letter: (len(letter), letter)))
        return (Marks(found),) if found else ()


def _sign(state: State | None) -> str:
    return MARKS[state][0] if state in MARKS else ""


def _letter(index: int) -> str:
    """0 -> a, 25 -> z, 26 -> aa."""
    rest, last = divmod(index, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]


def _below(row: TableRow) -> Iterator[LaidRow]:
    """The published values behind a row and the differences from them, if it has any."""
    found = [[compared(one) for one in cell.numbers] if isinstance(cell, Cell) else [] for cell in row.cells]
    for part, name in enumerate(("published", "difference") if any(map(any, found)) else ()):
        texts = [JOINT.join(one[part] if one else EN_DASH for one in cell) if any(cell) else "" for cell in found]
        cells = tuple((Span(text, small=True),) if text else () for text in texts)
        yield LaidRow((Span(name, small=True),), cells)


def _legend(table: Table, stacked: bool) -> Iterator[tuple[bool, Line]]:
    """Whether a print or a symbol occurs in this table, and what it means."""
    numbers = [number for row in table.rows() for number in numbers_of(row)]
    shown = [number for number in numbers if number.value is not None]
    states = {number.state for number in numbers}
    best, second = any(number.best for number in shown), any(number.second for number in shown)
    significant, by_best = any(number.significant for number in shown), table.bold == "best"
    references = ["references"] if any(row.reference for row in table.rows()) else []
    aside = " and ".join(references + (["incomplete numbers"] if "incomplete" in states else []))
    of_rows = f"best of its group of rows{f' ({aside} aside)' if aside else ''}."
    yield by_best and best, (Span("Bold", bold=True), Span(f": {of_rows}"))
    yield by_best and second, (Span("Underlined", underlined=True), Span(f": second {of_rows}"))
    yield by_best and significant, (Marks(("*",)), Span(f"{NO_BREAK}{table.significance}."))
    yield not by_best and significant, (Span("Bold", bold=True), Span(f": {table.significance}."))
    yield not by_best and best, (Span("Underlined", underlined=True), Span(f": {of_rows}"))
    for state, (sign, meaning) in MARKS.items():
        yield state in states, (Marks((sign,)), Span(f"{NO_BREAK}{meaning}"))
    grey = f"{NO_BREAK}Grey: of too few frames to show what is asked; competes with none."
    yield any(number.greyed for number in shown), (Marks((GREYED,)), Span(grey))
    yield len(shown) < len(numbers), (Span(f"{EN_DASH}: no value."),)
    place = "Below the numbers" if stacked else "In parentheses"
    words = f"{place}: published value, and difference (here {MINUS} published)."
    yield table.comparison and any(map(compared, numbers)), (Span(words),)
    yield any(number.interval for number in shown), (Span("A range in parentheses: the interval of a number."),)
    short = _abbreviations(table)
    ends = ["; "] * (len(short) - 1) + ["."]
    named = ((heading(one), Span(f": {table.abbreviations[one]}{end}")) for one, end in zip(short, ends, strict=False))
    yield bool(short), tuple(chain.from_iterable(named))


def _abbreviations(table: Table) -> list[str]:
    """The abbreviations that occur in a table, in reading order; of several the longest counts."""
    texts = [table.stub]
    for group in table.groups:
        texts += [group.header, *(column.header for column in group.columns)]
    for section in table.sections:
        texts.append(section.title)
        for row in section.rows:
            texts += [row.label, *(cell.text for cell in row.cells if isinstance(cell, Text))]
    longest_first = "|".join(map(re.escape, sorted(table.abbreviations, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![^\W\d])(?:{longest_first})(?!\w)")  # also after a number, as in 8f
    return list(dict.fromkeys(short for text in texts for short in pattern.findall(text) if short))
