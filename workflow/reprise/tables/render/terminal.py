"""Render tables for terminals of any width: columns that do not fit continue below, with the row labels."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from textwrap import wrap

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from reprise.core.plain import escape_invisible
from reprise.tables.render.layout import (
    BLANKS,
    FormattedLine,
    IndexedName,
    Layout,
    LayoutRow,
    LayoutSection,
    Superscripts,
    compute_layout,
    wrap_header,
)
from reprise.tables.render.table import Table

MIN_WIDTH, GAP = 40, 2
MAX_LABEL_SHARE = 0.4  # the largest share of the width for the row labels
SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz0123456789", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹")
TITLE, WARNING = "bold cyan", "bold red"


@dataclass(frozen=True)
class TerminalStyle:
    """The style of text elements: the terminal's styles, or plain characters if the text is written to a file."""

    is_styled: bool = False
    is_coloured: bool = False

    def format_line(self, line: FormattedLine) -> Text:
        text = Text()
        for element in line:
            if isinstance(element, Superscripts):
                text.append("".join(map(_superscript, element.symbols)))
            elif isinstance(element, IndexedName):
                text.append(f"{element.name}{'^' if element.is_exponent else '_'}{element.index}")
            elif self.is_styled:
                kinds = (("bold", element.bold), ("dim", element.small or element.grey), ("italic", element.italic))
                styles = [kind for kind, is_set in (*kinds, ("underline", element.underlined)) if is_set]
                text.append(clean_text(element.text), " ".join(styles))
            else:
                source = f"_{clean_text(element.text)}_" if element.underlined else clean_text(element.text)
                text.append(f"[{source}]" if element.bold else source)
        return text


def clean_text(text: str) -> str:
    """Return a text as one line without control characters."""
    return escape_invisible(BLANKS.sub(" ", text))


def wrap_text(text: str, width: int) -> list[str]:
    return wrap(clean_text(text), width, break_on_hyphens=False)


def _superscript(symbol: str) -> str:
    """Return a superscript; the letter q gets a caret, because no superscript of it exists in fonts."""
    return f"^{symbol}" if "q" in symbol else symbol.translate(SUPERSCRIPTS)


def render(table: Table, width: int, style: TerminalStyle) -> str:
    """Return the whole table; comparisons are beside their numbers if all columns fit, else below them."""
    buffer = StringIO()
    console = Console(
        file=buffer, width=max(width, MIN_WIDTH), force_terminal=style.is_styled, no_color=not style.is_coloured,
        color_system="standard" if style.is_styled else None, highlight=False,
    )  # fmt: skip
    layout = compute_layout(table)
    columns = _Columns(table, layout, style)
    if table.has_comparison and columns.width > console.width:
        layout = compute_layout(table, stacked=True)
        columns = _Columns(table, layout, style)
    blocks: list[Text | Grid] = [Text(clean_text(table.heading), TITLE)]
    blocks += [Text(clean_text(text)) for text in (table.notice, table.caption) if text]
    blocks += [Text(), *columns.blocks(console.width)]
    blocks += [Text(clean_text(warning), WARNING) for warning in table.warnings]
    blocks += [style.format_line(line) for line in layout.legend]
    footnotes = Grid.grid(padding=(0, 1, 0, 0))
    for letter, text in layout.footnotes:
        footnotes.add_row(_superscript(letter), Text(clean_text(text)))
    blocks += [footnotes] if layout.footnotes else []
    for block in (*blocks, *(Text(clean_text(note)) for note in table.notes)):
        console.print(block)
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def _rows(section: LayoutSection) -> list[LayoutRow]:
    return [row for first in section.rows for row in (first, *first.comparison_rows)]


class _Columns:
    """The columns of a table, and their division into blocks that fit a width."""

    def __init__(self, table: Table, layout: Layout, style: TerminalStyle) -> None:
        self._table, self._sections, self._style = table, layout.sections, style
        self._headers = [style.format_line((header,)) for header in layout.headers]
        self._stub = Text(clean_text(table.stub))
        rows = [row for section in layout.sections for row in _rows(section)]
        cells = zip(*([style.format_line(cell).cell_len for cell in row.cells] for row in rows), strict=True)
        words = [max(map(len, wrap_header(header.plain))) for header in self._headers]
        self._widths = [max(pair) for pair in zip(words, map(max, cells), strict=True)] if rows else words
        self._label = max([self._stub.cell_len, *(style.format_line(row.label).cell_len for row in rows)])
        self.width = self._label + sum(GAP + width for width in self._widths)

    def blocks(self, width: int) -> Iterator[Text | Grid]:
        """Yield the columns in as many blocks as the width requires, of about equal width."""
        label = self._label if self.width <= width else min(self._label, round(MAX_LABEL_SHARE * width))
        room = width - label
        blocks = self._columns_within(room)
        # The narrowest width that needs no further block gives blocks of about equal width.
        while len(narrower := self._columns_within(room := room - 1)) == len(blocks) and room > 0:
            blocks = narrower
        for columns in blocks:
            spanning = self._spanning_headers(label, columns)
            if spanning.plain.strip():
                yield spanning
            yield self._grid(label, columns, [(self._stub, self._headers)])
            yield Text("─" * min(width, label + sum(GAP + self._widths[index] for index in columns)))
            for section in self._sections:
                if section.title:
                    yield Text(clean_text(section.title), TITLE)
                rows = [
                    (self._style.format_line(row.label), [*map(self._style.format_line, row.cells)])
                    for row in _rows(section)
                ]
                yield self._grid(label, columns, rows)
            yield Text()

    def _columns_within(self, room: int) -> list[range]:
        starts, line_width = [0], 0
        for index, width in enumerate(self._widths):
            if index > starts[-1] and line_width + GAP + width > room:
                starts.append(index)
                line_width = 0
            line_width += GAP + width
        return [range(start, end) for start, end in pairwise([*starts, len(self._widths)])]

    def _grid(self, label: int, columns: range, rows: Iterable[tuple[Text, list[Text]]]) -> Grid:
        """Return rows of a block; if a label has several lines, the cells are in its last line."""
        grid = Grid.grid(padding=(0, GAP, 0, 0))
        grid.add_column(width=label, vertical="bottom")
        for index in columns:
            grid.add_column(width=self._widths[index], justify=self._table.columns[index].align, vertical="bottom")
        for name, cells in rows:
            grid.add_row(name, *cells[columns.start : columns.stop])
        return grid

    def _spanning_headers(self, label: int, columns: range) -> Text:
        """Return the headers over several columns, each above those of its columns that are in this block."""
        line, first = " " * label, 0
        for group in self._table.groups:
            members = [index for index in range(first, first + len(group.columns)) if index in columns]
            first += len(group.columns)
            if members:
                room = sum(GAP + self._widths[index] for index in members) - GAP
                text = Text(clean_text(group.header))
                text.truncate(room, overflow="ellipsis")
                line += " " * GAP + text.plain.center(room)
        return Text(line)
