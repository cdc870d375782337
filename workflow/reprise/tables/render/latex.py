"""Render tables as LaTeX fragments: floats that are scaled down to the line width.

The fragments need the packages in `PACKAGES`. Text is escaped to ASCII, and prints the same characters.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from reprise.tables.render.layout import (
    BLANKS,
    FormattedLine,
    IndexedName,
    Layout,
    LayoutRow,
    LayoutSection,
    Superscripts,
    TextElement,
    TextSpan,
    compute_layout,
    wrap_header,
)
from reprise.tables.render.table import Table, collect_numbers

PACKAGES = ("booktabs", "graphicx", "pdflscape")
# Documents without the package color or xcolor print no grey; then only the symbol GREY_SYMBOL marks a number.
GREY_FALLBACK = r"\providecommand{\textcolor}[3][]{#3}"
MAX_INLINE_COLUMNS = 3  # tables with more columns have comparisons below their numbers, not beside them
MAX_PORTRAIT_COLUMNS = 8  # tables with more columns are printed in landscape
PORTRAIT_LINES, LANDSCAPE_LINES = 32, 18  # lines of a table on one page; longer tables continue on further pages
# Ends of a row of numbers, and of the rows of published values and of differences below it.
ROW_ENDS = (r" \\", r" \\[-1.5pt]", r" \\[2pt]")
# A box wider than the line is scaled down to it. With its remarks it takes at most four fifths of a page.
FIT_WIDTH = r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi"
FIT_HEIGHT = r"\ifdim\dimexpr\ht1+\dp1>.8%s\resizebox*{!}{.8%s}{\usebox1}\else\usebox1\fi"
TablePart = list[tuple[LayoutSection, LayoutRow]]  # the rows on one page, each with its section

# Character -> LaTeX text. LaTeX reads brackets and stars after `\\` as its options, and turns quotes and hyphens into
# ligatures.
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

# Character -> LaTeX command in mathematical mode. Some of these characters also have commands for text, but only the
# mathematical commands have outline fonts in every TeX installation.
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

# Unicode's combining accent -> LaTeX command for an accent.
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

# Character -> LaTeX source.
COMMANDS = {**SIGNS, **{sign: f"${name}$" for sign, name in MATH.items()}}


def render(table: Table) -> str:
    """Return the fragment of a table: a float for each page. The last float has the remarks."""
    layout = compute_layout(table, stacked=table.has_comparison and len(table.columns) > MAX_INLINE_COLUMNS)
    is_landscape = len(table.columns) > MAX_PORTRAIT_COLUMNS
    notice = rf"\textbf{{{escape(table.notice)}}} " if table.notice else ""
    title = f"{table.title} ({table.origin})" if table.origin else table.title
    heading = [rf"\caption{{{notice}{escape(f'{title}. {table.caption}')}}}", rf"\label{{{table.label}}}"]
    parts = _split_into_pages(layout, LANDSCAPE_LINES if is_landscape else PORTRAIT_LINES)
    floats = []
    for page_number, part in enumerate(parts, start=1):
        floats += [r"\begin{table}[tbp]", r"\centering", *heading, r"\par\vspace{4pt}", *_tabular(table, layout, part)]
        floats += [r"\sbox1{\begin{minipage}{\linewidth}\centering", FIT_WIDTH]
        floats += _remarks(table, layout) if page_number == len(parts) else ()
        floats += [
            r"\end{minipage}}%",
            FIT_HEIGHT.replace("%s", r"\textwidth" if is_landscape else r"\textheight"),
            r"\end{table}",
        ]
        heading = [r"\tablename~\thetable{}, continued"]
    pages = [r"\begin{landscape}", *floats, r"\end{landscape}"] if is_landscape else floats
    grey = [GREY_FALLBACK] if any(number.is_greyed for row in table.rows() for number in collect_numbers(row)) else []
    return "\n".join([comment(table.heading), *map(comment, table.provenance), *grey, *pages]) + "\n"


def _split_into_pages(layout: Layout, max_lines: int) -> list[TablePart]:
    """Divide the rows of a table into pages of at most `max_lines` lines."""
    parts: list[TablePart] = [[]]
    for section in layout.sections:
        for row in section.rows:
            lines = sum(1 + len(page_row.comparison_rows) for _, page_row in (*parts[-1], (section, row)))
            if parts[-1] and lines > max_lines:
                parts.append([])
            parts[-1].append((section, row))
    return parts


def _tabular(table: Table, layout: Layout, part: TablePart) -> Iterator[str]:
    """Yield the lines of LaTeX that typeset one page of a table into box 0."""
    cells_by_column = zip(*(row.cells for _, row in part), strict=True)
    columns = list(zip(table.columns, layout.headers, cells_by_column, strict=True))
    yield r"\sbox0{\small\setlength{\tabcolsep}{4pt}%"
    yield rf"\begin{{tabular}}{{l{''.join(column.align[0] + _column_gap(cells) for column, _, cells in columns)}}}"
    yield r"\toprule"
    if any(group.header for group in table.groups):
        cells, rules, first_column = [""], [], 2  # Column 1 has the labels of the rows.
        for group in table.groups:
            count = len(group.columns)
            cells += [rf"\multicolumn{{{count}}}{{c}}{{{escape(group.header)}}}"] if group.header else [""] * count
            rules += [rf"\cmidrule(lr){{{first_column}-{first_column + count - 1}}}"] if group.header else []
            first_column += count
        yield from (" & ".join(cells) + ROW_ENDS[0], " ".join(rules))
    headers = [_header(header, column.align[0]) for column, header, _ in columns]
    yield " & ".join([escape(table.stub), *headers]) + ROW_ENDS[0]
    previous_section = None
    for section, row in part:
        if section is not previous_section:
            yield r"\midrule"
            if section.title:
                yield rf"\multicolumn{{{len(columns) + 1}}}{{l}}{{\textit{{{escape(section.title)}}}}} \\"
        previous_section = section
        for line, end in zip((row, *row.comparison_rows), ROW_ENDS, strict=False):
            label = ("" if line is row else r"\hspace{6pt}") + _render_line(line.label)
            yield " & ".join([label, *(_render_line(cell, hanging=True) for cell in line.cells)]) + end
    yield from (r"\bottomrule", r"\end{tabular}}%")


def _column_gap(cells: Iterable[FormattedLine]) -> str:
    """Return extra space after a column in which more than one mark hangs over the edge."""
    mark_count = max(
        (len(line[-1].symbols) for line in cells if line and isinstance(line[-1], Superscripts)), default=0
    )
    return rf"@{{\hspace{{{2 + 5 * mark_count}pt}}}}" if mark_count > 1 else ""


def _header(header: TextSpan | IndexedName, align: str) -> str:
    """Return a column's header, on several lines if it is long."""
    lines = list(map(escape, wrap_header(header.text))) if isinstance(header, TextSpan) else [_render_element(header)]
    text = r"\\".join(lines)
    return text if len(lines) == 1 else rf"\shortstack[{align}]{{{text}}}"


def _remarks(table: Table, layout: Layout) -> list[str]:
    """Return the small print under the table: a paragraph each of warnings, legend, footnotes and notes."""
    groups = [
        [rf"\textbf{{{escape(warning)}}}" for warning in table.warnings],
        [_render_line(line) for line in layout.legend],
        [rf"\textsuperscript{{{letter}}}~{escape(text)}" for letter, text in layout.footnotes],
        [escape(note) for note in table.notes],
    ]
    paragraphs = ["\n".join(lines) + r"\par" for lines in groups if lines]
    return [r"\par\smallskip", r"{\footnotesize\raggedright", *paragraphs, "}"] if paragraphs else []


def _render_line(line: FormattedLine, *, hanging: bool = False) -> str:
    """Return a line as LaTeX. With `hanging`, marks at the end take no width, which keeps digits aligned."""
    source = [_render_element(element) for element in line]
    if hanging and line and isinstance(line[-1], Superscripts):
        source[-1] = rf"\rlap{{{source[-1]}}}"
    return "".join(source)


def _render_element(element: TextElement) -> str:
    if isinstance(element, Superscripts):
        return rf"\textsuperscript{{{','.join(map(escape, element.symbols))}}}"
    if isinstance(element, IndexedName):
        name = element.name if element.is_variable else rf"\mathrm{{{element.name}}}"
        return f"${name}{'^' if element.is_exponent else '_'}{element.index}$"
    source = escape(element.text)
    for applies, command in ((element.italic, "textit"), (element.underlined, "underline"), (element.bold, "textbf")):
        source = rf"\{command}{{{source}}}" if applies else source
    source = rf"\textcolor[gray]{{0.5}}{{{source}}}" if element.grey else source
    return rf"{{\scriptsize {source}}}" if element.small else source


def escape(text: str) -> str:
    """Return text for the body of a LaTeX document; characters without a LaTeX form become code points: [U+4E2D]."""
    composed = unicodedata.normalize("NFC", BLANKS.sub(" ", text))
    # Braces between hyphens keep LaTeX from joining them to one dash.
    return "{}".join("".join(map(_render_sign, part)) for part in re.split("(?<=[-–—])(?=[-–—])", composed))


def comment(text: str) -> str:
    """Return text as one commented line of LaTeX source, in ASCII."""
    signs = (sign if sign.isascii() else f"[U+{ord(sign):04X}]" for sign in BLANKS.sub(" ", text))
    return f"% {''.join(signs)}".rstrip()


def _render_sign(sign: str) -> str:
    """Return one character as LaTeX. A letter with one accent becomes the command of this accent."""
    if sign in COMMANDS or sign.isascii():
        return COMMANDS.get(sign, sign)
    base, *accents = list(unicodedata.normalize("NFD", sign))
    if len(accents) == 1 and accents[0] in ACCENTS and base.isascii() and base.isalpha():
        return f"{ACCENTS[accents[0]]}{{{base}}}"
    return f"{{[}}U+{ord(sign):04X}{{]}}"
