"""How a table is printed so that it fits a page: sizes, place of comparisons, headers, orientation and length."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from typing import Literal, NamedTuple

from reprise.tables.render.latex_widths import Font, Size, line_width, width_in_digits
from reprise.tables.render.layout import LaidRow, Layout, lay_out
from reprise.tables.render.pieces import Line, Marks, Span, plain_text
from reprise.tables.render.table import Table

LINE_PT, PAGE_PT = 345, 550  # of `article`, whose page is the smallest in use
SPARE_PT = 15  # of a page's height, for what is estimated too low
CAPTION_SIGN_PT, CAPTION_LINE_PT = 4.8, 12
RULE_PT = 5
INDENT_PT = 6  # of the labels below a row

SMALL = Font(r"\small", 4.63, 11)
FOOTNOTE = Font(r"\footnotesize", 4.25, 9.5)
SCRIPT = Font(r"\scriptsize", 3.99, 8)
SIX_POINTS = Font(r"\fontsize{6}{7}\selectfont", 3.67, 7)
READABLE = (Size(SMALL, SCRIPT, 5), Size(FOOTNOTE, SCRIPT, 4), Size(FOOTNOTE, SCRIPT, 2.5))
DENSE = (Size(SCRIPT, SIX_POINTS, 2.5), Size(SCRIPT, SIX_POINTS, 1.5))

Headers = Literal["whole", "broken", "upright"]


@dataclass(frozen=True)
class Print:
    """A way to print a table."""

    size: Size
    stacked: bool = False
    """Comparisons below the numbers, not beside."""
    headers: Headers = "whole"
    """How those are printed that are wider than their columns."""
    landscape: bool = False
    long: bool = False
    """Over several pages."""
    squeezed: bool = False
    """Scaled down to the line: the last resort."""

    @property
    def line_pt(self) -> float:
        """Width of a line."""
        return PAGE_PT if self.landscape else LINE_PT

    @property
    def page_pt(self) -> float:
        """Height of a page."""
        return LINE_PT if self.landscape else PAGE_PT


class Body(NamedTuple):
    """Width of a column without its header, and of the marks that hang over its right edge."""

    width_pt: float
    hanging_pt: float


def fitting_print(table: Table) -> tuple[Print, Layout]:
    """The first way in which the table is no wider than a line and takes the fewest pages, and what it prints."""
    layouts = {stacked: lay_out(table, stacked=stacked) for stacked in (False, True)}
    best, fewest = None, 0
    for way in ways(table.comparison):
        if total_width(layouts[way.stacked], way) <= way.line_pt:
            pages = pages_of(table, layouts[way.stacked], way)
            if best is None or pages < fewest:
                best, fewest = way, pages
            if pages == 1:
                break
    chosen = replace(best, long=fewest > 1) if best else replace(way, squeezed=True)
    return chosen, layouts[chosen.stacked]


def ways(has_comparisons: bool) -> Iterator[Print]:
    """All ways, the best first."""
    placements = (False, True) if has_comparisons else (False,)
    headers: tuple[Headers, ...] = ("whole", "broken", "upright")
    for landscape, sizes in product((False, True), (READABLE, DENSE)):
        for stacked, head, size in product(placements, headers, sizes):
            yield Print(size, stacked, head, landscape)


# Width


def total_width(layout: Layout, way: Print) -> float:
    """Width of the whole table in points."""
    bodies = column_bodies(layout, way)
    columns = [
        max(body.width_pt, header_width(header, body, way)) + gap
        for header, body, gap in zip(layout.headers, bodies, gaps_after(bodies, way), strict=True)
    ]
    wider = 0.0
    for head in layout.spanning:
        covered = sum(columns[head.first : head.first + head.count]) - way.size.separation_pt
        wider += max(0.0, line_width(head.line, way.size) - covered)
    titles = [width_in_digits(section.title) * way.size.numbers.digit_pt for section in layout.sections]
    separations = 3 * way.size.separation_pt  # around the labels
    return max(label_width(layout, way) + separations + sum(columns) + wider, *titles, 0)


def label_width(layout: Layout, way: Print) -> float:
    """Width of the labels of rows."""
    rows = [row for section in layout.sections for row in section.rows]
    labels = [line_width(row.label, way.size) for row in rows]
    below = [INDENT_PT + line_width(one.label, way.size) for row in rows for one in row.below]
    return max([*labels, *below], default=0)


def column_bodies(layout: Layout, way: Print) -> list[Body]:
    """The widths of all columns without their headers."""
    rows = [one for section in layout.sections for row in section.rows for one in (row, *row.below)]
    return [column_body(rows, index, way) for index in range(len(layout.headers))]


def column_body(rows: Sequence[LaidRow], index: int, way: Print) -> Body:
    """The width of one column without its header."""
    cells = [split_hanging(row.cells[index]) for row in rows]
    numbers = [line_width(number, way.size) for number, _ in cells]
    marks = [line_width(hanging, way.size) for _, hanging in cells]
    return Body(max(numbers, default=0), max(marks, default=0))


def split_hanging(line: Line) -> tuple[Line, Line]:
    """A cell and the marks at its end."""
    return (line[:-1], line[-1:]) if line and isinstance(line[-1], Marks) else (line, ())


def gaps_after(bodies: Sequence[Body], way: Print) -> list[float]:
    """The blank after each column, with room for the marks that hang into it."""
    usual = [2 * way.size.separation_pt] * (len(bodies) - 1) + [way.size.separation_pt]
    wanted = [ceil(body.hanging_pt) + 1.0 if body.hanging_pt else 0.0 for body in bodies]
    return [max(gap, hanging) for gap, hanging in zip(usual, wanted, strict=True)]


# Headers


def is_upright(header: Line, body: Body, way: Print) -> bool:
    """Whether a column's header is turned, to take no more width than the column."""
    return way.headers == "upright" and line_width(header, way.size) > body.width_pt


def header_width(header: Line, body: Body, way: Print) -> float:
    """The width that a column's header takes."""
    if is_upright(header, body, way):
        return way.size.numbers.line_pt
    return max(line_width(line, way.size) for line in header_lines(header, body, way))


def header_lines(header: Line, body: Body, way: Print) -> list[Line]:
    """A header in lines no longer than the column if possible, broken at blanks and after hyphens."""
    first, *marks = header
    if way.headers != "broken" or not isinstance(first, Span):
        return [header]
    parts = [part for part in re.split(r"(?<=[- ])", first.text) if part]
    limit = max(body.width_pt, *(line_width((Span(part.strip()),), way.size) for part in parts), 0)
    lines = [""]
    for part in parts:
        if lines[-1] and line_width((Span(f"{lines[-1]}{part}".strip()),), way.size) > limit:
            lines.append("")
        lines[-1] += part
    return [*((Span(line.strip()),) for line in lines[:-1]), (Span(lines[-1].strip()), *marks)]


def header_height(layout: Layout, way: Print) -> float:
    """Height of the headers of columns."""
    line, heights = way.size.numbers.line_pt, [0.0]
    for header, body in zip(layout.headers, column_bodies(layout, way), strict=True):
        is_turned = is_upright(header, body, way)
        heights.append(line_width(header, way.size) if is_turned else line * len(header_lines(header, body, way)))
    return max(heights)


# Height


def pages_of(table: Table, layout: Layout, way: Print) -> int:
    """The pages that a table takes."""
    return ceil(total_height(table, layout, way) / (way.page_pt - SPARE_PT))


def total_height(table: Table, layout: Layout, way: Print) -> float:
    """Height of the whole table in points, with its caption and remarks."""
    line = way.size.numbers.line_pt
    rows = sum(1 + len(row.below) for section in layout.sections for row in section.rows)
    titles = sum(bool(section.title) for section in layout.sections)
    head = header_height(layout, way) + (line + RULE_PT) * bool(layout.spanning)
    body = (rows + titles) * line + (2 + len(layout.sections)) * RULE_PT
    caption = f"Table 00: {table.notice} {table.title} ({table.origin}). {table.caption}"
    caption_lines = 2 + lines_of(len(caption) * CAPTION_SIGN_PT, way)  # with the blank around it
    legend = " ".join(map(plain_text, layout.legend))
    remarks = (" ".join(table.warnings), legend, " ".join(text for _, text in layout.footnotes), " ".join(table.notes))
    remark_lines = 1 + sum(lines_of(width_in_digits(text) * FOOTNOTE.digit_pt, way) for text in remarks)
    return head + body + caption_lines * CAPTION_LINE_PT + remark_lines * FOOTNOTE.line_pt


def lines_of(width_pt: float, way: Print) -> int:
    """The lines of a paragraph that would be so wide on one line."""
    return ceil(1.05 * width_pt / way.line_pt)
