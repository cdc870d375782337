"""Render tables as small HTML pages without scripts or external files."""

import html
import re
from functools import partial
from itertools import chain
from pathlib import Path

from reprise.core.plain import escape_invisible
from reprise.tables.render.layout import (
    FormattedLine,
    IndexedName,
    LayoutRow,
    Superscripts,
    TextElement,
    compute_layout,
)
from reprise.tables.render.table import Table

CSS = Path(__file__).with_name("page.css")
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
MAIN_START, MAIN_END = "<main>\n", "</main>\n"


def render(table: Table) -> str:
    """Return a page with one table."""
    return render_page(table.heading, render_section(table))


def render_page(title: str, content: str) -> str:
    """Return a page with this content, which is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{CSS.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
        f"{MAIN_START}{content}{MAIN_END}</body>\n</html>\n"
    )


def extract_content(page: str) -> str:
    """Return the content of a page's `main` element. The page has no other `main` tags, because all text is escaped."""
    return page.partition(MAIN_START)[2].partition(MAIN_END)[0]


def table_anchor(table: Table) -> str:
    """Return the id of a table's section, to which links may point."""
    return re.sub("[^A-Za-z0-9_-]", "-", table.label)


def render_section(table: Table) -> str:
    """Return a table with its title and remarks as a section of a page."""
    layout, anchor = compute_layout(table), table_anchor(table)
    render_line = partial(_render_line, anchor=anchor)
    alignments = [column.align for column in table.columns]
    headers = [
        f'<th scope="col" class="{align}">{render_line((header,))}</th>'
        for header, align in zip(layout.headers, alignments, strict=True)
    ]
    section_start = f'<tr class="section"><th scope="rowgroup" colspan="{len(alignments) + 1}">'

    def render_row(row: LayoutRow) -> str:
        cells = zip(row.cells, alignments, strict=True)
        data = "".join(f'<td class="{align}">{render_line(cell, hanging=True)}</td>' for cell, align in cells)
        return f'<tr><th scope="row">{render_line(row.label)}</th>{data}</tr>'

    bodies = [
        [
            "<tbody>",
            f"{section_start}{escape(section.title)}</th></tr>" if section.title else "",
            *map(render_row, section.rows),
            "</tbody>",
        ]
        for section in layout.sections
    ]
    groups = [
        f'<th scope="colgroup" class="group" colspan="{len(group.columns)}"><span>{escape(group.header)}</span></th>'
        if group.header
        else "<td></td>" * len(group.columns)
        for group in table.groups
    ]
    is_grouped = any(group.header for group in table.groups)
    remarks = [
        *(f"<li>{render_line(line)}</li>" for line in layout.legend),
        *(
            f'<li id="{anchor}-note-{letter}"><sup>{letter}</sup> {escape(text)}</li>'
            for letter, text in layout.footnotes
        ),
        *(f"<li>{escape(note)}</li>" for note in table.notes),
    ]
    provenance = "".join(f"<li>{escape(line)}</li>" for line in table.provenance)
    lines = [
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">',
        f'<h2 id="{anchor}-title">{escape(table.heading)}</h2>',
        f'<p class="notice">{escape(table.notice)}</p>' if table.notice else "",
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{anchor}-title">',
        f"<table>\n<caption>{escape(table.caption)}</caption>\n<thead>",
        f"<tr><td></td>{''.join(groups)}</tr>" if is_grouped else "",
        f'<tr><th scope="col" class="left">{escape(table.stub)}</th>{"".join(headers)}</tr>\n</thead>',
        *chain.from_iterable(bodies),
        "</table>\n</div>",
        *(f'<p class="warning">{escape(warning)}</p>' for warning in table.warnings),
        *(['<ul class="remarks">', *remarks, "</ul>"] if remarks else ()),
        f"<details><summary>Provenance</summary><ul>{provenance}</ul></details>" if provenance else "",
        "</section>",
    ]
    return "".join(f"{line}\n" for line in lines if line)


def _render_line(line: FormattedLine, *, anchor: str, hanging: bool = False) -> str:
    """Return a line of the table with this anchor as HTML.

    With `hanging`, marks at the end take no width, which keeps digits aligned.
    """
    text = "".join(_render_element(element, anchor) for element in line)
    if hanging and line and isinstance(line[-1], Superscripts):
        before, _, marks = text.rpartition("<sup>")
        return f'{before}<sup class="hanging">{marks}'
    return text


def _render_element(element: TextElement, anchor: str) -> str:
    """Return an element of the table with this anchor as HTML. The letter of a footnote links to the footnote."""
    if isinstance(element, Superscripts):
        symbols = [
            f'<a href="#{anchor}-note-{symbol}">{symbol}</a>'
            if symbol.isascii() and symbol.isalpha()
            else escape(symbol)
            for symbol in element.symbols
        ]
        return f"<sup>{','.join(symbols)}</sup>"
    if isinstance(element, IndexedName):
        tag = "sup" if element.is_exponent else "sub"
        return f"{f'<i>{element.name}</i>' if element.is_variable else element.name}<{tag}>{element.index}</{tag}>"
    source = escape(element.text)
    styles = ((element.italic, "em"), (element.underlined, "u"), (element.bold, "strong"), (element.small, "small"))
    for applies, tag in styles:
        source = f"<{tag}>{source}</{tag}>" if applies else source
    source = f'<span class="grey">{source}</span>' if element.grey else source
    return f'<a href="{escape(element.link)}">{source}</a>' if element.link else source


def escape(text: str) -> str:
    """Return text for the body or an attribute of a page; characters that hide or reorder text become code points."""
    return html.escape(escape_invisible(CONTROL_CHARACTERS.sub(" ", text)))
