"""Typeset the columns of a LaTeX table: numbers in the S columns of siunitx, which align them at the decimal point.

A column of a table becomes an S column for each number of its cells, each with a further column for intervals and
comparisons if it has any.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from reprise.core.notation import MINUS
from reprise.tables.render.latex_text import escape
from reprise.tables.render.layout import (
    NUMBER_SEPARATOR,
    FormattedLine,
    IndexedName,
    Superscripts,
    TextElement,
    TextSpan,
    wrap_header,
)
from reprise.tables.render.table import TableColumn

NUMBER = re.compile(rf"(?P<sign>[+{MINUS}]?)(?P<integer>\d+)(?:\.(?P<decimals>\d+))?")
MARK_WIDTH = 0.55  # of a superscript that hangs over the right edge of a number, in em


@dataclass(frozen=True)
class _Part:
    """One number of a cell: its text, its marks, and its interval and comparison."""

    value: FormattedLine
    marks: tuple[str, ...]
    suffix: FormattedLine

    @property
    def number(self) -> re.Match[str] | None:
        """Return the digits of a number; None for a dash or another text."""
        span = self.value[0] if len(self.value) == 1 else None
        return NUMBER.fullmatch(span.text) if isinstance(span, TextSpan) else None


@dataclass(frozen=True)
class _PartColumns:
    """The LaTeX columns of one number in all cells of a column."""

    number_format: str
    mark_count: int
    has_suffix: bool

    def specification(self, separator: str) -> str:
        """Return the columns of a `tabular`, with space for the marks and a separator after them."""
        columns = f"S[table-format={self.number_format}]"
        gap = rf"\hspace{{{0.2 + MARK_WIDTH * self.mark_count:.2f}em}}" if self.mark_count or self.has_suffix else ""
        if self.has_suffix:
            return f"{columns}@{{{gap}}}l" + (f"@{{{separator}}}" if separator else "")
        if separator:
            return f"{columns}@{{{gap}{separator}}}"
        # The space between two columns has room for one mark.
        return f"{columns}@{{{gap}}}" if self.mark_count > 1 else columns


@dataclass(frozen=True)
class LatexColumn:
    """One column of a table, with `count` columns in LaTeX. A column without numbers has no parts."""

    align: str
    parts: tuple[_PartColumns, ...]

    @property
    def count(self) -> int:
        return sum(1 + part.has_suffix for part in self.parts) or 1

    @property
    def specification(self) -> str:
        if not self.parts:
            return self.align
        *parts, last_part = self.parts
        return "".join([*(part.specification(NUMBER_SEPARATOR) for part in parts), last_part.specification("")])

    def header(self, header: TextSpan | IndexedName) -> str:
        """Return the header, on several lines if it is long."""
        if isinstance(header, IndexedName):
            return self._span(render_element(header))
        lines = list(map(escape, wrap_header(header.text)))
        align, text = "c" if self.parts else self.align, r"\\".join(lines)
        return self._span(text if len(lines) == 1 else rf"\shortstack[{align}]{{{text}}}")

    def cell(self, line: FormattedLine) -> str:
        """Return a cell of the column as LaTeX."""
        parts = _split_parts(line)
        if not self.parts or len(parts) != len(self.parts):
            return self._span(render_line(line))
        cells = []
        for part, columns in zip(parts, self.parts, strict=True):
            cells += [_number_cell(part), *([render_line(part.suffix)] if columns.has_suffix else [])]
        return " & ".join(cells)

    def _span(self, text: str) -> str:
        """Return text that takes all LaTeX columns of the column."""
        if not self.parts:
            return text
        return f"{{{text}}}" if self.count == 1 else rf"\multicolumn{{{self.count}}}{{c}}{{{text}}}"


def build_column(column: TableColumn, lines: Iterable[FormattedLine]) -> LatexColumn:
    """Return the LaTeX columns of a column with these cells."""
    cells = [_split_parts(line) for line in lines]
    part_count = max((len(parts) for parts in cells if any(part.number for part in parts)), default=0)
    parts_by_position = zip(*(parts for parts in cells if len(parts) == part_count), strict=True)
    return LatexColumn(column.align[0], tuple(map(_part_columns, parts_by_position)) if part_count else ())


def _part_columns(parts: Sequence[_Part]) -> _PartColumns:
    numbers = [number for part in parts if (number := part.number)]
    sign = "-" if any(number["sign"] for number in numbers) else ""
    integer = max((len(number["integer"]) for number in numbers), default=1)
    decimals = max((len(number["decimals"] or "") for number in numbers), default=0)
    mark_count = max(len(part.marks) for part in parts)
    return _PartColumns(f"{sign}{integer}.{decimals}", mark_count, any(part.suffix for part in parts))


def _split_parts(line: FormattedLine) -> list[_Part]:
    """Return the numbers of a cell, each with its marks and suffix."""
    groups = groupby(line, key=_is_separator)
    return [_split_part(tuple(elements)) for is_separator, elements in groups if not is_separator]


def _is_separator(element: TextElement) -> bool:
    return isinstance(element, TextSpan) and element.text == NUMBER_SEPARATOR


def _split_part(elements: FormattedLine) -> _Part:
    value, rest = elements[:1], elements[1:]
    marks = rest[0].symbols if rest and isinstance(rest[0], Superscripts) else ()
    suffix = rest[1:] if marks else rest
    # The space between a number and its suffix is a gap between two LaTeX columns.
    return _Part(value, marks, suffix[1:])


def _number_cell(part: _Part) -> str:
    """Return a number with declarations of its style before it. Its line and its marks, behind it, take no width."""
    hanging = rf"\rlap{{{render_element(Superscripts(part.marks))}}}" if part.marks else ""
    span = part.value[0]
    if not part.number or not isinstance(span, TextSpan):
        return f"{{{render_line(part.value)}{hanging}}}"
    styles = ((span.small, r"\reprisesmall"), (span.bold, r"\bfseries"), (span.italic, r"\itshape"))
    declarations = [command for applies, command in styles if applies]
    declarations += [r"\color[gray]{0.5}"] if span.grey else []
    line = rf"\llap{{\underline{{\phantom{{{escape(span.text)}}}}}}}" if span.underlined else ""
    number = span.text.replace(MINUS, "-") + (f"{{{line}{hanging}}}" if line or hanging else "")
    return " ".join([*declarations, number])


def render_line(line: FormattedLine) -> str:
    return "".join(map(render_element, line))


def render_element(element: TextElement) -> str:
    if isinstance(element, Superscripts):
        return rf"\textsuperscript{{{','.join(map(escape, element.symbols))}}}"
    if isinstance(element, IndexedName):
        name = element.name if element.is_variable else rf"\mathrm{{{element.name}}}"
        return f"${name}{'^' if element.is_exponent else '_'}{element.index}$"
    source = escape(element.text)
    for applies, command in ((element.italic, "textit"), (element.underlined, "underline"), (element.bold, "textbf")):
        source = rf"\{command}{{{source}}}" if applies else source
    source = rf"{{\color[gray]{{0.5}}{source}}}" if element.grey else source
    return rf"{{\reprisesmall {source}}}" if element.small else source
