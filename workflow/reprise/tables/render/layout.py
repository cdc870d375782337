"""Layout of a table as pieces of marked text, for the renderers of all formats."""

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

# Control characters and whitespace, which renderers replace by a blank because each text must stay on one line
BLANKS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
HEADER_WIDTH = 9  # characters; a longer header of a column is wrapped between words
JOINT = " / "  # between the numbers of a cell
GREYED = "°"
NO_BREAK = "\N{NO-BREAK SPACE}"  # keeps a symbol on the same line as its explanation
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
    link: str = ""  # address of the link in HTML


@dataclass(frozen=True)
class Marks:
    """Superscript symbols and footnote letters."""

    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Indexed:
    """A name with an index or an exponent, as in the header `s_t`."""

    name: str
    index: str
    raised: bool = False

    @property
    def is_variable(self) -> bool:
        """Return whether the name is a variable, such as s, and not a word or model, such as BLEU."""
        return len(self.name) == 1 and self.name.islower()


Piece = Span | Marks | Indexed
Line = tuple[Piece, ...]


@dataclass(frozen=True)
class LaidRow:
    label: Line
    cells: tuple[Line, ...]
    below: tuple["LaidRow", ...] = ()
    """A row of published values and one of differences, if comparisons stand below the numbers."""


@dataclass(frozen=True)
class LaidSection:
    """A section's rows and title; the title is empty if it has none."""

    title: str
    rows: tuple[LaidRow, ...]


@dataclass(frozen=True)
class Layout:
    """All printed parts of a table except its title, its caption and the headers over groups of columns."""

    headers: tuple[Span | Indexed, ...]
    sections: tuple[LaidSection, ...]
    legend: tuple[Line, ...]
    footnotes: tuple[tuple[str, str], ...]


def heading(text: str) -> Span | Indexed:
    """Return a header or a row's label as text, or as a name with an index if written so, as in `s_t` or `M^3`."""
    match = re.fullmatch(r"([A-Za-z]+)([_^])([A-Za-z0-9])", text)
    return Indexed(match[1], match[3], raised=match[2] == "^") if match else Span(text)


def in_lines(header: str) -> list[str]:
    """Return a column's header as lines, wrapped only between words."""
    return wrap(header, HEADER_WIDTH, break_long_words=False, break_on_hyphens=False) or [""]


def lay_out(table: Table, *, stacked: bool = False) -> Layout:
    """Lay out a table: letters for its footnotes, styles for its numbers, a legend for its marks.

    Comparisons stand beside their numbers, or below them if `stacked`.
    """
    rows = _Rows(table, stacked)
    sections = tuple(
        LaidSection(section.title, tuple(map(rows.lay_out_row, section.rows))) for section in table.sections
    )
    headers = tuple(heading(column.header) for column in table.columns)
    legend = tuple(line for is_needed, line in _legend(table, stacked) if is_needed)
    return Layout(headers, sections, legend, tuple((letter, text) for text, letter in rows.letters.items()))


class _Rows:
    """Lays out rows one after another, and gives each different footnote a letter in reading order."""

    def __init__(self, table: Table, stacked: bool) -> None:
        self._table, self._stacked = table, stacked
        self.letters: dict[str, str] = {}

    def lay_out_row(self, row: TableRow) -> LaidRow:
        """Lay out one row; a state that all its numbers share is marked once, at the label."""
        states = {number.state for number in numbers_of(row)}
        shared = states.pop() if len(states) == 1 else None
        # An underscore in a label is part of a name, not the mark of an index.
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
        """Yield a number, its marks and, if comparisons stand beside it, the paper's value and the difference."""
        is_best_bold, has_value = self._table.bold == "best", number.value is not None
        if has_value:
            bold, underlined = (number.best, number.second) if is_best_bold else (number.significant, number.best)
            italic = number.state == "published"
            text = format_value(number.value, number.decimals, signed=number.signed)
            yield Span(text, bold, underlined, italic=italic, grey=number.greyed, link=number.link)
        else:
            yield Span(EN_DASH)
        state = "" if number.state == shared else _sign(number.state)
        significant = "*" if number.significant and is_best_bold else ""
        yield from self._marks(number.notes, state, significant, GREYED if number.greyed else "")
        if number.interval and has_value:
            ends = EN_DASH.join(format_value(end, number.decimals, signed=number.signed) for end in number.interval)
            yield from (Span(" "), Span(f"({ends})", small=True))
        if self._table.comparison and not self._stacked and (texts := compared(number)):
            yield from (Span(" "), Span(f"({', '.join(texts)})", small=True))

    def _marks(self, notes: Iterable[str], *symbols: str) -> Line:
        """Return superscript symbols, then the letters of footnotes in their order; nothing if there are neither."""
        letters = {self.letters.setdefault(note, _letter(len(self.letters))) for note in notes}
        marks = (*filter(None, symbols), *sorted(letters, key=lambda letter: (len(letter), letter)))
        return (Marks(marks),) if marks else ()


def _sign(state: State | None) -> str:
    return MARKS[state][0] if state in MARKS else ""


def _letter(index: int) -> str:
    """Return the letters of a footnote: 0 -> a, 25 -> z, 26 -> aa."""
    rest, last = divmod(index, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]


def _below(row: TableRow) -> Iterator[LaidRow]:
    """Yield a row of published values and one of differences, if a number of the row has them."""
    comparisons = [
        [compared(number) for number in cell.numbers] if isinstance(cell, Cell) else [] for cell in row.cells
    ]
    for part, name in enumerate(("published", "difference") if any(map(any, comparisons)) else ()):
        texts = [
            JOINT.join(comparison[part] if comparison else EN_DASH for comparison in cell) if any(cell) else ""
            for cell in comparisons
        ]
        cells = tuple((Span(text, small=True),) if text else () for text in texts)
        yield LaidRow((Span(name, small=True),), cells)


def _legend(table: Table, stacked: bool) -> Iterator[tuple[bool, Line]]:
    """Yield each line of the legend, with whether its style or symbol occurs in this table."""
    numbers = [number for row in table.rows() for number in numbers_of(row)]
    valued = [number for number in numbers if number.value is not None]
    states = {number.state for number in numbers}
    has_best, has_second = any(number.best for number in valued), any(number.second for number in valued)
    has_significant, is_best_bold = any(number.significant for number in valued), table.bold == "best"
    references = ["references"] if any(row.reference for row in table.rows()) else []
    exceptions = " and ".join(references + (["incomplete numbers"] if "incomplete" in states else []))
    rank_text = f"best of its group of rows{f' ({exceptions} aside)' if exceptions else ''}."
    yield is_best_bold and has_best, (Span("Bold", bold=True), Span(f": {rank_text}"))
    yield is_best_bold and has_second, (Span("Underlined", underlined=True), Span(f": second {rank_text}"))
    yield is_best_bold and has_significant, (Marks(("*",)), Span(f"{NO_BREAK}{table.significance}."))
    yield not is_best_bold and has_significant, (Span("Bold", bold=True), Span(f": {table.significance}."))
    yield not is_best_bold and has_best, (Span("Underlined", underlined=True), Span(f": {rank_text}"))
    for state, (sign, meaning) in MARKS.items():
        yield state in states, (Marks((sign,)), Span(f"{NO_BREAK}{meaning}"))
    grey = f"{NO_BREAK}Grey: of too few frames to show what is asked; competes with none."
    yield any(number.greyed for number in valued), (Marks((GREYED,)), Span(grey))
    yield len(valued) < len(numbers), (Span(f"{EN_DASH}: no value."),)
    place = "Below the numbers" if stacked else "In parentheses"
    comparison_text = f"{place}: published value, and difference (here {MINUS} published)."
    yield table.comparison and any(map(compared, numbers)), (Span(comparison_text),)
    yield any(number.interval for number in valued), (Span("A range in parentheses: the interval of a number."),)
    abbreviations = _abbreviations(table)
    ends = ["; "] * (len(abbreviations) - 1) + ["."]
    explanations = (
        (heading(abbreviation), Span(f": {table.abbreviations[abbreviation]}{end}"))
        for abbreviation, end in zip(abbreviations, ends, strict=False)
    )
    yield bool(abbreviations), tuple(chain.from_iterable(explanations))


def _abbreviations(table: Table) -> list[str]:
    """Return the abbreviations that occur in a table, in reading order; the longest match counts."""
    texts = [table.stub]
    for group in table.groups:
        texts += [group.header, *(column.header for column in group.columns)]
    for section in table.sections:
        texts.append(section.title)
        for row in section.rows:
            texts += [row.label, *(cell.text for cell in row.cells if isinstance(cell, Text))]
    longest_first = "|".join(map(re.escape, sorted(table.abbreviations, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![^\W\d])(?:{longest_first})(?!\w)")  # also after a number, as in 8f
    return list(dict.fromkeys(abbreviation for text in texts for abbreviation in pattern.findall(text) if abbreviation))
