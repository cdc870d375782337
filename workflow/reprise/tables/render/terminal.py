"""Render tables for terminals of any width. Columns that do not fit continue below, with repeated row labels."""

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

MIN_WIDTH, GAP = 40, 2  # minimum width of a table, and blanks between two columns
MAX_LABEL_SHARE = 0.4  # the largest share of the width for the row labels
SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz0123456789", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹")
TITLE, WARNING = "bold cyan", "bold red"  # styles of rich


@dataclass(frozen=True)
class TerminalStyle:
    """How text elements are styled: by the terminal, or by brackets and underscores if the output is a file."""

    is_styled: bool = False
    is_coloured: bool = False

    def format_line(self, line: FormattedLine) -> Text:
        """Return a line of text elements as a text of rich."""
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
    """Return a symbol as superscript. The letter q gets a caret instead, because Unicode has no superscript q."""
    return f"^{symbol}" if "q" in symbol else symbol.translate(SUPERSCRIPTS)


def render(table: Table, width: int, style: TerminalStyle) -> str:
    """Return the table as text. Comparisons are beside their numbers if all columns fit, or else below them."""
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


def _flatten_rows(section: LayoutSection) -> list[LayoutRow]:
    return [row for main_row in section.rows for row in (main_row, *main_row.comparison_rows)]


class _Columns:
    """Divide the columns of a table into blocks that fit the width of a terminal."""

    def __init__(self, table: Table, layout: Layout, style: TerminalStyle) -> None:
        self._table, self._sections, self._style = table, layout.sections, style
        self._headers = [style.format_line((header,)) for header in layout.headers]
        self._stub = Text(clean_text(table.stub))
        rows = [row for section in layout.sections for row in _flatten_rows(section)]
        cell_widths = zip(*([style.format_line(cell).cell_len for cell in row.cells] for row in rows), strict=True)
        header_widths = [max(map(len, wrap_header(header.plain))) for header in self._headers]
        self._widths = (
            [max(pair) for pair in zip(header_widths, map(max, cell_widths), strict=True)] if rows else header_widths
        )
        self._label_width = max([self._stub.cell_len, *(style.format_line(row.label).cell_len for row in rows)])
        self.width = self._label_width + sum(GAP + width for width in self._widths)

    def blocks(self, width: int) -> Iterator[Text | Grid]:
        """Yield the columns in as many blocks as the width requires, of about equal width."""
        label_width = (
            self._label_width if self.width <= width else min(self._label_width, round(MAX_LABEL_SHARE * width))
        )
        available_width = width - label_width
        blocks = self._divide_columns(available_width)
        # Reduce the width as long as the number of blocks stays the same. The blocks then have about equal widths.
        while available_width > 1:
            available_width -= 1
            narrower_blocks = self._divide_columns(available_width)
            if len(narrower_blocks) > len(blocks):
                break
            blocks = narrower_blocks
        for columns in blocks:
            spanning = self._spanning_headers(label_width, columns)
            if spanning.plain.strip():
                yield spanning
            yield self._grid(label_width, columns, [(self._stub, self._headers)])
            yield Text("─" * min(width, label_width + sum(GAP + self._widths[index] for index in columns)))
            for section in self._sections:
                if section.title:
                    yield Text(clean_text(section.title), TITLE)
                rows = [
                    (self._style.format_line(row.label), [*map(self._style.format_line, row.cells)])
                    for row in _flatten_rows(section)
                ]
                yield self._grid(label_width, columns, rows)
            yield Text()

    def _divide_columns(self, available_width: int) -> list[range]:
        starts, line_width = [0], 0
        for index, width in enumerate(self._widths):
            if index > starts[-1] and line_width + GAP + width > available_width:
                starts.append(index)
                line_width = 0
            line_width += GAP + width
        return [range(start, end) for start, end in pairwise([*starts, len(self._widths)])]

    def _grid(self, label_width: int, columns: range, rows: Iterable[tuple[Text, list[Text]]]) -> Grid:
        """Return the rows of a block as a grid. If a label has several lines, the cells align with its last line."""
        grid = Grid.grid(padding=(0, GAP, 0, 0))
        grid.add_column(width=label_width, vertical="bottom")
        for index in columns:
            grid.add_column(width=self._widths[index], justify=self._table.columns[index].align, vertical="bottom")
        for name, cells in rows:
            grid.add_row(name, *cells[columns.start : columns.stop])
        return grid

    def _spanning_headers(self, label_width: int, columns: range) -> Text:
        """Return the line of spanning headers. Each header is above those of its columns that are in this block."""
        line, first_column = " " * label_width, 0
        for group in self._table.groups:
            members = [index for index in range(first_column, first_column + len(group.columns)) if index in columns]
            first_column += len(group.columns)
            if members:
                span_width = sum(GAP + self._widths[index] for index in members) - GAP
                text = Text(clean_text(group.header))
                text.truncate(span_width, overflow="ellipsis")
                line += " " * GAP + text.plain.center(span_width)
        return Text(line)
