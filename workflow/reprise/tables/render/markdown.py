"""A table as GitHub Markdown: a pipe table with its caption above and its notes below."""

import re
from collections.abc import Sequence

from reprise.core.plain import visible
from reprise.tables.render.layout import Layout, Spanning, lay_out
from reprise.tables.render.pieces import Indexed, Line, Marks, Piece, Span
from reprise.tables.render.table import Alignment, Table

SPECIAL = re.compile(r"[\\`*_~|$\[\]&<>]")
BLOCK_START = re.compile(r"^(\d*)([-+=#.)])")
BLANKS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render(table: Table) -> str:
    """The whole table with its heading."""
    layout = lay_out(table)
    blocks = [
        f"### {escape(table.heading)}",
        f"**{escape(table.notice)}**" if table.notice else "",
        escape(table.caption),
        "\n".join(pipe_table(table, layout)),
        "\n".join(f"- {line}" for line in remarks(table, layout)),
        provenance(table.provenance),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def pipe_table(table: Table, layout: Layout) -> list[str]:
    """Header, alignments and body, padded so that the columns line up in the source."""
    rows = [[escape(table.stub), *header_cells(layout)], *body_rows(layout)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    aligned: list[Alignment] = ["left", *(column.align for column in table.columns)]
    rule = [alignment_rule(align, width) for align, width in zip(aligned, widths, strict=True)]
    lines = [[pad(cell, align, width) for cell, align, width in zip(row, aligned, widths, strict=True)] for row in rows]
    return [f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]]]


def header_cells(layout: Layout) -> list[str]:
    """Headers of the columns, each after that of its group, because Markdown has no spanning cells."""
    return [group_prefix(layout.spanning, index) + spell(line) for index, line in enumerate(layout.headers)]


def group_prefix(spanning: Sequence[Spanning], column: int) -> str:
    """`Group: ` for a column under a spanning header."""
    return next((f"{spell(head.line)}: " for head in spanning if 0 <= column - head.first < head.count), "")


def body_rows(layout: Layout) -> list[list[str]]:
    """Rows of all sections, a section's title as a row of its own."""
    rows = []
    for section in layout.sections:
        if section.title:
            rows.append([f"**{escape(section.title)}**", *([""] * len(layout.headers))])
        rows += [[spell(row.label), *map(spell, row.cells)] for row in section.rows]
    return rows


def alignment_rule(align: Alignment, width: int) -> str:
    """The hyphens under a header."""
    return {
        "left": ":" + "-" * (width - 1),
        "center": ":" + "-" * (width - 2) + ":",
        "right": "-" * (width - 1) + ":",
    }[align]


def pad(cell: str, align: Alignment, width: int) -> str:
    """A cell as wide as its column."""
    return {"left": cell.ljust, "center": cell.center, "right": cell.rjust}[align](width)


def remarks(table: Table, layout: Layout) -> list[str]:
    """Warnings, legend, footnotes and notes."""
    footnotes = [f"<sup>{letter}</sup> {escape(text)}" for letter, text in layout.footnotes]
    warnings = [f"**{escape(warning)}**" for warning in table.warnings]
    return [*warnings, *map(spell, layout.legend), *footnotes, *map(escape, table.notes)]


def provenance(lines: Sequence[str]) -> str:
    """Where the numbers come from, folded."""
    if not lines:
        return ""
    return "\n".join(
        ["<details><summary>Provenance</summary>", "", *(f"- {escape(line)}" for line in lines), "", "</details>"]
    )


def spell(line: Line) -> str:
    """A line in Markdown."""
    return "".join(map(spell_piece, line))


def spell_piece(piece: Piece) -> str:
    """A piece in Markdown."""
    if isinstance(piece, Indexed):
        tag = "sup" if piece.raised else "sub"
        return f"{'*' * piece.is_variable}{piece.name}{'*' * piece.is_variable}<{tag}>{piece.index}</{tag}>"
    return spell_marks(piece) if isinstance(piece, Marks) else spell_span(piece)


def spell_marks(marks: Marks) -> str:
    """Superscript symbols."""
    return f"<sup>{','.join(map(escape, marks.symbols))}</sup>"


def spell_span(span: Span) -> str:
    """A stretch of text in its print."""
    source = escape_inline(span.text)
    source = f"<ins>{source}</ins>" if span.underlined else source
    source = f"*{source}*" if span.italic else source
    return f"**{source}**" if span.bold else source


def escape(text: str) -> str:
    """Text that Markdown prints as it stands, on one line, even at the start of a paragraph."""
    return BLOCK_START.sub(r"\1\\\2", escape_inline(text).strip())


def escape_inline(text: str) -> str:
    """Text that Markdown prints as it stands, within a line."""
    return SPECIAL.sub(lambda sign: ENTITIES.get(sign[0], "\\" + sign[0]), visible(BLANKS.sub(" ", text)))
