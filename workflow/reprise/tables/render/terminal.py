"""A table for a terminal of any width: what does not fit beside each other stands below, the row labels repeated."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from reprise.core.plain import visible
from reprise.tables.render.layout import LaidRow, Layout, lay_out
from reprise.tables.render.pieces import Indexed, Line, Marks, Piece, Span
from reprise.tables.render.table import Alignment, Table

NARROWEST, GAP = 40, 2
LABEL_SHARE = 0.4  # of the width, at most, for the row labels
HEADER_WIDEST = 9  # a longer header is wrapped between words
BLANKS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
RAISED = str.maketrans("abcdefghijklmnoprstuvwxyz0123456789", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹")
BOLD, DIM, ITALIC, UNDERLINED, RED, CYAN, END = 1, 2, 3, 4, 31, 36, "\x1b[0m"


@dataclass(frozen=True)
class Print:
    """How marked text looks: by the terminal's own print, or by signs where a file takes the text."""

    styled: bool = False
    coloured: bool = False

    def spell(self, line: Line) -> "Cell":
        """A line of a table."""
        parts = [self._piece(piece) for piece in line]
        return Cell("".join(part.text for part in parts), sum(part.width for part in parts))

    def _piece(self, piece: Piece) -> "Cell":
        if isinstance(piece, Marks):
            return plain_cell("".join(map(_raised, piece.symbols)))
        if isinstance(piece, Indexed):
            return plain_cell(f"{piece.name}{'^' if piece.raised else '_'}{piece.index}")
        return self._span(piece)

    def _span(self, span: Span) -> "Cell":
        text = clean(span.text)
        if not self.styled:
            marked = f"_{text}_" if span.underlined else text
            return plain_cell(f"[{marked}]" if span.bold else marked)
        codes = [
            (span.bold, BOLD),
            (span.small or span.grey, DIM),
            (span.italic, ITALIC),
            (span.underlined, UNDERLINED),
        ]
        return self._in(text, [code for is_set, code in codes if is_set])

    def title(self, text: str) -> str:
        """A heading of the whole table or of some rows."""
        return self._in(text, [BOLD, *[CYAN] * self.coloured]).text

    def warning(self, text: str) -> str:
        """A line that must be seen."""
        return self._in(text, [BOLD, *[RED] * self.coloured]).text

    def _in(self, text: str, codes: Sequence[int]) -> "Cell":
        if not codes or not self.styled:
            return plain_cell(text)
        return Cell(f"\x1b[{';'.join(map(str, codes))}m{text}{END}", len(text))


@dataclass(frozen=True)
class Cell:
    """Text and the number of places that it takes on the screen."""

    text: str
    width: int


def plain_cell(text: str) -> Cell:
    """Text without any print."""
    return Cell(text, len(text))


def clean(text: str) -> str:
    """A text on one line that means nothing to a terminal."""
    return visible(BLANKS.sub(" ", text))


def _raised(symbol: str) -> str:
    """A superscript; the letter q has none that fonts know."""
    return f"^{symbol}" if "q" in symbol else symbol.translate(RAISED)


def render(table: Table, width: int, look: Print) -> str:
    """The whole table: comparisons beside their numbers where all columns fit, else below them."""
    width = max(width, NARROWEST)
    grid = _Grid(table, lay_out(table), look)
    if table.comparison and grid.width > width:
        grid = _Grid(table, lay_out(table, stacked=True), look)
    head = [look.title(line) for line in wrapped(table.heading, width)]
    head += wrapped(table.notice, width) + wrapped(table.caption, width)
    return "\n".join([*head, "", *grid.lines(width), *_below(table, grid.layout, look, width)]) + "\n"


def _below(table: Table, layout: Layout, look: Print, width: int) -> Iterator[str]:
    """Warnings, legend, footnotes and notes."""
    for warning in table.warnings:
        yield from map(look.warning, wrapped(warning, width))
    for line in layout.legend:
        yield from _wrapped_line(line, look, width)
    for letter, text in layout.footnotes:
        yield from wrapped(text, width, f"{_raised(letter)} ")
    for note in table.notes:
        yield from wrapped(note, width)


def wrapped(text: str, width: int, first: str = "") -> list[str]:
    """A text in lines of a width; a sign before the first line stands alone."""
    return wrap(clean(text), width, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)


def _wrapped_line(line: Line, look: Print, width: int) -> Iterator[str]:
    """A line of differently printed pieces, broken between words."""
    text, used = "", 0
    for word in _words(line, look):
        if used and used + len(word.text.rstrip()) - len(word.text) + word.width > width:
            yield text.rstrip()
            text, used = "", 0
        text, used = text + word.text, used + word.width
    if text:
        yield text.rstrip()


def _words(line: Line, look: Print) -> Iterator[Cell]:
    """The words of a line, each with the marks and the blanks that belong to it."""
    word = plain_cell("")
    for piece in line:
        parts = re.findall("[^ ]+ *| +", piece.text) if isinstance(piece, Span) else [""]
        for part in parts:
            cell = look.spell((replace(piece, text=part) if isinstance(piece, Span) else piece,))
            word = Cell(word.text + cell.text, word.width + cell.width)
            if part.endswith(" "):
                yield word
                word = plain_cell("")
    yield word


class _Grid:
    """The cells of a table, and how wide its columns are."""

    def __init__(self, table: Table, layout: Layout, look: Print) -> None:
        self.layout = layout
        self._look = look
        self._aligned: list[Alignment] = [column.align for column in table.columns]
        self._headers = [_header(clean(look.spell(line).text)) for line in layout.headers]
        self._stub = clean(table.stub)
        self._widths: list[int] = [
            max(*map(len, header), *(cell.width for cell in column), 1)
            for header, column in zip(self._headers, zip(*self._cells(), strict=True), strict=True)
        ]
        labels = [look.spell(row.label).width for row in self._rows()]
        self._label: int = max([len(self._stub), *labels])

    def _rows(self) -> Iterator[LaidRow]:
        for section in self.layout.sections:
            for row in section.rows:
                yield row
                yield from row.below

    def _cells(self) -> list[list[Cell]]:
        return [[self._look.spell(cell) for cell in row.cells] for row in self._rows()]

    @property
    def width(self) -> int:
        """Of all columns beside each other."""
        return sum((GAP + width for width in self._widths), self._label)

    def lines(self, width: int) -> Iterator[str]:
        """The columns in as many blocks as the width demands."""
        label = self._label if self.width <= width else min(self._label, round(LABEL_SHARE * width))
        for columns in self._even_blocks(width - label):
            yield from self._head(label, columns)
            for section in self.layout.sections:
                if section.title:
                    yield self._look.title(clean(section.title))
                for row in section.rows:
                    yield from self._row(row, label, columns)
                    for below in row.below:
                        yield from self._row(below, label, columns)
            yield ""

    def _even_blocks(self, room: int) -> list[range]:
        """As few blocks as fit, all about as wide."""
        blocks = list(self._blocks(room))
        while len(found := list(self._blocks(room := room - 1))) == len(blocks) and room > 0:
            blocks = found
        return blocks

    def _blocks(self, room: int) -> Iterator[range]:
        start, used = 0, 0
        for at, width in enumerate(self._widths):
            if at > start and used + GAP + width > room:
                yield range(start, at)
                start, used = at, 0
            used += GAP + width
        yield range(start, len(self._widths))

    def _head(self, label: int, columns: range) -> Iterator[str]:
        if spanning := self._spanning(label, columns):
            yield spanning
        height = max(len(self._headers[at]) for at in columns)
        for line in range(height):
            stub = self._stub if line == height - 1 else ""
            cells = []
            for at in columns:
                header = self._headers[at]
                above = height - len(header)
                cells.append(self._aligned_cell(plain_cell(header[line - above] if line >= above else ""), at))
            yield f"{stub:<{label}}{''.join(cells)}".rstrip()
        yield "─" * (label + sum(GAP + self._widths[at] for at in columns))

    def _spanning(self, label: int, columns: range) -> str:
        """Headers over several columns, each above those of its columns that are in this block."""
        line = " " * label
        for at in columns:
            found = next((one for one in self.layout.spanning if one.first <= at < one.first + one.count), None)
            is_first = found is not None and (at == found.first or at == columns.start)
            if found is not None and is_first:
                members = [one for one in range(found.first, found.first + found.count) if one in columns]
                room = sum(GAP + self._widths[one] for one in members) - GAP
                text = clean(self._look.spell(found.line).text)
                shown = text if len(text) <= room else f"{text[: room - 1]}…"
                line += " " * GAP + f"{shown:^{room}}"
            elif found is None:
                line += " " * (GAP + self._widths[at])
        return line.rstrip()

    def _row(self, row: LaidRow, label: int, columns: range) -> Iterator[str]:
        """A row; a label that is too long goes on below, its cells are in its last line."""
        name = self._look.spell(row.label)
        *before, last = [name.text] if name.width <= label else wrapped(name.text, label) or [""]
        yield from before
        cells = "".join(self._aligned_cell(self._look.spell(row.cells[at]), at) for at in columns)
        width = name.width if not before else len(last)
        yield f"{last}{' ' * (label - width)}{cells}".rstrip()

    def _aligned_cell(self, cell: Cell, at: int) -> str:
        space = self._widths[at] - cell.width
        left = {"left": 0, "center": space // 2, "right": space}[self._aligned[at]]
        return f"{' ' * (GAP + left)}{cell.text}{' ' * (space - left)}"


def _header(text: str) -> list[str]:
    """A column's header in lines, broken between words alone."""
    return wrap(text, HEADER_WIDEST, break_long_words=False, break_on_hyphens=False) or [""]
