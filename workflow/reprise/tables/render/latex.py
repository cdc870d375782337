"""A table as a LaTeX fragment: a `table` float that needs the package booktabs and nothing else."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from reprise.tables.render.latex_escape import comment, escape
from reprise.tables.render.layout import LaidRow, LaidSection, Layout, Spanning, lay_out
from reprise.tables.render.pieces import Line, Marks, Span, plain_text
from reprise.tables.render.table import Column, Table

ALIGNMENTS = {"left": "l", "center": "c", "right": "r"}
LINE_PT = 345  # width of a line of `article`, which has the narrowest page

CAPITAL_IN_DIGITS = 1.2


class Font(NamedTuple):
    """A font size with what it takes."""

    command: str
    digit_pt: float
    separation_pt: float
    """Blank on both sides of a column."""


FONTS = (
    Font(r"\small", 4.7, 5),
    Font(r"\footnotesize", 4.3, 4),
    Font(r"\scriptsize", 4.0, 3),
    Font(r"\scriptsize", 4.0, 1.5),
    Font(r"\tiny", 3.4, 1.5),
)


def render(table: Table) -> str:
    """The whole fragment."""
    layout = lay_out(table)
    parts = [
        *opening(table),
        *font_lines(layout),
        rf"\begin{{tabular}}{{{column_format(table.columns)}}}",
        r"\toprule",
        *header_lines(table, layout),
        *body_lines(layout, len(table.columns) + 1),
        r"\bottomrule",
        r"\end{tabular}",
        *remarks(table, layout),
        r"\end{table}",
    ]
    return "\n".join(parts) + "\n"


def opening(table: Table) -> list[str]:
    """Where the numbers come from as comments, then the float's start with its caption."""
    return [
        comment(table.title),
        *map(comment, table.provenance),
        r"\begin{table}[tbp]",
        r"\centering",
        caption(table),
        rf"\label{{{table.label}}}",
        r"\vspace{4pt}",
    ]


def caption(table: Table) -> str:
    """The caption, after a bold notice if there is one."""
    notice = rf"\textbf{{{escape(table.notice)}}} " if table.notice else ""
    return rf"\caption{{{notice}{escape(table.caption)}}}"


def font_lines(layout: Layout) -> list[str]:
    """The largest font in which the table is likely to fit the line, else the smallest."""
    widths = column_widths(layout)
    fitting = [font for font in FONTS if sum(widths) * font.digit_pt + len(widths) * 2 * font.separation_pt <= LINE_PT]
    font = fitting[0] if fitting else FONTS[-1]
    return [font.command, rf"\setlength{{\tabcolsep}}{{{font.separation_pt}pt}}"]


def column_widths(layout: Layout) -> list[float]:
    """Width of the widest cell of each column, in digits."""
    rows = [("", *map(plain_text, layout.headers))]
    rows += [(plain_text(row.label), *map(plain_text, row.cells)) for part in layout.sections for row in part.rows]
    return [max(map(width_in_digits, column)) for column in zip(*rows, strict=True)]


def width_in_digits(text: str) -> float:
    """About how many digits are as wide as the text."""
    return sum(CAPITAL_IN_DIGITS if sign.isupper() else 1 for sign in text)


def column_format(columns: Sequence[Column]) -> str:
    """TableRow labels to the left, then each column as it is aligned."""
    return "l" + "".join(ALIGNMENTS[column.align] for column in columns)


def header_lines(table: Table, layout: Layout) -> list[str]:
    """Spanning headers with their rules, if any, and the headers of the columns."""
    headers = [spell(line, hanging=True) for line in layout.headers]
    return [*spanning_lines(layout.spanning, len(headers)), row_source([escape(table.stub), *headers])]


def spanning_lines(spanning: Sequence[Spanning], columns: int) -> list[str]:
    """One line of spanning headers and one of rules under them; none without such headers."""
    if not spanning:
        return []
    cells, reached = [""], 0
    for head in spanning:
        source = rf"\multicolumn{{{head.count}}}{{c}}{{{spell(head.line)}}}"
        cells += [""] * (head.first - reached) + [source]
        reached = head.first + head.count
    rules = [rf"\cmidrule(lr){{{head.first + 2}-{head.first + head.count + 1}}}" for head in spanning]
    return [row_source(cells + [""] * (columns - reached)), " ".join(rules)]


def body_lines(layout: Layout, columns: int) -> list[str]:
    """All sections, a rule before each."""
    sources = [[row_cells(row) for row in section.rows] for section in layout.sections]
    widths = [max(map(len, column)) for column in zip(*chain.from_iterable(sources), strict=True)]
    lines = []
    for section, rows in zip(layout.sections, sources, strict=True):
        lines += [r"\midrule", *section_title(section, columns), *(row_source(row, widths) for row in rows)]
    return lines


def section_title(section: LaidSection, columns: int) -> list[str]:
    """A section's title across all columns, if it has one."""
    return [rf"\multicolumn{{{columns}}}{{l}}{{\textit{{{escape(section.title)}}}}} \\"] if section.title else []


def row_cells(row: LaidRow) -> list[str]:
    """Label and cells; marks after a number hang over, so that digits stay aligned."""
    return [spell(row.label), *(spell(cell, hanging=True) for cell in row.cells)]


def row_source(cells: Sequence[str], widths: Sequence[int] = ()) -> str:
    """One row of source, padded so that the columns line up in the source."""
    if not widths:
        return " & ".join(cells).strip() + r" \\"
    label, *numbers = cells
    padded = [label.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))]
    return " & ".join(padded) + r" \\"


def remarks(table: Table, layout: Layout) -> list[str]:
    """Legend, footnotes and notes in small print under the table, a paragraph each."""
    footnotes = [rf"\textsuperscript{{{letter}}}~{escape(text)}" for letter, text in layout.footnotes]
    groups = [[spell(line) for line in layout.legend], footnotes, [escape(note) for note in table.notes]]
    paragraphs = ["\n".join(lines) + r"\par" for lines in groups if lines]
    return [r"\par\smallskip", r"{\footnotesize\raggedright", *paragraphs, "}"] if paragraphs else []


def spell(line: Line, hanging: bool = False) -> str:
    """A line in LaTeX; with `hanging`, marks at its end take no width."""
    source = [spell_marks(piece) if isinstance(piece, Marks) else spell_span(piece) for piece in line]
    if hanging and line and isinstance(line[-1], Marks):
        source[-1] = rf"\rlap{{{source[-1]}}}"
    return "".join(source)


def spell_marks(marks: Marks) -> str:
    """Superscript symbols."""
    return rf"\textsuperscript{{{','.join(map(escape, marks.symbols))}}}"


def spell_span(span: Span) -> str:
    """A stretch of text in its print."""
    source = escape(span.text)
    for wanted, command in ((span.italic, "textit"), (span.underlined, "underline"), (span.bold, "textbf")):
        source = rf"\{command}{{{source}}}" if wanted else source
    return rf"{{\scriptsize {source}}}" if span.small else source
