"""Write the output of commands: wrapped and styled in a terminal, complete and plain in a file or a pipe."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.text import Text

from reprise.core.notation import EN_DASH
from reprise.core.terminal import INDENT, get_width, is_terminal, wrap_line, wrap_text
from reprise.tables.render.table import Table
from reprise.tables.render.terminal import TerminalStyle, render

GAP = 2  # blanks between two columns
PIPE_WIDTH = 1000  # of tables in a file or a pipe, whose columns all stay beside each other


def write_lines(lines: Iterable[str]) -> None:
    """Write lines of text. In a terminal, longer ones are wrapped between words and continued with an indent."""
    width = get_width(sys.stdout)
    for line in lines:
        print(wrap_text(line, width))


def write_heading(text: str) -> None:
    """Write a heading, which is bold in a terminal."""
    width = get_width(sys.stdout)
    console = Console(
        highlight=False, soft_wrap=True, no_color=True, force_terminal=width is not None,
        color_system="standard" if width is not None else None,
    )  # fmt: skip
    for line in wrap_line(text, width):
        console.print(Text(line, "bold"))


def write_table(table: Table) -> None:
    """Write a table as `reprise show` does."""
    has_style = is_terminal(sys.stdout)
    style = TerminalStyle(has_style, has_style and not os.environ.get("NO_COLOR"))
    print(render(table, get_width(sys.stdout) or PIPE_WIDTH, style))


@dataclass(frozen=True)
class OutputColumn:
    """A column of numbers or short texts."""

    header: str
    align: Literal["left", "right"] = "right"


def write_rows(columns: Sequence[OutputColumn], rows: Sequence[Sequence[str]]) -> None:
    """Write rows of short texts in columns; the last column has names.

    Columns without any value but 0 are left out. If the rows are wider than the terminal, names are written below the
    numbers of their rows.
    """
    *value_columns, name_column = columns
    cells_by_column = [(column, [row[index] for row in rows]) for index, column in enumerate(value_columns)]
    blocks = [
        _align([column.header, *cells], column) for column, cells in cells_by_column if set(cells) - {"", "0", EN_DASH}
    ]
    header, *values = [(" " * GAP).join(cells) for cells in zip(*blocks, strict=True)] or [""] * (1 + len(rows))
    names, width = [row[-1] for row in rows], get_width(sys.stdout)
    is_stacked = width is not None and any(len(header) + GAP + len(name) > width for name in names)
    separator = " " * GAP if header else ""
    write_heading(header if is_stacked else f"{header}{separator}{name_column.header}")
    for value_text, name in zip(values, names, strict=True):
        if is_stacked:
            write_lines([value_text.rstrip(), f"{' ' * 2 * INDENT}{name}"])
        else:
            print(f"{value_text}{separator}{name}".rstrip())


def _align(texts: Sequence[str], column: OutputColumn) -> list[str]:
    """Return the texts of a column in its width."""
    size = max(map(len, texts))
    return [text.rjust(size) if column.align == "right" else text.ljust(size) for text in texts]
