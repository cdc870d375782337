"""Render tables as LaTeX fragments: floats that choose their font size and their width when LaTeX runs.

The fragments need the packages in `PACKAGES`.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path

from reprise.tables.render.latex_columns import LatexColumn, build_column, render_line
from reprise.tables.render.latex_text import comment, escape
from reprise.tables.render.layout import Layout, LayoutRow, LayoutSection, compute_layout
from reprise.tables.render.table import Table, collect_numbers

PACKAGES = ("booktabs", "graphicx", "siunitx")
# Documents without the package color or xcolor print no grey; then only the symbol GREY_SYMBOL marks a number.
GREY_FALLBACK = r"\providecommand{\color}[2][]{}"
MAX_INLINE_COLUMNS = 3  # tables with more columns have comparisons below their numbers, not beside them
PAGE_LINES = 33  # lines of a table on one page; longer tables continue on further pages
# Ends of a row of numbers, and of the rows of published values and of differences below it.
ROW_ENDS = (r" \\", r" \\[-1.5pt]", r" \\[2pt]")
TablePart = list[tuple[LayoutSection, LayoutRow]]  # the rows on one page, each with its section


@cache
def float_commands() -> str:
    """Return the definition of the float of a table."""
    return Path(__file__).with_name("float.tex").read_text(encoding="ascii").rstrip()


def render(table: Table) -> str:
    """Return the fragment of a table: a float for each page. The last float has the remarks."""
    layout = compute_layout(table, stacked=table.has_comparison and len(table.columns) > MAX_INLINE_COLUMNS)
    lines = [line for section in layout.sections for row in section.rows for line in (row, *row.comparison_rows)]
    columns = [
        build_column(column, (line.cells[index] for line in lines)) for index, column in enumerate(table.columns)
    ]
    notice = rf"\textbf{{{escape(table.notice)}}} " if table.notice else ""
    title = f"{table.title} ({table.origin})" if table.origin else table.title
    caption, label = notice + escape(f"{title}. {table.caption}"), table.label
    parts = _split_into_pages(layout)
    floats = []
    for page_number, part in enumerate(parts, start=1):
        remarks = _remarks(table, layout) if page_number == len(parts) else []
        specification = "l" + "".join(column.specification for column in columns)
        floats += [rf"\reprisetable{{{caption}}}{{{label}}}{{{specification}}}{{%"]
        floats += [*_header_lines(table, layout, columns), "}{%", *_row_lines(columns, part), "}{%", *remarks, "}"]
        caption = label = ""
    is_grey = any(number.is_greyed for row in table.rows() for number in collect_numbers(row))
    packages = rf"Needs \usepackage{{{','.join(PACKAGES)}{',xcolor' if is_grey else ''}}}"
    comments = [table.heading, packages, *table.provenance]
    grey = [GREY_FALLBACK] if is_grey else []
    return "\n".join([*map(comment, comments), float_commands(), *grey, *floats]) + "\n"


def _split_into_pages(layout: Layout) -> list[TablePart]:
    """Divide the rows of a table into pages of about the same number of lines, at most `PAGE_LINES`."""
    rows = [(section, row) for section in layout.sections for row in section.rows]
    lines = [1 + len(row.comparison_rows) for _, row in rows]
    page_count = max(1, math.ceil(sum(lines) / PAGE_LINES))
    starts = _divide(lines, page_count)
    return [rows[start:end] for start, end in pairwise([*starts, len(rows)])]


def _divide(lines: Sequence[int], count: int) -> list[int]:
    """Return where each of `count` parts of about the same number of lines starts."""
    limits = [sum(lines) * part / count for part in range(count)]
    before = [0, *accumulate(lines)]  # number of lines before each row
    return list(dict.fromkeys(min(range(len(lines)), key=lambda row: abs(before[row] - limit)) for limit in limits))


def _row_lines(columns: Sequence[LatexColumn], part: TablePart) -> Iterator[str]:
    """Yield the rows of one page, with a mark where LaTeX may divide them in two parts."""
    lines = [1 + len(row.comparison_rows) for _, row in part]
    middle = _divide(lines, 2)[-1]
    previous_section = None
    for index, (section, row) in enumerate(part):
        title_lines = [r"\midrule"]
        if section.title:
            count = 1 + sum(column.count for column in columns)
            title_lines.append(rf"\multicolumn{{{count}}}{{l}}{{\textit{{{escape(section.title)}}}}} \\")
        is_new = section is not previous_section
        if index and index == middle:
            yield rf"\reprisebreak{{{'' if is_new else ' '.join(title_lines)}}}"
        yield from title_lines if is_new else ()
        previous_section = section
        for line, end in zip((row, *row.comparison_rows), ROW_ENDS, strict=False):
            label = ("" if line is row else r"\hspace{6pt}") + render_line(line.label)
            cells = (column.cell(cell) for column, cell in zip(columns, line.cells, strict=True))
            yield " & ".join([label, *cells]) + end


def _header_lines(table: Table, layout: Layout, columns: Sequence[LatexColumn]) -> Iterator[str]:
    """Yield the headers of the columns, below those of their groups."""
    if any(group.header for group in table.groups):
        yield from _group_headers(table, columns)
    headers = [column.header(header) for column, header in zip(columns, layout.headers, strict=True)]
    yield " & ".join([escape(table.stub), *headers]) + ROW_ENDS[0]


def _group_headers(table: Table, columns: Sequence[LatexColumn]) -> Iterator[str]:
    """Yield the row of the headers over groups of columns, and the rules below them."""
    counts = iter(columns)
    cells, rules, first_column = [""], [], 2  # Column 1 has the labels of the rows.
    for group in table.groups:
        count = sum(next(counts).count for _ in group.columns)
        cells.append(rf"\multicolumn{{{count}}}{{c}}{{{escape(group.header)}}}")
        rules += [rf"\cmidrule(lr){{{first_column}-{first_column + count - 1}}}"] if group.header else []
        first_column += count
    yield " & ".join(cells) + ROW_ENDS[0]
    yield " ".join(rules)


def _remarks(table: Table, layout: Layout) -> list[str]:
    """Return the small print under the table: a paragraph each of warnings, legend, footnotes and notes."""
    groups = [
        [rf"\textbf{{{escape(warning)}}}" for warning in table.warnings],
        [render_line(line) for line in layout.legend],
        [rf"\textsuperscript{{{letter}}}~{escape(text)}" for letter, text in layout.footnotes],
        [escape(note) for note in table.notes],
    ]
    return ["\n".join(lines) + r"\par" for lines in groups if lines]
