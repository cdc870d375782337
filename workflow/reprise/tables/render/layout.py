"""Lay out a table as styled text elements, for the renderers of all formats."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from string import ascii_lowercase
from textwrap import wrap

from reprise.core.notation import EN_DASH, MINUS, NO_BREAK, format_interval, format_value
from reprise.tables.render.table import (
    Cell,
    State,
    Table,
    TableNumber,
    TableRow,
    TextCell,
    collect_numbers,
    format_comparison,
)

# Control characters and whitespace. Renderers replace them with a blank, because each text must fit on one line.
BLANKS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
HEADER_WIDTH = 9  # in characters; a longer header of a column is wrapped between words
NUMBER_SEPARATOR = " / "  # between the numbers of a cell
GREY_SYMBOL = "°"
# State of a number -> its symbol, and the symbol's explanation in the legend.
STATE_SYMBOLS: dict[State, tuple[str, str]] = {
    "published": ("†", "Published value in italics, not reproduced here."),
    "imported": ("‡", "Imported predictions, scored here."),
    "incomplete": ("§", "Incomplete: some items are missing."),
    "not run": ("¶", "Not run."),
    "lost": ("‖", "Not run; the paper's number is lost in its extracted text."),
}


@dataclass(frozen=True)
class TextSpan:
    """A piece of text with one style."""

    text: str
    bold: bool = False
    underlined: bool = False
    italic: bool = False
    small: bool = False
    grey: bool = False
    link: str = ""  # address of the link in HTML


@dataclass(frozen=True)
class Superscripts:
    """Superscript symbols and footnote letters."""

    symbols: tuple[str, ...]


@dataclass(frozen=True)
class IndexedName:
    """A name with an index or an exponent, as in the header `s_t`."""

    name: str
    index: str
    is_exponent: bool = False

    @property
    def is_variable(self) -> bool:
        """Return whether the name is a variable, such as s, and not a word or model, such as BLEU."""
        return len(self.name) == 1 and self.name.islower()


TextElement = TextSpan | Superscripts | IndexedName
FormattedLine = tuple[TextElement, ...]


@dataclass(frozen=True)
class LayoutRow:
    """A row of the table: its label and one line of text per cell."""

    label: FormattedLine
    cells: tuple[FormattedLine, ...]
    comparison_rows: tuple["LayoutRow", ...] = ()
    """A row of published values and a row of differences, if comparisons are below the numbers."""


@dataclass(frozen=True)
class LayoutSection:
    """A section's rows and title; the title is empty if it has none."""

    title: str
    rows: tuple[LayoutRow, ...]


@dataclass(frozen=True)
class Layout:
    """All printed parts of a table except its title, its caption and the headers over groups of columns."""

    headers: tuple[TextSpan | IndexedName, ...]
    sections: tuple[LayoutSection, ...]
    legend: tuple[FormattedLine, ...]
    footnotes: tuple[tuple[str, str], ...]  # letter and text of each footnote


def parse_heading(text: str) -> TextSpan | IndexedName:
    """Parse a header or a row's label: a name with an index or exponent, such as `s_t` or `M^3`, or plain text."""
    match = re.fullmatch(r"([A-Za-z]+)([_^])([A-Za-z0-9])", text)
    return IndexedName(match[1], match[3], is_exponent=match[2] == "^") if match else TextSpan(text)


def wrap_header(header: str) -> list[str]:
    """Return a column's header as lines, wrapped only between words."""
    return wrap(header, HEADER_WIDTH, break_long_words=False, break_on_hyphens=False) or [""]


def compute_layout(table: Table, *, stacked: bool = False) -> Layout:
    """Lay out a table: letters for its footnotes, styles for its numbers, a legend for its marks.

    Comparisons are beside their numbers, or below them if `stacked`.
    """
    rows = _Rows(table, stacked)
    sections = tuple(
        LayoutSection(section.title, tuple(map(rows.lay_out_row, section.rows))) for section in table.sections
    )
    headers = tuple(parse_heading(column.header) for column in table.columns)
    legend = tuple(line for is_needed, line in _list_legend_lines(table, stacked) if is_needed)
    return Layout(headers, sections, legend, tuple((letter, text) for text, letter in rows.letters.items()))


class _Rows:
    """Lay out rows, and give each different footnote a letter in reading order."""

    def __init__(self, table: Table, stacked: bool) -> None:
        self._table, self._stacked = table, stacked
        self.letters: dict[str, str] = {}  # text of a footnote -> its letter

    def lay_out_row(self, row: TableRow) -> LayoutRow:
        """Lay out one row. A state that all numbers share is marked once, at the label."""
        states = {number.state for number in collect_numbers(row)}
        shared_state = states.pop() if len(states) == 1 else None
        # An underscore in a label belongs to a name, such as a model's. It marks no index.
        name = parse_heading(row.label) if "^" in row.label else TextSpan(row.label)
        label = (name, *self._marks(row.notes, _state_symbol(shared_state)))
        cells = tuple(self._cell(cell, shared_state) for cell in row.cells)
        return LayoutRow(
            label, cells, tuple(_comparison_rows(row)) if self._table.has_comparison and self._stacked else ()
        )

    def _cell(self, cell: Cell | TextCell, shared_state: State | None) -> FormattedLine:
        """Lay out one cell as a line of text; its numbers show their state unless the whole row shares it."""
        if isinstance(cell, TextCell):
            return (TextSpan(cell.text),)
        # A cell whose values are all missing prints one dash.
        is_empty = all(number.value is None and not number.notes for number in cell.numbers)
        line: list[TextElement] = []
        for number in cell.numbers[:1] if is_empty else cell.numbers:
            line += [*([TextSpan(NUMBER_SEPARATOR)] if line else []), *self._number(number, shared_state)]
        return tuple(line)

    def _number(self, number: TableNumber, shared_state: State | None) -> Iterator[TextElement]:
        """Yield a number, its marks and interval, and its comparison unless comparisons are stacked."""
        is_best_bold, has_value = self._table.bold == "best", number.value is not None
        if has_value:
            bold, underlined = (
                (number.is_best, number.is_second_best) if is_best_bold else (number.is_significant, number.is_best)
            )
            italic = number.state == "published"
            text = format_value(number.value, number.decimals, signed=number.signed)
            yield TextSpan(text, bold, underlined, italic=italic, grey=number.is_greyed, link=number.link)
        else:
            yield TextSpan(EN_DASH)
        state = "" if number.state == shared_state else _state_symbol(number.state)
        significant = "*" if number.is_significant and is_best_bold else ""
        yield from self._marks(number.notes, state, significant, GREY_SYMBOL if number.is_greyed else "")
        if number.interval and has_value:
            interval = format_interval(*number.interval, number.decimals)
            yield from (TextSpan(" "), TextSpan(interval, small=True))
        if self._table.has_comparison and not self._stacked and (texts := format_comparison(number)):
            yield from (TextSpan(" "), TextSpan(f"({', '.join(texts)})", small=True))

    def _marks(self, notes: Iterable[str], *symbols: str) -> FormattedLine:
        """Return the superscript symbols and the letters of footnotes, if there are any."""
        letters = {self.letters.setdefault(note, _footnote_letter(len(self.letters))) for note in notes}
        marks = (*filter(None, symbols), *sorted(letters, key=lambda letter: (len(letter), letter)))
        return (Superscripts(marks),) if marks else ()


def _state_symbol(state: State | None) -> str:
    return STATE_SYMBOLS[state][0] if state in STATE_SYMBOLS else ""


def _footnote_letter(index: int) -> str:
    """Return the letters of a footnote: 0 -> a, 25 -> z, 26 -> aa."""
    quotient, remainder = divmod(index, len(ascii_lowercase))
    return (_footnote_letter(quotient - 1) if quotient else "") + ascii_lowercase[remainder]


def _comparison_rows(row: TableRow) -> Iterator[LayoutRow]:
    """Yield a row of published values and a row of differences, if any number of the row has them."""
    comparisons = [
        [format_comparison(number) for number in cell.numbers] if isinstance(cell, Cell) else [] for cell in row.cells
    ]
    if not any(map(any, comparisons)):
        return
    for part, name in enumerate(("published", "difference")):  # the two parts of a comparison
        texts = [_list_part(cell_comparisons, part) for cell_comparisons in comparisons]
        cells = tuple(tuple(TextSpan(text, small=True) for text in cell_texts) for cell_texts in texts)
        yield LayoutRow((TextSpan(name, small=True),), cells)


def _list_part(cell_comparisons: Sequence[tuple[str, str] | None], part: int) -> list[str]:
    """Return this part of the comparisons of a cell's numbers, with separators; empty if no number has any."""
    if not any(cell_comparisons):
        return []
    texts = [comparison[part] if comparison else EN_DASH for comparison in cell_comparisons]
    return [*chain.from_iterable((text, NUMBER_SEPARATOR) for text in texts)][:-1]


def _list_legend_lines(table: Table, stacked: bool) -> Iterator[tuple[bool, FormattedLine]]:
    """Yield each line of the legend, and whether the table uses the style or symbol that the line explains."""
    numbers = [number for row in table.rows() for number in collect_numbers(row)]
    numbers_with_value = [number for number in numbers if number.value is not None]
    states = {number.state for number in numbers}
    has_best, has_second = (
        any(number.is_best for number in numbers_with_value),
        any(number.is_second_best for number in numbers_with_value),
    )
    has_significant, is_best_bold = any(number.is_significant for number in numbers_with_value), table.bold == "best"
    references = ["references"] if any(row.is_reference for row in table.rows()) else []
    exceptions = " and ".join(references + (["incomplete numbers"] if "incomplete" in states else []))
    rank_text = f"best of its group of rows{f' (without {exceptions})' if exceptions else ''}."
    yield is_best_bold and has_best, (TextSpan("Bold", bold=True), TextSpan(f": {rank_text}"))
    yield is_best_bold and has_second, (TextSpan("Underlined", underlined=True), TextSpan(f": second {rank_text}"))
    yield is_best_bold and has_significant, (Superscripts(("*",)), TextSpan(f"{NO_BREAK}{table.significance}."))
    yield not is_best_bold and has_significant, (TextSpan("Bold", bold=True), TextSpan(f": {table.significance}."))
    yield not is_best_bold and has_best, (TextSpan("Underlined", underlined=True), TextSpan(f": {rank_text}"))
    for state, (sign, meaning) in STATE_SYMBOLS.items():
        yield state in states, (Superscripts((sign,)), TextSpan(f"{NO_BREAK}{meaning}"))
    grey = f"{NO_BREAK}Grey: too few frames to answer the question; not compared with other rows."
    yield any(number.is_greyed for number in numbers_with_value), (Superscripts((GREY_SYMBOL,)), TextSpan(grey))
    yield len(numbers_with_value) < len(numbers), (TextSpan(f"{EN_DASH}: no value."),)
    place = "Below the numbers" if stacked else "In parentheses"
    comparison_text = f"{place}: published value, and difference (ours {MINUS} published)."
    yield table.has_comparison and any(map(format_comparison, numbers)), (TextSpan(comparison_text),)
    yield (
        any(number.interval for number in numbers_with_value),
        (TextSpan("In brackets: interval of the number."),),
    )
    abbreviations = _abbreviations(table)
    explanations = (
        (
            parse_heading(abbreviation),
            TextSpan(f": {table.abbreviations[abbreviation]}{'.' if position == len(abbreviations) else '; '}"),
        )
        for position, abbreviation in enumerate(abbreviations, start=1)
    )
    yield bool(abbreviations), tuple(chain.from_iterable(explanations))


def _abbreviations(table: Table) -> list[str]:
    """Return the abbreviations that occur in a table, in reading order. Longer abbreviations take precedence."""
    texts = [table.stub]
    for group in table.groups:
        texts += [group.header, *(column.header for column in group.columns)]
    for section in table.sections:
        texts.append(section.title)
        for row in section.rows:
            texts += [row.label, *(cell.text for cell in row.cells if isinstance(cell, TextCell))]
    longest_first = "|".join(map(re.escape, sorted(table.abbreviations, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![^\W\d])(?:{longest_first})(?!\w)")  # also after a number, as in 8f
    # Without abbreviations, the pattern matches empty texts, which `if abbreviation` drops.
    return list(dict.fromkeys(abbreviation for text in texts for abbreviation in pattern.findall(text) if abbreviation))
