"""A table as a LaTeX fragment that needs the packages of `PACKAGES`: floats, which LaTeX scales down to the line.

Any text is escaped to ASCII that compiles with `article` and prints what was meant.
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
# Grey where the document has the package color or xcolor; without one the sign beside the number says it alone.
GREY = r"\providecommand{\textcolor}[3][]{#3}"
MOST_BESIDE = 3  # columns of a table whose comparisons stand beside its numbers; else they stand below
MOST_UPRIGHT = 8  # columns of a table on an upright page; one with more lies on its side
UPRIGHT_LINES, LYING_LINES = 32, 18  # of a table on a page; it goes on to other pages if it has more
ENDS = (r" \\", r" \\[-1.5pt]", r" \\[2pt]")  # of a row and of the lines below it
# A box that is wider than the line is scaled down to it; with its remarks it takes four fifths of a page at most.
WIDE = r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi"
TALL = r"\ifdim\dimexpr\ht1+\dp1>.8%s\resizebox*{!}{.8%s}{\usebox1}\else\usebox1\fi"
Part = list[tuple[LaidSection, LaidRow]]  # Rows on one page with their sections

# Brackets and stars would be read as options of a preceding `\\`; quotes and hyphens would form ligatures.
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

# Also signs of text: their mathematical forms are in fonts that every TeX has as outlines.
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

KNOWN = {**SIGNS, **{sign: f"${name}$" for sign, name in MATH.items()}}


def render(table: Table) -> str:
    """The whole fragment: a float for each page, the remarks in the last."""
    layout = lay_out(table, stacked=table.comparison and len(table.columns) > MOST_BESIDE)
    lies = len(table.columns) > MOST_UPRIGHT
    notice = rf"\textbf{{{escape(table.notice)}}} " if table.notice else ""
    title = f"{table.title} ({table.origin})" if table.origin else table.title
    heading = [rf"\caption{{{notice}{escape(f'{title}. {table.caption}')}}}", rf"\label{{{table.label}}}"]
    parts = _parts(layout, LYING_LINES if lies else UPRIGHT_LINES)
    floats = []
    for number, part in enumerate(parts, start=1):
        floats += [r"\begin{table}[tbp]", r"\centering", *heading, r"\par\vspace{4pt}", *_tabular(table, layout, part)]
        floats += [r"\sbox1{\begin{minipage}{\linewidth}\centering", WIDE]
        floats += _remarks(table, layout) if number == len(parts) else ()
        floats += [r"\end{minipage}}%", TALL.replace("%s", r"\textwidth" if lies else r"\textheight"), r"\end{table}"]
        heading = [r"\tablename~\thetable{}, continued"]
    turned = [r"\begin{landscape}", *floats, r"\end{landscape}"] if lies else floats
    grey = [GREY] if any(number.greyed for row in table.rows() for number in numbers_of(row)) else []
    return "\n".join([comment(table.heading), *map(comment, table.provenance), *grey, *turned]) + "\n"


def _parts(layout: Layout, most_lines: int) -> list[Part]:
    parts: list[Part] = [[]]
    for section in layout.sections:
        for row in section.rows:
            lines = sum(1 + len(one.below) for _, one in (*parts[-1], (section, row)))
            if parts[-1] and lines > most_lines:
                parts.append([])
            parts[-1].append((section, row))
    return parts


def _tabular(table: Table, layout: Layout, part: Part) -> Iterator[str]:
    cells_of = zip(*(row.cells for _, row in part), strict=True)
    columns = list(zip(table.columns, layout.headers, cells_of, strict=True))
    yield r"\sbox0{\small\setlength{\tabcolsep}{4pt}%"
    yield rf"\begin{{tabular}}{{l{''.join(one.align[0] + _room(cells) for one, _, cells in columns)}}}"
    yield r"\toprule"
    if any(group.header for group in table.groups):
        cells, rules, reached = [""], [], 2
        for group in table.groups:
            count = len(group.columns)
            cells += [rf"\multicolumn{{{count}}}{{c}}{{{escape(group.header)}}}"] if group.header else [""] * count
            rules += [rf"\cmidrule(lr){{{reached}-{reached + count - 1}}}"] if group.header else []
            reached += count
        yield from (" & ".join(cells) + ENDS[0], " ".join(rules))
    headers = [_header(header, one.align[0]) for one, header, _ in columns]
    yield " & ".join([escape(table.stub), *headers]) + ENDS[0]
    above = None
    for section, row in part:
        if section is not above:
            yield r"\midrule"
            if section.title:
                yield rf"\multicolumn{{{len(columns) + 1}}}{{l}}{{\textit{{{escape(section.title)}}}}} \\"
        above = section
        for one, end in zip((row, *row.below), ENDS, strict=False):
            label = ("" if one is row else r"\hspace{6pt}") + _spelled(one.label)
            yield " & ".join([label, *(_spelled(cell, hanging=True) for cell in one.cells)]) + end
    yield from (r"\bottomrule", r"\end{tabular}}%")


def _room(cells: Iterable[Line]) -> str:
    """Room after a column for the marks that hang over its edge."""
    most = max((len(line[-1].symbols) for line in cells if line and isinstance(line[-1], Marks)), default=0)
    return rf"@{{\hspace{{{2 + 5 * most}pt}}}}" if most > 1 else ""


def _header(header: Span | Indexed, align: str) -> str:
    """A column's header, on several lines where it is long."""
    lines = list(map(escape, in_lines(header.text))) if isinstance(header, Span) else [_piece(header)]
    stack = r"\\".join(lines)
    return stack if len(lines) == 1 else rf"\shortstack[{align}]{{{stack}}}"


def _remarks(table: Table, layout: Layout) -> list[str]:
    """Warnings, legend, footnotes and notes in small print under the table, a paragraph each."""
    groups = [
        [rf"\textbf{{{escape(warning)}}}" for warning in table.warnings],
        [_spelled(line) for line in layout.legend],
        [rf"\textsuperscript{{{letter}}}~{escape(text)}" for letter, text in layout.footnotes],
        [escape(note) for note in table.notes],
    ]
    paragraphs = ["\n".join(lines) + r"\par" for lines in groups if lines]
    return [r"\par\smallskip", r"{\footnotesize\raggedright", *paragraphs, "}"] if paragraphs else []


def _spelled(line: Line, *, hanging: bool = False) -> str:
    """A line in LaTeX; with `hanging`, marks at its end take no width, so that digits stay aligned."""
    source = [_piece(piece) for piece in line]
    if hanging and line and isinstance(line[-1], Marks):
        source[-1] = rf"\rlap{{{source[-1]}}}"
    return "".join(source)


def _piece(piece: Piece) -> str:
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
    """Text for the body of a LaTeX document; a sign without a LaTeX form becomes its code point, as [U+4E2D]."""
    composed = unicodedata.normalize("NFC", BLANKS.sub(" ", text))
    # Neighbouring hyphens would be set as one dash.
    return "{}".join("".join(map(_sign, part)) for part in re.split("(?<=[-–—])(?=[-–—])", composed))


def comment(text: str) -> str:
    """Text as one commented line of LaTeX source, in ASCII."""
    signs = (sign if sign.isascii() else f"[U+{ord(sign):04X}]" for sign in BLANKS.sub(" ", text))
    return f"% {''.join(signs)}".rstrip()


def _sign(sign: str) -> str:
    """One sign as LaTeX, a letter with one accent by the command of the accent."""
    if sign in KNOWN or sign.isascii():
        return KNOWN.get(sign, sign)
    base, *accents = list(unicodedata.normalize("NFD", sign))
    if len(accents) == 1 and accents[0] in ACCENTS and base.isascii() and base.isalpha():
        return f"{ACCENTS[accents[0]]}{{{base}}}"
    return f"{{[}}U+{ord(sign):04X}{{]}}"
