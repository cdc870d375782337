"""Render tables as GitHub Markdown: a pipe table with its caption above and its notes below."""

import re

from reprise.core.notation import MINUS
from reprise.core.plain import escape_invisible
from reprise.tables.render.layout import (
    BLANKS,
    FormattedLine,
    IndexedName,
    Layout,
    Superscripts,
    TextElement,
    compute_layout,
)
from reprise.tables.render.table import Table

# Characters with a meaning in Markdown. The sources are read too, so intervals, names with underscores and `< 0.0001`
# stay as they are.
INTERVAL = rf"\[{MINUS}?[\d.]+, {MINUS}?[\d.]+\](?![(\[:])"
SPECIAL = re.compile(rf"{INTERVAL}|(?<![^\W_])_|_(?![^\W_])|<(?! \d)|[\\`*~|$\[\]&>]")
# Start of a line that Markdown would read as a list, a heading or a rule.
BLOCK_START = re.compile(r"^(\d*)([-+=#.)])")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def render(table: Table) -> str:
    """Return a table with its caption and remarks."""
    layout = compute_layout(table)
    remarks = [
        *(f"**{escape(warning)}**" for warning in table.warnings),
        *map(_render_line, layout.legend),
        *(f"<sup>{letter}</sup> {escape(text)}" for letter, text in layout.footnotes),
        *map(escape, table.notes),
    ]
    provenance = "\n".join(f"- {escape(line)}" for line in table.provenance)
    blocks = [
        f"### {escape(table.heading)}",
        f"**{escape(table.notice)}**" if table.notice else "",
        escape(table.caption),
        _pipe_table(table, layout),
        "\n".join(f"- {line}" for line in remarks),
        f"<details><summary>Provenance</summary>\n\n{provenance}\n\n</details>" if provenance else "",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _pipe_table(table: Table, layout: Layout) -> str:
    """Return header, alignments and body, padded to line up the columns in the source.

    A column's header follows the header of its group, because Markdown has no spanning cells.
    """
    prefixes = [f"{_inline(group.header)}: " if group.header else "" for group in table.groups for _ in group.columns]
    headers = [prefix + _render_element(header) for prefix, header in zip(prefixes, layout.headers, strict=True)]
    rows = [[escape(table.stub), *headers]]
    for section in layout.sections:
        rows += [[f"**{escape(section.title)}**", *([""] * len(headers))]] if section.title else []
        rows += [[_render_line(row.label), *map(_render_line, row.cells)] for row in section.rows]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    alignments = ["left", *(column.align for column in table.columns)]
    columns = list(zip(alignments, widths, strict=True))
    rules = [f":{'-' * (width - 1)}" if align == "left" else f"{'-' * (width - 1)}:" for align, width in columns]
    padded = [
        [
            cell.ljust(width) if align == "left" else cell.rjust(width)
            for cell, (align, width) in zip(row, columns, strict=True)
        ]
        for row in rows
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [padded[0], rules, *padded[1:]])


def _render_line(line: FormattedLine) -> str:
    return "".join(map(_render_element, line))


def _render_element(element: TextElement) -> str:
    if isinstance(element, Superscripts):
        return f"<sup>{','.join(map(escape, element.symbols))}</sup>"
    if isinstance(element, IndexedName):
        tag = "sup" if element.is_exponent else "sub"
        return f"{f'*{element.name}*' if element.is_variable else element.name}<{tag}>{element.index}</{tag}>"
    source = _inline(element.text)
    source = f"<ins>{source}</ins>" if element.underlined else source
    source = f"*{source}*" if element.italic else source
    return f"**{source}**" if element.bold else source


def escape(text: str) -> str:
    """Return text that Markdown prints unchanged on one line, even at the start of a paragraph."""
    return BLOCK_START.sub(r"\1\\\2", _inline(text).strip())


def _inline(text: str) -> str:
    """Return text that Markdown prints unchanged within a line."""
    return SPECIAL.sub(_escape_match, escape_invisible(BLANKS.sub(" ", text)))


def _escape_match(match: re.Match[str]) -> str:
    """Return an interval unchanged, and any other special character as Markdown prints it."""
    return match[0] if len(match[0]) > 1 else ENTITIES.get(match[0], "\\" + match[0])
