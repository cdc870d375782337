"""Arrange the numbers of a figure before it is drawn: by position, in series and panels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from reprise.benchmarks.annotations import group_by_key
from reprise.config.tables import Column, Row, Section
from reprise.tables.builder import TableBuilder, column_name
from reprise.tables.render.table import Cell, TableNumber


@dataclass(frozen=True)
class Panel:
    """Series of numbers, of rows or of columns, at ordered `ticks`."""

    title: str
    ticks: tuple[str, ...]
    series: dict[str, dict[str, TableNumber]]

    def ticks_with_numbers(self) -> list[str]:
        return [tick for tick in self.ticks if any(tick in numbers for numbers in self.series.values())]


@dataclass(frozen=True)
class LineSeries:
    """Numbers by number of frames; `level` is a number without frames, drawn as a horizontal line."""

    label: str
    numbers: dict[int, TableNumber] = field(default_factory=dict)
    level: TableNumber | None = None
    is_chance: bool = False

    def known_numbers(self) -> list[TableNumber]:
        numbers = [*self.numbers.values(), *([self.level] if self.level else [])]
        return [number for number in numbers if number.value is not None]


@dataclass(frozen=True)
class ChartRow:
    """A row of a part, with the column and number of each of its cells."""

    label: str
    section: Section
    row: Row
    cells: tuple[tuple[Column, TableNumber], ...]
    notes: tuple[str, ...]

    @property
    def has_numbers(self) -> bool:
        return any(number.value is not None for _, number in self.cells)

    @property
    def line_name(self) -> str:
        """Return the name of its line over numbers of frames: its section's title, or its label."""
        return self.section.title or self.row.label


def build_chart_rows(builders: Sequence[TableBuilder]) -> list[ChartRow]:
    """Return the rows of all parts; equal labels of several rows get a suffix."""
    entries = []
    for builder in builders:
        rows = [(section, row) for section in builder.spec.sections for row in section.resolve()]
        for (section, row), table_row in zip(rows, builder.build().rows(), strict=True):
            numbers = [
                cell.numbers[0] if isinstance(cell, Cell) and cell.numbers else TableNumber(None)
                for cell in table_row.cells
            ]
            cells = tuple(zip(builder.spec.columns, numbers, strict=True))
            entries.append(ChartRow(row.label, section, row, cells, table_row.notes))
    return [replace(entry, label=_label(entry, entries)) for entry in entries]


def _label(entry: ChartRow, entries: Sequence[ChartRow]) -> str:
    """Return the label. If several rows share it, append the first property that tells them apart, else a number."""
    namesakes = [candidate for candidate in entries if candidate.label == entry.label]
    if len(namesakes) == 1:
        return entry.label
    index = [candidate is entry for candidate in namesakes].index(True)
    for properties in zip(*map(_properties, namesakes), strict=True):
        if len(set(properties)) == len(namesakes):
            return f"{entry.label} ({properties[index]})" if properties[index] else entry.label
    return f"{entry.label} ({1 + index})"


def _properties(entry: ChartRow) -> tuple[str, str, str]:
    """Return the properties that can distinguish a row: frames, section, and protocol with sampling."""
    frames = entry.row.frames or ""
    frames = f"{frames} frame{'s' * (frames != '1')}" if frames.isdecimal() else frames
    return frames, entry.section.title or "", ", ".join(filter(None, [entry.row.protocol, entry.row.sampling]))


def build_span_panels(entries: Sequence[ChartRow]) -> list[Panel]:
    """Return a panel for each spanning header, with a series for each row."""
    panels = []
    for span in dict.fromkeys(column.span or "" for entry in entries for column, _ in entry.cells):
        cells = {
            entry.label: [(column.title, number) for column, number in entry.cells if (column.span or "") == span]
            for entry in entries
        }
        ticks = dict.fromkeys(title for row_cells in cells.values() for title, _ in row_cells)
        series = {
            entry.label: {title: number for title, number in cells[entry.label] if number.value is not None}
            for entry in entries
        }
        panels.append(
            Panel(span, tuple(ticks), {entry.label: series[entry.label] for entry in entries if entry.has_numbers})
        )
    return panels


def build_bar_panel(entries: Sequence[ChartRow], along: str) -> Panel:
    """Return one panel with rows as series and columns as ticks, or vice versa; leave out what has no number."""
    numbers: dict[str, dict[str, TableNumber]] = {}
    for entry in entries:
        # Parts with the same rows add columns to one row; only rows with a common column need distinct labels.
        label = entry.row.label if _has_disjoint_columns(entry, entries) else entry.label
        row_numbers = {name: number for name, number in _named_numbers(entry, entries) if number.value is not None}
        numbers.setdefault(label, {}).update(row_numbers)
    columns = dict.fromkeys(name for entry in entries for name, _ in _named_numbers(entry, entries))
    rows = [label for label, row_numbers in numbers.items() if row_numbers]
    shown_columns = [name for name in columns if any(name in row_numbers for row_numbers in numbers.values())]
    if along == "rows":
        series = {name: {row: numbers[row][name] for row in rows if name in numbers[row]} for name in shown_columns}
        return Panel("", tuple(rows), series)
    return Panel("", tuple(shown_columns), {row: numbers[row] for row in rows})


def rows_without_numbers(entries: Sequence[ChartRow]) -> list[str]:
    labels = {entry.row.label for entry in entries if entry.has_numbers}
    return list(dict.fromkeys(entry.label for entry in entries if entry.row.label not in labels))


def columns_without_numbers(entries: Sequence[ChartRow]) -> dict[str, bool]:
    """Return the columns without numbers, each with whether the paper's numbers of it are lost."""
    cells_by_name = group_by_key((cell for entry in entries for cell in _named_numbers(entry, entries)), itemgetter(0))
    empty = {name: cells for name, cells in cells_by_name.items() if all(number.value is None for _, number in cells)}
    return {name: any(number.state == "lost" for _, number in cells) for name, cells in empty.items()}


def _has_disjoint_columns(entry: ChartRow, entries: Sequence[ChartRow]) -> bool:
    """Return whether the rows of this label have no column in common."""
    columns = [
        {(column.span, column.title) for column, _ in namesake.cells}
        for namesake in entries
        if namesake.row.label == entry.row.label
    ]
    return all(not first & second for index, first in enumerate(columns) for second in columns[index + 1 :])


def _named_numbers(entry: ChartRow, entries: Sequence[ChartRow]) -> Iterator[tuple[str, TableNumber]]:
    """Yield the numbers of a row by column name: the span alone if all columns have the same title."""
    titles = {column.title for row in entries for column, _ in row.cells}
    for column, number in entry.cells:
        yield column.span if column.span and len(titles) == 1 else column_name(column), number


def build_frame_lines(entries: Sequence[ChartRow], frames: dict[str, int]) -> Iterator[tuple[str, list[LineSeries]]]:
    """Yield each column with the lines of its numbers, one for each section with a title, or for each label."""
    for index, (column, _) in enumerate(entries[0].cells):
        lines: dict[str, LineSeries] = {}
        for entry in entries:
            row, name, number = entry.row, entry.line_name, entry.cells[index][1]
            frame_count = int(row.frames) if row.frames and row.frames.isdecimal() else frames.get(row.sampling or "")
            if row.chance or frame_count is None:
                name = name if name == row.label else f"{name}, {row.label}"
                lines[name] = LineSeries(name, level=number, is_chance=row.chance)
            else:
                lines.setdefault(name, LineSeries(name)).numbers[frame_count] = number
        yield column.title, [line for line in lines.values() if line.known_numbers()]


def lines_without_numbers(entries: Sequence[ChartRow]) -> list[str]:
    lines = {entry.line_name for entry in entries if entry.has_numbers}
    return [name for name in dict.fromkeys(entry.line_name for entry in entries) if name not in lines]
