"""Arrange the numbers of a figure in panels and series, before the figure is drawn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from reprise.benchmarks.annotations import group_by_key
from reprise.config.tables import Column, Row, Section
from reprise.core.plain import summarize_list
from reprise.tables.builder import TableBuilder, column_name
from reprise.tables.render.table import Cell, TableNumber


@dataclass(frozen=True)
class Panel:
    """Series of numbers at ordered ticks; the rows of a table are series and its columns are ticks, or vice versa."""

    title: str
    ticks: tuple[str, ...]
    series: dict[str, dict[str, TableNumber]]
    """label of a series -> tick -> number"""
    models: dict[str, str] = field(default_factory=dict)
    """label of a series or tick -> its model, if it stands for one"""
    frame_counts: dict[str, int | None] = field(default_factory=dict)
    """label of a series or tick -> its number of frames, or None if it differs between clips"""

    def list_ticks_with_numbers(self) -> list[str]:
        """Return the ticks at which any series has a number."""
        return [tick for tick in self.ticks if any(tick in numbers for numbers in self.series.values())]


@dataclass(frozen=True)
class LineSeries:
    """A line over numbers of frames, or a horizontal line."""

    label: str
    model: str | None = None
    numbers: dict[int, TableNumber] = field(default_factory=dict)
    """number of frames -> number"""
    level: TableNumber | None = None
    """number that does not depend on the frames, for a horizontal line"""
    is_chance: bool = False

    def list_available_numbers(self) -> list[TableNumber]:
        """Return all numbers of the line that have a value."""
        numbers = [*self.numbers.values(), *([self.level] if self.level else [])]
        return [number for number in numbers if number.value is not None]


@dataclass(frozen=True)
class ChartRow:
    """A table row in one of the figure's parts, with the column and number of each of its cells."""

    label: str
    """label of `row`, with a suffix if several rows of the figure have the same"""
    section: Section
    row: Row
    cells: tuple[tuple[Column, TableNumber], ...]
    notes: tuple[str, ...]
    frame_count: int | None
    """number of frames, or None if it differs between clips"""

    @property
    def has_numbers(self) -> bool:
        return any(number.value is not None for _, number in self.cells)

    @property
    def line_name(self) -> str:
        """Return the name of the row's line in a plot over frames: the section's title, or the row's label."""
        return self.section.title or self.row.label


def build_chart_rows(builders: Sequence[TableBuilder]) -> list[ChartRow]:
    """Return the rows of all parts of a figure, one builder per part; rows with equal labels get a suffix."""
    chart_rows = []
    for builder in builders:
        rows = [(section, row) for section in builder.spec.sections for row in section.resolve()]
        for (section, row), table_row in zip(rows, builder.build().rows(), strict=True):
            numbers = [
                cell.numbers[0] if isinstance(cell, Cell) and cell.numbers else TableNumber(None)
                for cell in table_row.cells
            ]
            cells = tuple(zip(builder.spec.columns, numbers, strict=True))
            frame_count = _find_frame_count(row, builder.key.frames)
            chart_rows.append(ChartRow(row.label, section, row, cells, table_row.notes, frame_count))
    return [replace(chart_row, label=_build_unique_label(chart_row, chart_rows)) for chart_row in chart_rows]


def _find_frame_count(row: Row, frame_count_by_sampling: Mapping[str, int]) -> int | None:
    """Return the number of frames of a row as the paper prints it, or that of its sampling."""
    if row.frames and row.frames.isdecimal():
        return int(row.frames)
    return frame_count_by_sampling.get(row.sampling or "")


def _build_unique_label(chart_row: ChartRow, chart_rows: Sequence[ChartRow]) -> str:
    """Return a row's label; if other rows share it, append the first property that distinguishes them, or a number."""
    namesakes = [candidate for candidate in chart_rows if candidate.label == chart_row.label]
    if len(namesakes) == 1:
        return chart_row.label
    index = [candidate is chart_row for candidate in namesakes].index(True)
    for properties in zip(*map(_list_distinguishing_properties, namesakes), strict=True):
        if len(set(properties)) == len(namesakes):
            return f"{chart_row.label} ({properties[index]})" if properties[index] else chart_row.label
    return f"{chart_row.label} ({1 + index})"


def _list_distinguishing_properties(chart_row: ChartRow) -> tuple[str, ...]:
    """Return the properties that can distinguish rows: frames, section, columns, and protocol with sampling."""
    row, count = chart_row.row, chart_row.frame_count
    frames = (row.frames or "").replace("fps", " fps") if count is None else f"{count} frame{'s' * (count != 1)}"
    names = list(dict.fromkeys(column.span or column.title for column, _ in chart_row.cells))
    columns = ", ".join(summarize_list(names, 3, "{} more"))
    return frames, chart_row.section.title or "", columns, ", ".join(filter(None, [row.protocol, row.sampling]))


def collect_numbers(panels: Sequence[Panel]) -> list[TableNumber]:
    """Return the numbers of all series of these panels."""
    return [number for panel in panels for numbers in panel.series.values() for number in numbers.values()]


def build_span_panels(chart_rows: Sequence[ChartRow]) -> list[Panel]:
    """Return a panel for each spanning header, with a series for each row that has numbers in any panel."""
    panels = []
    rows_with_numbers = [chart_row for chart_row in chart_rows if chart_row.has_numbers]
    models = {chart_row.label: chart_row.row.model for chart_row in rows_with_numbers if chart_row.row.model}
    frame_counts = {chart_row.label: chart_row.frame_count for chart_row in rows_with_numbers}
    for span in dict.fromkeys(column.span or "" for chart_row in chart_rows for column, _ in chart_row.cells):
        ticks = dict.fromkeys(title for chart_row in chart_rows for title, _ in _list_span_cells(chart_row, span))
        series = {
            chart_row.label: {
                title: number for title, number in _list_span_cells(chart_row, span) if number.value is not None
            }
            for chart_row in rows_with_numbers
        }
        panels.append(Panel(span, tuple(ticks), series, models, frame_counts))
    return panels


def _list_span_cells(chart_row: ChartRow, span: str) -> list[tuple[str, TableNumber]]:
    """Return the titles and numbers of a row's columns below a spanning header."""
    return [(column.title, number) for column, number in chart_row.cells if (column.span or "") == span]


def swap_single_tick(panel: Panel) -> Panel:
    """Return a panel of the numbers at the only tick, whose ticks are the series and whose title names the tick."""
    (tick,) = panel.ticks
    title = f"{panel.title}: {tick}" if panel.title else tick
    numbers = {label: series[tick] for label, series in panel.series.items() if tick in series}
    return replace(panel, title=title, ticks=tuple(panel.series), series={title: numbers})


def has_span_panels(chart_rows: Sequence[ChartRow]) -> bool:
    """Return whether the columns below spanning headers differ, so that each header has a panel of its own."""
    columns = [column for chart_row in chart_rows for column, _ in chart_row.cells]
    return any(column.span for column in columns) and len({column.title for column in columns}) > 1


def build_point_panel(chart_rows: Sequence[ChartRow], along: str) -> Panel:
    """Return one panel with columns as ticks and rows as series, or vice versa if `along` is `rows`.

    Rows and columns without numbers are left out.
    """
    numbers_by_row: dict[str, dict[str, TableNumber]] = {}
    models: dict[str, str] = {}
    frame_counts: dict[str, int | None] = {}
    for chart_row in chart_rows:
        # Rows of several parts that have the same label but no column in common are joined to one row.
        label = chart_row.row.label if _has_disjoint_columns(chart_row, chart_rows) else chart_row.label
        named_cells = _list_named_cells(chart_row, chart_rows)
        row_numbers = {name: number for name, _, number in named_cells if number.value is not None}
        numbers_by_row.setdefault(label, {}).update(row_numbers)
        models |= {name: column.model for name, column, _ in named_cells if column.model}
        if chart_row.row.model:
            models[label] = chart_row.row.model
            frame_counts[label] = chart_row.frame_count
    columns = dict.fromkeys(name for chart_row in chart_rows for name, _, _ in _list_named_cells(chart_row, chart_rows))
    rows = [label for label, row_numbers in numbers_by_row.items() if row_numbers]
    columns_with_numbers = [
        name for name in columns if any(name in row_numbers for row_numbers in numbers_by_row.values())
    ]
    if along == "rows":
        series = {
            name: {row: numbers_by_row[row][name] for row in rows if name in numbers_by_row[row]}
            for name in columns_with_numbers
        }
        return Panel("", tuple(rows), series, models, frame_counts)
    return Panel("", tuple(columns_with_numbers), {row: numbers_by_row[row] for row in rows}, models, frame_counts)


def list_rows_without_numbers(chart_rows: Sequence[ChartRow]) -> list[str]:
    """Return the labels of rows without numbers, unless another row with the same label in its table has some."""
    labels_with_numbers = {chart_row.row.label for chart_row in chart_rows if chart_row.has_numbers}
    return list(
        dict.fromkeys(chart_row.label for chart_row in chart_rows if chart_row.row.label not in labels_with_numbers)
    )


def find_columns_without_numbers(chart_rows: Sequence[ChartRow]) -> dict[str, bool]:
    """Map each column without numbers to whether the text extracted from the paper lost one of its numbers."""
    cells_by_name = group_by_key(
        (cell for chart_row in chart_rows for cell in _list_named_cells(chart_row, chart_rows)), itemgetter(0)
    )
    empty_columns = {
        name: cells for name, cells in cells_by_name.items() if all(number.value is None for _, _, number in cells)
    }
    return {name: any(number.state == "lost" for _, _, number in cells) for name, cells in empty_columns.items()}


def _has_disjoint_columns(chart_row: ChartRow, chart_rows: Sequence[ChartRow]) -> bool:
    """Return whether the rows with this row's label have no column in common."""
    columns = [
        {(column.span, column.title) for column, _ in namesake.cells}
        for namesake in chart_rows
        if namesake.row.label == chart_row.row.label
    ]
    return all(not first & second for index, first in enumerate(columns) for second in columns[index + 1 :])


def _list_named_cells(chart_row: ChartRow, chart_rows: Sequence[ChartRow]) -> list[tuple[str, Column, TableNumber]]:
    """Return the name, column and number of each cell; the name is the span if all columns have the same title."""
    titles = {column.title for row in chart_rows for column, _ in row.cells}
    return [
        (column.span if column.span and len(titles) == 1 else column_name(column), column, number)
        for column, number in chart_row.cells
    ]


def build_frame_lines(chart_rows: Sequence[ChartRow]) -> Iterator[tuple[str, list[LineSeries]]]:
    """Yield each column's title with its lines.

    The rows of a section with a title form one line, and so do rows of other sections with the same label. A row of
    chance, or one whose number of frames is unknown, is a horizontal line of its own.
    """
    for index, (column, _) in enumerate(chart_rows[0].cells):
        line_by_name: dict[str, LineSeries] = {}
        for chart_row in chart_rows:
            row, name, number = chart_row.row, chart_row.line_name, chart_row.cells[index][1]
            if row.chance or chart_row.frame_count is None:
                name = name if name == row.label else f"{name}, {row.label}"
                line_by_name[name] = LineSeries(name, row.model, level=number, is_chance=row.chance)
            else:
                line_by_name.setdefault(name, LineSeries(name, row.model)).numbers[chart_row.frame_count] = number
        yield column.title, [line for line in line_by_name.values() if line.list_available_numbers()]


def list_lines_without_numbers(chart_rows: Sequence[ChartRow]) -> list[str]:
    """Return the names of lines whose rows all have no number."""
    names_with_numbers = {chart_row.line_name for chart_row in chart_rows if chart_row.has_numbers}
    names = dict.fromkeys(chart_row.line_name for chart_row in chart_rows)
    return [name for name in names if name not in names_with_numbers]
