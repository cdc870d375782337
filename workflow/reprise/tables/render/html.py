"""A table as a small HTML page that needs no network and no script."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

from reprise.core.plain import visible
from reprise.tables.render.layout import LaidRow, LaidSection, Layout, Spanning, lay_out
from reprise.tables.render.pieces import Indexed, Line, Marks, Span
from reprise.tables.render.table import Column, Table

CSS = Path(__file__).with_name("page.css")
BLANKS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
MAIN_START, MAIN_END = "<main>\n", "</main>\n"


def render(table: Table) -> str:
    """A whole page with one table."""
    return page(table.heading, table_section(table))


def page(title: str, content: str) -> str:
    """A page around content that is HTML already."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{CSS.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
        f"{MAIN_START}{content}{MAIN_END}</body>\n</html>\n"
    )


def table_section(table: Table) -> str:
    """One table with its heading, notice, notes and provenance."""
    layout, name = lay_out(table), anchor(table.label)
    parts = [
        f'<section id="{name}" aria-labelledby="{name}-title">',
        f'<h2 id="{name}-title">{escape(table.heading)}</h2>',
        f'<p class="notice">{escape(table.notice)}</p>' if table.notice else "",
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{name}-title">',
        "<table>",
        f"<caption>{escape(table.caption)}</caption>",
        *head(table, layout, name),
        *(line for section in layout.sections for line in body(section, table.columns, name)),
        "</table>",
        "</div>",
        *remarks(table, layout, name),
        *provenance(table.provenance),
        "</section>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def anchor(label: str) -> str:
    """A table's label as the start of the page's ids."""
    return re.sub("[^A-Za-z0-9_-]", "-", label)


def head(table: Table, layout: Layout, name: str) -> list[str]:
    """The header: one row, or two where groups of columns have headers."""
    stub = f'<th scope="col" class="left">{escape(table.stub)}</th>'
    columns = "".join(
        f'<th scope="col" class="{column.align}">{spell(line, name)}</th>'
        for line, column in zip(layout.headers, table.columns, strict=True)
    )
    return [
        "<thead>",
        *spanning_row(layout.spanning, len(layout.headers), name),
        f"<tr>{stub}{columns}</tr>",
        "</thead>",
    ]


def spanning_row(spanning: Sequence[Spanning], columns: int, name: str) -> list[str]:
    """The row of headers over groups of columns, if any."""
    if not spanning:
        return []
    cells, reached = [gap(1)], 0
    for group in spanning:
        title = f"<span>{spell(group.line, name)}</span>"
        cells += [
            gap(group.first - reached),
            f'<th scope="colgroup" class="group" colspan="{group.count}">{title}</th>',
        ]
        reached = group.first + group.count
    return [f"<tr>{''.join(cells)}{gap(columns - reached)}</tr>"]


def gap(columns: int) -> str:
    """Empty header cells."""
    return "<td></td>" * columns


def body(section: LaidSection, columns: Sequence[Column], name: str) -> list[str]:
    """One section's rows."""
    title = f'<tr class="section"><th scope="rowgroup" colspan="{len(columns) + 1}">{escape(section.title)}</th></tr>'
    rows = [body_row(row, columns, name) for row in section.rows]
    return ["<tbody>", title if section.title else "", *rows, "</tbody>"]


def body_row(row: LaidRow, columns: Sequence[Column], name: str) -> str:
    """One row of label and cells."""
    cells = "".join(
        f'<td class="{column.align}">{spell(cell, name, hanging=True)}</td>'
        for cell, column in zip(row.cells, columns, strict=True)
    )
    return f'<tr><th scope="row">{spell(row.label, name)}</th>{cells}</tr>'


def remarks(table: Table, layout: Layout, name: str) -> list[str]:
    """Warnings, legend, footnotes and notes."""
    lines = [
        *(f"<li>{spell(line, name)}</li>" for line in layout.legend),
        *(
            f'<li id="{name}-note-{letter}"><sup>{letter}</sup> {escape(text)}</li>'
            for letter, text in layout.footnotes
        ),
        *(f"<li>{escape(note)}</li>" for note in table.notes),
    ]
    warnings = [f'<p class="warning">{escape(warning)}</p>' for warning in table.warnings]
    return [*warnings, '<ul class="remarks">', *lines, "</ul>"] if lines else warnings


def provenance(lines: Sequence[str]) -> list[str]:
    """Where the numbers come from, folded."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return [f"<details><summary>Provenance</summary><ul>{items}</ul></details>"] if lines else []


def spell(line: Line, name: str, hanging: bool = False) -> str:
    """A line in HTML; with `hanging`, marks at its end take no width, so that digits stay aligned."""
    last = len(line) - 1
    return "".join(
        spell_marks(piece, name, hanging and index == last) if isinstance(piece, Marks) else spell_text(piece)
        for index, piece in enumerate(line)
    )


def spell_text(piece: Span | Indexed) -> str:
    """A piece that is no mark."""
    if isinstance(piece, Span):
        return spell_span(piece)
    tag, name = "sup" if piece.raised else "sub", f"<i>{piece.name}</i>" if piece.is_variable else piece.name
    return f"{name}<{tag}>{piece.index}</{tag}>"


def spell_marks(marks: Marks, name: str, hanging: bool) -> str:
    """Superscript symbols; a footnote's letter leads to its text."""
    start = '<sup class="hanging">' if hanging else "<sup>"
    return f"{start}{','.join(spell_mark(symbol, name) for symbol in marks.symbols)}</sup>"


def spell_mark(symbol: str, name: str) -> str:
    """One symbol or linked letter."""
    if symbol.isascii() and symbol.isalpha():
        return f'<a href="#{name}-note-{symbol}">{symbol}</a>'
    return escape(symbol)


def spell_span(span: Span) -> str:
    """A stretch of text in its print."""
    source = escape(span.text)
    wanted = ((span.italic, "em"), (span.underlined, "u"), (span.bold, "strong"), (span.small, "small"))
    for applies, tag in wanted:
        source = f"<{tag}>{source}</{tag}>" if applies else source
    source = f'<span class="grey">{source}</span>' if span.grey else source
    return f'<a href="{escape(span.link)}">{source}</a>' if span.link else source


def escape(text: str) -> str:
    """Text for the body or an attribute of a page; what hides or reorders text is shown as its code point."""
    return html.escape(visible(BLANKS.sub(" ", text)))
