"""A table as a LaTeX fragment that needs the packages of `PACKAGES`: a float, or a `longtable` where it is too tall."""

from collections.abc import Sequence
from itertools import chain

from reprise.tables.render.latex_escape import comment, escape
from reprise.tables.render.latex_fit import (
    INDENT_PT,
    Body,
    Print,
    column_bodies,
    fitting_print,
    gaps_after,
    header_lines,
    is_upright,
)
from reprise.tables.render.layout import LaidRow, LaidSection, Layout, Spanning
from reprise.tables.render.pieces import Indexed, Line, Marks, Piece, Span
from reprise.tables.render.table import Column, Table, numbers_of

PACKAGES = ("booktabs", "graphicx", "longtable", "pdflscape")
# Grey where the document has the package color or xcolor; without one the sign beside the number says it alone.
GREY = r"\providecommand{\textcolor}[3][]{#3}"
ALIGNMENTS = {"left": "l", "center": "c", "right": "r"}
END = r" \\"
# Where comparisons stand below numbers: ends of a row's lines, which stay on one page.
ENDS = (r" \\*", r" \\*[-1.5pt]", r" \\[2pt]")
INDENT = rf"\hspace{{{INDENT_PT}pt}}"


def render(table: Table) -> str:
    """The whole fragment."""
    way, layout = fitting_print(table)
    content = long_table(table, layout, way) if way.long and not way.squeezed else floating_table(table, layout, way)
    turned = [r"\begin{landscape}", *content, r"\end{landscape}"] if way.landscape else content
    grey = [GREY] if any(number.greyed for row in table.rows() for number in numbers_of(row)) else []
    return "\n".join([comment(table.heading), *map(comment, table.provenance), *grey, *turned]) + "\n"


def floating_table(table: Table, layout: Layout, way: Print) -> list[str]:
    """A float, which never breaks."""
    tabular = [
        rf"\begin{{tabular}}{{{column_format(table.columns, layout, way)}}}",
        r"\toprule",
        *header(table, layout, way),
        *body_lines(layout, way),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return [
        r"\begin{table}[tbp]",
        r"\centering",
        caption(table),
        rf"\label{{{table.label}}}",
        r"\vspace{4pt}",
        *size_lines(way),
        *([r"\resizebox{\linewidth}{!}{", *tabular, "}"] if way.squeezed else tabular),
        *remarks(table, layout),
        r"\end{table}",
    ]


def long_table(table: Table, layout: Layout, way: Print) -> list[str]:
    """A table over several pages, each with the headers."""
    head = [r"\toprule", *header(table, layout, way), r"\midrule"]
    continued = rf"\multicolumn{{{len(table.columns) + 1}}}{{l}}{{\tablename~\thetable{{}}, continued}} \\"
    return [
        r"\begingroup",
        *size_lines(way),
        r"\setlength{\LTcapwidth}{\linewidth}",
        rf"\begin{{longtable}}{{{column_format(table.columns, layout, way)}}}",
        rf"{caption(table)}\label{{{table.label}}} \\",
        *head,
        r"\endfirsthead",
        continued,
        *head,
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *body_lines(layout, way)[1:],  # the rule before the first section is the last of the header
        r"\end{longtable}",
        *remarks(table, layout),
        r"\endgroup",
    ]


def caption(table: Table) -> str:
    """The title and where it is printed, then the caption; a notice, if there is one, stands first and is bold."""
    notice = rf"\textbf{{{escape(table.notice)}}} " if table.notice else ""
    title = f"{table.title} ({table.origin})" if table.origin else table.title
    return rf"\caption{{{notice}{escape(f'{title}. {table.caption}')}}}"


def size_lines(way: Print) -> list[str]:
    """The font and the blank between columns."""
    return [way.size.numbers.command, rf"\setlength{{\tabcolsep}}{{{way.size.separation_pt:g}pt}}"]


def column_format(columns: Sequence[Column], layout: Layout, way: Print) -> str:
    """Labels to the left, then each column as it is aligned, with room after it for marks that hang over its edge."""
    bodies = column_bodies(layout, way)
    usual, cells = 2 * way.size.separation_pt, ["l"]
    for column, body, gap in zip(columns, bodies, gaps_after(bodies, way), strict=True):
        room = rf"@{{\hspace{{{gap:g}pt}}}}" if body.hanging_pt and gap > usual else ""
        cells.append(ALIGNMENTS[column.align] + room)
    return "".join(cells)


def header(table: Table, layout: Layout, way: Print) -> list[str]:
    """Spanning headers with their rules, if any, and the headers of the columns."""
    headers = [
        header_source(line, body, column, way)
        for line, body, column in zip(layout.headers, column_bodies(layout, way), table.columns, strict=True)
    ]
    return [*spanning_lines(layout.spanning, len(headers)), row_source([escape(table.stub), *headers])]


def header_source(line: Line, body: Body, column: Column, way: Print) -> str:
    """The header of one column: turned, in several lines, or plain."""
    if is_upright(line, body, way):
        return rf"\rotatebox{{90}}{{{spell(line)}}}"
    lines = [spell(part, hanging=True) for part in header_lines(line, body, way)]
    stack = r"\\".join(lines)
    return stack if len(lines) == 1 else rf"\shortstack[{ALIGNMENTS[column.align]}]{{{stack}}}"


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


def body_lines(layout: Layout, way: Print) -> list[str]:
    """All sections, a rule before each."""
    small, columns = way.size.compared.command, len(layout.headers) + 1
    sources = [[row_sources(row, small) for row in section.rows] for section in layout.sections]
    cells = [line for rows in sources for row in rows for line in row]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for section, rows in zip(layout.sections, sources, strict=True):
        lines += [
            r"\midrule",
            *section_title(section, columns),
            *chain.from_iterable(body_row(row, widths) for row in rows),
        ]
    return lines


def section_title(section: LaidSection, columns: int) -> list[str]:
    """A section's title across all columns, on the page of its first row, if it has one."""
    return [rf"\multicolumn{{{columns}}}{{l}}{{\textit{{{escape(section.title)}}}}} \\*"] if section.title else []


def row_sources(row: LaidRow, small: str) -> list[list[str]]:
    """Labels and cells of a row and of those below; marks after a number hang over, so that digits stay aligned."""
    below = [
        [INDENT + spell(one.label, small=small), *(spell(cell, small=small) for cell in one.cells)] for one in row.below
    ]
    return [[spell(row.label), *(spell(cell, hanging=True, small=small) for cell in row.cells)], *below]


def body_row(sources: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    """The lines of a row."""
    ends = ENDS if len(sources) > 1 else (END,)
    return [row_source(cells, widths, end) for cells, end in zip(sources, ends, strict=True)]


def row_source(cells: Sequence[str], widths: Sequence[int] = (), end: str = END) -> str:
    """One row of source, padded so that the columns line up in the source."""
    if not widths:
        return " & ".join(cells).strip() + end
    label, *numbers = cells
    padded = [label.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))]
    return " & ".join(padded) + end


def remarks(table: Table, layout: Layout) -> list[str]:
    """Warnings, legend, footnotes and notes in small print under the table, a paragraph each."""
    footnotes = [rf"\textsuperscript{{{letter}}}~{escape(text)}" for letter, text in layout.footnotes]
    warnings = [rf"\textbf{{{escape(warning)}}}" for warning in table.warnings]
    groups = [warnings, [spell(line) for line in layout.legend], footnotes, [escape(note) for note in table.notes]]
    paragraphs = ["\n".join(lines) + r"\par" for lines in groups if lines]
    return [r"\par\smallskip", r"{\footnotesize\raggedright", *paragraphs, "}"] if paragraphs else []


def spell(line: Line, hanging: bool = False, small: str = r"\scriptsize") -> str:
    """A line in LaTeX; with `hanging`, marks at its end take no width. `small` is the font of small print."""
    source = [spell_piece(piece, small) for piece in line]
    if hanging and line and isinstance(line[-1], Marks):
        source[-1] = rf"\rlap{{{source[-1]}}}"
    return "".join(source)


def spell_piece(piece: Piece, small: str) -> str:
    """A piece in LaTeX."""
    if isinstance(piece, Marks):
        return rf"\textsuperscript{{{','.join(map(escape, piece.symbols))}}}"
    return spell_indexed(piece) if isinstance(piece, Indexed) else spell_span(piece, small)


def spell_indexed(piece: Indexed) -> str:
    """A name with its index, in math."""
    name = piece.name if piece.is_variable else rf"\mathrm{{{piece.name}}}"
    return f"${name}{'^' if piece.raised else '_'}{piece.index}$"


def spell_span(span: Span, small: str) -> str:
    """A stretch of text in its print."""
    source = escape(span.text)
    for wanted, command in ((span.italic, "textit"), (span.underlined, "underline"), (span.bold, "textbf")):
        source = rf"\{command}{{{source}}}" if wanted else source
    source = rf"\textcolor[gray]{{0.5}}{{{source}}}" if span.grey else source
    return rf"{{{small} {source}}}" if span.small else source
