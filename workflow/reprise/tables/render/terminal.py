"""A table for a terminal of any width: what does not fit beside each other stands below, the row labels repeated."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from reprise.core.plain import visible
from reprise.tables.render.layout import LaidRow, Layout, in_lines, lay_out
from reprise.tables.render.pieces import BLANKS, Indexed, Line, Marks, Piece, Span
from reprise.tables.render.table import Table

NARROWEST, GAP = 40, 2
LABEL_SHARE = 0.4  # of the width, at most, for the row labels
RAISED = str.maketrans("abcdefghijklmnoprstuvwxyz0123456789", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹")
PRINT = re.compile(r"\x1b\[[0-9;]*m")
BOLD, DIM, ITALIC, UNDERLINED, RED, CYAN, END = 1, 2, 3, 4, 31, 36, "\x1b[0m"


@dataclass(frozen=True)
class Print:
    """How marked text looks: by the terminal's own print, or by signs where a file takes the text."""

    styled: bool = False
    coloured: bool = False

    def spell(self, line: Line) -> str:
        """A line of a table."""
        return "".join(map(self._piece, line))

    def _piece(self, piece: Piece) -> str:
        if isinstance(piece, Marks):
            return "".join(map(_raised, piece.symbols))
        if isinstance(piece, Indexed):
            return f"{piece.name}{'^' if piece.raised else '_'}{piece.index}"
        text = _clean(piece.text)
        if self.styled:
            prints = ((piece.bold, BOLD), (piece.small, DIM), (piece.italic, ITALIC), (piece.underlined, UNDERLINED))
            return self.bright(text, *(code for applies, code in prints if applies))
        text = f"_{text}_" if piece.underlined else text
        return f"[{text}]" if piece.bold else text

    def bright(self, text: str, *codes: int) -> str:
        """A text in the print of these codes, as far as the terminal has it."""
        known = [str(code) for code in codes if self.coloured or code not in (RED, CYAN)]
        return f"\x1b[{';'.join(known)}m{text}{END}" if known and self.styled else text


def _clean(text: str) -> str:
    """A text on one line that means nothing to a terminal."""
    return visible(BLANKS.sub(" ", text))


def _width(text: str) -> int:
    """The places that a text takes on the screen."""
    return len(PRINT.sub("", text))


def _raised(symbol: str) -> str:
    """A superscript; the letter q has none that fonts know."""
    return f"^{symbol}" if "q" in symbol else symbol.translate(RAISED)


def render(table: Table, width: int, look: Print) -> str:
    """The whole table: comparisons beside their numbers where all columns fit, else below them."""
    width = max(width, NARROWEST)
    grid = _Grid(table, lay_out(table), look)
    if table.comparison and grid.width > width:
        grid = _Grid(table, lay_out(table, stacked=True), look)
    lines = [look.bright(line, BOLD, CYAN) for line in wrapped(table.heading, width)]
    lines += [*wrapped(table.notice, width), *wrapped(table.caption, width), "", *grid.lines(width)]
    for warning in table.warnings:
        lines += [look.bright(line, BOLD, RED) for line in wrapped(warning, width)]
    for line in grid.layout.legend:
        lines += _wrapped_line(line, look, width)
    for letter, text in grid.layout.footnotes:
        lines += wrapped(text, width, f"{_raised(letter)} ")
    for note in table.notes:
        lines += wrapped(note, width)
    return "\n".join(lines) + "\n"


def wrapped(text: str, width: int, first: str = "") -> list[str]:
    """A text in lines of a width; a sign before the first line stands alone."""
    return wrap(_clean(text), width, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)


def _wrapped_line(line: Line, look: Print, width: int) -> Iterator[str]:
    """A line of differently printed pieces, broken between words; marks belong to the word before them."""
    words = [""]
    for piece in line:
        for part in re.findall("[^ ]+ *| +", piece.text) if isinstance(piece, Span) else [""]:
            words[-1] += look.spell((replace(piece, text=part) if isinstance(piece, Span) else piece,))
            if part.endswith(" "):
                words.append("")
    text = ""
    for word in words:
        if text and _width(text + word.rstrip()) > width:
            yield text.rstrip()
            text = ""
        text += word
    if text:
        yield text.rstrip()


class _Grid:
    """The cells of a table, and how wide its columns are."""

    def __init__(self, table: Table, layout: Layout, look: Print) -> None:
        self.layout, self._look, self._table = layout, look, table
        self._headers = [in_lines(_clean(look.spell((header,)))) for header in layout.headers]
        self._stub = _clean(table.stub)
        rows = [one for section in layout.sections for row in section.rows for one in (row, *row.below)]
        columns = zip(*([_width(look.spell(cell)) for cell in row.cells] for row in rows), strict=True)
        self._widths = [
            max(*map(len, header), *widths, 1) for header, widths in zip(self._headers, columns, strict=True)
        ]
        self._label = max([len(self._stub), *(_width(look.spell(row.label)) for row in rows)])
        self.width = self._label + sum(GAP + width for width in self._widths)
        """of all columns beside each other"""

    def lines(self, width: int) -> Iterator[str]:
        """The columns in as many blocks as the width demands, all about as wide."""
        label = self._label if self.width <= width else min(self._label, round(LABEL_SHARE * width))
        room = width - label
        blocks = self._blocks(room)
        while room > 1 and len(found := self._blocks(room := room - 1)) == len(blocks):
            blocks = found
        for columns in blocks:
            yield from self._head(label, columns)
            for section in self.layout.sections:
                if section.title:
                    yield self._look.bright(_clean(section.title), BOLD, CYAN)
                for row in section.rows:
                    for one in (row, *row.below):
                        yield from self._row(one, label, columns)
            yield ""

    def _blocks(self, room: int) -> list[range]:
        starts, used = [0], 0
        for at, width in enumerate(self._widths):
            if at > starts[-1] and used + GAP + width > room:
                starts.append(at)
                used = 0
            used += GAP + width
        return [range(start, end) for start, end in zip(starts, [*starts[1:], len(self._widths)], strict=True)]

    def _head(self, label: int, columns: range) -> Iterator[str]:
        """Headers over groups of columns, those of the columns, and a rule."""
        spanning, first = " " * label, 0
        for group in self._table.groups:
            members = [at for at in range(first, first + len(group.columns)) if at in columns]
            first += len(group.columns)
            if members:
                room = sum(GAP + self._widths[at] for at in members) - GAP
                text = _clean(group.header)
                spanning += f"{' ' * GAP}{text if len(text) <= room else f'{text[: room - 1]}…':^{room}}"
        if spanning.strip():
            yield spanning.rstrip()
        height = max(len(self._headers[at]) for at in columns)
        for line in range(height):
            above = [height - len(self._headers[at]) for at in columns]
            texts = [
                self._headers[at][line - top] if line >= top else "" for at, top in zip(columns, above, strict=True)
            ]
            yield f"{self._stub if line == height - 1 else '':<{label}}{self._cells(texts, columns)}".rstrip()
        yield "─" * (label + sum(GAP + self._widths[at] for at in columns))

    def _row(self, row: LaidRow, label: int, columns: range) -> Iterator[str]:
        """A row; a label that is too long goes on below, its cells are in its last line."""
        name = self._look.spell(row.label)
        *before, last = [name] if _width(name) <= label else wrapped(name, label) or [""]
        yield from before
        cells = self._cells([self._look.spell(row.cells[at]) for at in columns], columns)
        yield f"{last}{' ' * (label - _width(last))}{cells}".rstrip()

    def _cells(self, cells: Sequence[str], columns: range) -> str:
        """Cells beside each other, each aligned in its column."""
        found = ""
        for cell, at in zip(cells, columns, strict=True):
            space = " " * (self._widths[at] - _width(cell))
            is_left = self._table.columns[at].align == "left"
            found += f"{' ' * GAP}{cell}{space}" if is_left else f"{' ' * GAP}{space}{cell}"
        return found
