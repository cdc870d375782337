"""A table for a terminal of any width: what does not fit beside each other stands below, the row labels repeated."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from textwrap import wrap

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from reprise.core.plain import visible
from reprise.tables.render.layout import BLANKS, Indexed, LaidRow, LaidSection, Layout, Line, Marks, in_lines, lay_out
from reprise.tables.render.table import Table

NARROWEST, GAP = 40, 2
LABEL_SHARE = 0.4  # of the width, at most, for the row labels
RAISED = str.maketrans("abcdefghijklmnoprstuvwxyz0123456789", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹")
TITLE, WARNING = "bold cyan", "bold red"


@dataclass(frozen=True)
class Print:
    """How marked text looks: by the terminal's own print, or by signs where a file takes the text."""

    styled: bool = False
    coloured: bool = False

    def text(self, line: Line) -> Text:
        text = Text()
        for piece in line:
            if isinstance(piece, Marks):
                text.append("".join(map(_raised, piece.symbols)))
            elif isinstance(piece, Indexed):
                text.append(f"{piece.name}{'^' if piece.raised else '_'}{piece.index}")
            elif self.styled:
                kinds = (("bold", piece.bold), ("dim", piece.small or piece.grey), ("italic", piece.italic))
                styles = [kind for kind, is_set in (*kinds, ("underline", piece.underlined)) if is_set]
                text.append(clean(piece.text), " ".join(styles))
            else:
                marked = f"_{clean(piece.text)}_" if piece.underlined else clean(piece.text)
                text.append(f"[{marked}]" if piece.bold else marked)
        return text


def clean(text: str) -> str:
    """A text on one line that means nothing to a terminal."""
    return visible(BLANKS.sub(" ", text))


def wrapped(text: str, width: int) -> list[str]:
    return wrap(clean(text), width, break_on_hyphens=False)


def _raised(symbol: str) -> str:
    """A superscript; the letter q has none that fonts know."""
    return f"^{symbol}" if "q" in symbol else symbol.translate(RAISED)


def render(table: Table, width: int, look: Print) -> str:
    """The whole table: comparisons beside their numbers where all columns fit, else below them."""
    written = StringIO()
    console = Console(
        file=written, width=max(width, NARROWEST), force_terminal=look.styled, no_color=not look.coloured,
        color_system="standard" if look.styled else None, highlight=False,
    )  # fmt: skip
    layout = lay_out(table)
    columns = _Columns(table, layout, look)
    if table.comparison and columns.width > console.width:
        layout = lay_out(table, stacked=True)
        columns = _Columns(table, layout, look)
    shown: list[Text | Grid] = [Text(clean(table.heading), TITLE)]
    shown += [Text(clean(text)) for text in (table.notice, table.caption) if text]
    shown += [Text(), *columns.blocks(console.width)]
    shown += [Text(clean(warning), WARNING) for warning in table.warnings]
    shown += [look.text(line) for line in layout.legend]
    footnotes = Grid.grid(padding=(0, 1, 0, 0))
    for letter, text in layout.footnotes:
        footnotes.add_row(_raised(letter), Text(clean(text)))
    shown += [footnotes] if layout.footnotes else []
    for one in (*shown, *(Text(clean(note)) for note in table.notes)):
        console.print(one)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def _rows(section: LaidSection) -> list[LaidRow]:
    return [row for first in section.rows for row in (first, *first.below)]


class _Columns:
    def __init__(self, table: Table, layout: Layout, look: Print) -> None:
        self._table, self._sections, self._look = table, layout.sections, look
        self._headers = [look.text((header,)) for header in layout.headers]
        self._stub = Text(clean(table.stub))
        rows = [row for section in layout.sections for row in _rows(section)]
        cells = zip(*([look.text(cell).cell_len for cell in row.cells] for row in rows), strict=True)
        words = [max(map(len, in_lines(header.plain))) for header in self._headers]
        self._widths = [max(pair) for pair in zip(words, map(max, cells), strict=True)] if rows else words
        self._label = max([self._stub.cell_len, *(look.text(row.label).cell_len for row in rows)])
        self.width = self._label + sum(GAP + width for width in self._widths)

    def blocks(self, width: int) -> Iterator[Text | Grid]:
        """The columns in as many blocks as the width demands, all about as wide."""
        label = self._label if self.width <= width else min(self._label, round(LABEL_SHARE * width))
        room = width - label
        blocks = self._columns_within(room)
        while len(found := self._columns_within(room := room - 1)) == len(blocks) and room > 0:
            blocks = found
        for columns in blocks:
            spanning = self._spanning(label, columns)
            if spanning.plain.strip():
                yield spanning
            yield self._beside(label, columns, [(self._stub, self._headers)])
            yield Text("─" * min(width, label + sum(GAP + self._widths[at] for at in columns)))
            for section in self._sections:
                if section.title:
                    yield Text(clean(section.title), TITLE)
                spelled = [(self._look.text(row.label), [*map(self._look.text, row.cells)]) for row in _rows(section)]
                yield self._beside(label, columns, spelled)
            yield Text()

    def _columns_within(self, room: int) -> list[range]:
        starts, used = [0], 0
        for at, width in enumerate(self._widths):
            if at > starts[-1] and used + GAP + width > room:
                starts.append(at)
                used = 0
            used += GAP + width
        return [range(start, end) for start, end in pairwise([*starts, len(self._widths)])]

    def _beside(self, label: int, columns: range, rows: Iterable[tuple[Text, list[Text]]]) -> Grid:
        """Rows of a block; a label that is too long takes several lines, its cells are in its last one."""
        grid = Grid.grid(padding=(0, GAP, 0, 0))
        grid.add_column(width=label, vertical="bottom")
        for at in columns:
            grid.add_column(width=self._widths[at], justify=self._table.columns[at].align, vertical="bottom")
        for name, cells in rows:
            grid.add_row(name, *cells[columns.start : columns.stop])
        return grid

    def _spanning(self, label: int, columns: range) -> Text:
        """Headers over several columns, each above those of its columns that are in this block."""
        line, first = " " * label, 0
        for group in self._table.groups:
            members = [at for at in range(first, first + len(group.columns)) if at in columns]
            first += len(group.columns)
            if members:
                room = sum(GAP + self._widths[at] for at in members) - GAP
                text = Text(clean(group.header))
                text.truncate(room, overflow="ellipsis")
                line += " " * GAP + text.plain.center(room)
        return Text(line)
