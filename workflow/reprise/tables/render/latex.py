"""A renderer of tables as LaTeX fragments that need the packages of `PACKAGES`: floats, scaled down to the line width.

Text is escaped to ASCII that compiles with `article` and prints what was meant.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from reprise.tables.render.layout import (
    BLANKS,
    Indexed,
    LaidRow,
    LaidSection,
    Layout,
    Line,
    Marks,
    Piece,
    Span,
    in_lines,
    lay_out,
)
from reprise.tables.render.table import Table, numbers_of

PACKAGES = ("booktabs", "graphicx", "pdflscape")
# Documents with the package color or xcolor print grey; in others only the sign beside the number marks it.
GREY = r"\providecommand{\textcolor}[3][]{#3}"
MAX_BESIDE_COLUMNS = 3  # tables with more columns have comparisons below their numbers, not beside them
MAX_PORTRAIT_COLUMNS = 8  # tables with more columns are printed in landscape
PORTRAIT_LINES, LANDSCAPE_LINES = 32, 18  # lines of a table on one page; longer tables continue on further pages
ENDS = (r" \\", r" \\[-1.5pt]", r" \\[2pt]")  # ends of a row and of the lines below it
# A box wider than the line is scaled down to it. With its remarks it takes at most four fifths of a page.
WIDE = r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi"
TALL = r"\ifdim\dimexpr\ht1+\dp1>.8%s\resizebox*{!}{.8%s}{\usebox1}\else\usebox1\fi"
Part = list[tuple[LaidSection, LaidRow]]  # the rows on one page, each with its section

# LaTeX reads brackets and stars as options of a preceding `\\`, and turns quotes and hyphens into ligatures.
SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": "{`}",
    "'": "{'}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "–": "--",
    "—": "---",
    "‘": "{`}",
    "’": "{'}",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "•": r"\textbullet{}",
    "©": r"\copyright{}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{THIN SPACE}": r"\,",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
}

# Signs of text are here too, because every TeX has outline fonts for their mathematical forms.
MATH = {
    "†": r"\dagger",
    "‡": r"\ddagger",
    "§": r"\mathsection",
    "¶": r"\mathparagraph",
    "‖": r"\Vert",
    "−": "-",
    "±": r"\pm",
    "×": r"\times",
    "÷": r"\div",
    "·": r"\cdot",
    "∧": r"\wedge",
    "∨": r"\vee",
    "¬": r"\neg",
    "△": r"\triangle",
    "▲": r"\triangle",
    "▽": r"\nabla",
    "→": r"\rightarrow",
    "←": r"\leftarrow",
    "↑": r"\uparrow",
    "↓": r"\downarrow",
    "↔": r"\leftrightarrow",
    "⇒": r"\Rightarrow",
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "∼": r"\sim",
    "∈": r"\in",
    "∞": r"\infty",
    "√": r"\surd",
    "✓": r"\surd",
    "✗": r"\times",
    "°": r"^\circ",
    "²": "^2",
    "³": "^3",
    "α": r"\alpha",
    "β": r"\beta",
    "γ": r"\gamma",
    "δ": r"\delta",
    "Δ": r"\Delta",
    "λ": r"\lambda",
    "µ": r"\mu",
    "μ": r"\mu",
    "σ": r"\sigma",
    "τ": r"\tau",
}

ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": r"\`",
    "\N{COMBINING ACUTE ACCENT}": r"\'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": r"\^",
    "\N{COMBINING TILDE}": r"\~",
    "\N{COMBINING DIAERESIS}": r"\"",
    "\N{COMBINING MACRON}": r"\=",
    "\N{COMBINING RING ABOVE}": r"\r",
    "\N{COMBINING CARON}": r"\v",
    "\N{COMBINING BREVE}": r"\u",
    "\N{COMBINING CEDILLA}": r"\c",
}

COMMANDS = {**SIGNS, **{sign: f"${name}$" for sign, name in MATH.items()}}


def render(table: Table) -> str:
    """Return the whole fragment: a float for each page, with the remarks in the last one."""
    layout = lay_out(table, stacked=table.comparison and len(table.columns) > MAX_BESIDE_COLUMNS)
    is_landscape = len(table.columns) > MAX_PORTRAIT_COLUMNS
    notice = rf"\textbf{{{escape(table.notice)}}} " if table.notice else ""
    title = f"{table.title} ({table.origin})" if table.origin else table.title
    heading = [rf"\caption{{{notice}{escape(f'{title}. {table.caption}')}}}", rf"\label{{{table.label}}}"]
    parts = _parts(layout, LANDSCAPE_LINES if is_landscape else PORTRAIT_LINES)
    floats = []
    for number, part in enumerate(parts, start=1):
        floats += [r"\begin{table}[tbp]", r"\centering", *heading, r"\par\vspace{4pt}", *_tabular(table, layout, part)]
        floats += [r"\sbox1{\begin{minipage}{\linewidth}\centering", WIDE]
        floats += _remarks(table, layout) if number == len(parts) else ()
        floats += [
            r"\end{minipage}}%",
            TALL.replace("%s", r"\textwidth" if is_landscape else r"\textheight"),
            r"\end{table}",
        ]
        heading = [r"\tablename~\thetable{}, continued"]
    pages = [r"\begin{landscape}", *floats, r"\end{landscape}"] if is_landscape else floats
    grey = [GREY] if any(number.greyed for row in table.rows() for number in numbers_of(row)) else []
    return "\n".join([comment(table.heading), *map(comment, table.provenance), *grey, *pages]) + "\n"


def _parts(layout: Layout, max_lines: int) -> list[Part]:
    parts: list[Part] = [[]]
    for section in layout.sections:
        for row in section.rows:
            lines = sum(1 + len(page_row.below) for _, page_row in (*parts[-1], (section, row)))
            if parts[-1] and lines > max_lines:
                parts.append([])
            parts[-1].append((section, row))
    return parts


def _tabular(table: Table, layout: Layout, part: Part) -> Iterator[str]:
    cells_of = zip(*(row.cells for _, row in part), strict=True)
    columns = list(zip(table.columns, layout.headers, cells_of, strict=True))
    yield r"\sbox0{\small\setlength{\tabcolsep}{4pt}%"
    yield rf"\begin{{tabular}}{{l{''.join(column.align[0] + _column_gap(cells) for column, _, cells in columns)}}}"
    yield r"\toprule"
    if any(group.header for group in table.groups):
        cells, rules, first_column = [""], [], 2
        for group in table.groups:
            count = len(group.columns)
            cells += [rf"\multicolumn{{{count}}}{{c}}{{{escape(group.header)}}}"] if group.header else [""] * count
            rules += [rf"\cmidrule(lr){{{first_column}-{first_column + count - 1}}}"] if group.header else []
            first_column += count
        yield from (" & ".join(cells) + ENDS[0], " ".join(rules))
    headers = [_header(header, column.align[0]) for column, header, _ in columns]
    yield " & ".join([escape(table.stub), *headers]) + ENDS[0]
    above = None
    for section, row in part:
        if section is not above:
            yield r"\midrule"
            if section.title:
                yield rf"\multicolumn{{{len(columns) + 1}}}{{l}}{{\textit{{{escape(section.title)}}}}} \\"
        above = section
        for line, end in zip((row, *row.below), ENDS, strict=False):
            label = ("" if line is row else r"\hspace{6pt}") + _render_line(line.label)
            yield " & ".join([label, *(_render_line(cell, hanging=True) for cell in line.cells)]) + end
    yield from (r"\bottomrule", r"\end{tabular}}%")


def _column_gap(cells: Iterable[Line]) -> str:
    """Return the space after a column for the marks that hang over its edge."""
    mark_count = max((len(line[-1].symbols) for line in cells if line and isinstance(line[-1], Marks)), default=0)
    return rf"@{{\hspace{{{2 + 5 * mark_count}pt}}}}" if mark_count > 1 else ""


def _header(header: Span | Indexed, align: str) -> str:
    """Return a column's header, on several lines if it is long."""
    lines = list(map(escape, in_lines(header.text))) if isinstance(header, Span) else [_render_piece(header)]
    text = r"\\".join(lines)
    return text if len(lines) == 1 else rf"\shortstack[{align}]{{{text}}}"


def _remarks(table: Table, layout: Layout) -> list[str]:
    """Return warnings, legend, footnotes and notes in small print under the table, a paragraph each."""
    groups = [
        [rf"\textbf{{{escape(warning)}}}" for warning in table.warnings],
        [_render_line(line) for line in layout.legend],
        [rf"\textsuperscript{{{letter}}}~{escape(text)}" for letter, text in layout.footnotes],
        [escape(note) for note in table.notes],
    ]
    paragraphs = ["\n".join(lines) + r"\par" for lines in groups if lines]
    return [r"\par\smallskip", r"{\footnotesize\raggedright", *paragraphs, "}"] if paragraphs else []


def _render_line(line: Line, *, hanging: bool = False) -> str:
    """Return a line as LaTeX; with `hanging`, marks at its end take no width, so digits stay aligned."""
    source = [_render_piece(piece) for piece in line]
    if hanging and line and isinstance(line[-1], Marks):
        source[-1] = rf"\rlap{{{source[-1]}}}"
    return "".join(source)


def _render_piece(piece: Piece) -> str:
    if isinstance(piece, Marks):
        return rf"\textsuperscript{{{','.join(map(escape, piece.symbols))}}}"
    if isinstance(piece, Indexed):
        name = piece.name if piece.is_variable else rf"\mathrm{{{piece.name}}}"
        return f"${name}{'^' if piece.raised else '_'}{piece.index}$"
    source = escape(piece.text)
    for applies, command in ((piece.italic, "textit"), (piece.underlined, "underline"), (piece.bold, "textbf")):
        source = rf"\{command}{{{source}}}" if applies else source
    source = rf"\textcolor[gray]{{0.5}}{{{source}}}" if piece.grey else source
    return rf"{{\scriptsize {source}}}" if piece.small else source


def escape(text: str) -> str:
    """Return text for the body of a LaTeX document; signs without a LaTeX form become code points, as in [U+4E2D]."""
    composed = unicodedata.normalize("NFC", BLANKS.sub(" ", text))
    # Braces keep LaTeX from setting neighbouring hyphens as one dash.
    return "{}".join("".join(map(_render_sign, part)) for part in re.split("(?<=[-–—])(?=[-–—])", composed))


def comment(text: str) -> str:
    """Return text as one commented line of LaTeX source, in ASCII."""
    signs = (sign if sign.isascii() else f"[U+{ord(sign):04X}]" for sign in BLANKS.sub(" ", text))
    return f"% {''.join(signs)}".rstrip()


def _render_sign(sign: str) -> str:
    """Return one sign as LaTeX; a letter with one accent takes the command of that accent."""
    if sign in COMMANDS or sign.isascii():
        return COMMANDS.get(sign, sign)
    base, *accents = list(unicodedata.normalize("NFD", sign))
    if len(accents) == 1 and accents[0] in ACCENTS and base.isascii() and base.isalpha():
        return f"{ACCENTS[accents[0]]}{{{base}}}"
    return f"{{[}}U+{ord(sign):04X}{{]}}"
