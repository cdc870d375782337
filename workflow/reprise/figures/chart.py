"""The content of a figure before it is drawn: numbers by their position, in series and panels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from reprise.benchmarks.rows import grouped
from reprise.config.tables import Column, Row, Section
from reprise.tables.build import Builder, column_name
from reprise.tables.render.table import Cell, Number


@dataclass(frozen=True)
class Panel:
    """Series side by side: the numbers of rows, or of columns, at `ticks`, which are in order."""

    title: str
    ticks: tuple[str, ...]
    series: dict[str, dict[str, Number]]

    def known_ticks(self) -> list[str]:
        return [tick for tick in self.ticks if any(tick in numbers for numbers in self.series.values())]


@dataclass(frozen=True)
class Line:
    """Numbers by number of frames; `level` is a number without frames, drawn as a horizontal line."""

    label: str
    numbers: dict[int, Number] = field(default_factory=dict)
    level: Number | None = None
    is_chance: bool = False

    def known(self) -> list[Number]:
        numbers = [*self.numbers.values(), *([self.level] if self.level else [])]
        return [number for number in numbers if number.value is not None]


@dataclass(frozen=True)
class Entry:
    """A row of a part, with the column and number of each of its cells."""

    label: str
    section: Section
    row: Row
    cells: tuple[tuple[Column, Number], ...]
    notes: tuple[str, ...]

    @property
    def is_known(self) -> bool:
        return any(number.value is not None for _, number in self.cells)

    @property
    def line(self) -> str:
        """Return the name of its line over numbers of frames: its section's title, or its label."""
        return self.section.title or self.row.label


def entries_of(builders: Sequence[Builder]) -> list[Entry]:
    """Return the rows of all parts; labels that several rows share get a distinction."""
    entries = []
    for builder in builders:
        rows = [(section, row) for section in builder.spec.sections for row in section.resolved()]
        for (section, row), table_row in zip(rows, builder.table().rows(), strict=True):
            numbers = [
                cell.numbers[0] if isinstance(cell, Cell) and cell.numbers else Number(None) for cell in table_row.cells
            ]
            cells = tuple(zip(builder.spec.columns, numbers, strict=True))
            entries.append(Entry(row.label, section, row, cells, table_row.notes))
    return [replace(entry, label=_label(entry, entries)) for entry in entries]


def _label(entry: Entry, entries: Sequence[Entry]) -> str:
    """Return the label, with the first property that differs between all rows of this label, else with its number."""
    namesakes = [candidate for candidate in entries if candidate.label == entry.label]
    if len(namesakes) == 1:
        return entry.label
    index = [candidate is entry for candidate in namesakes].index(True)
    for properties in zip(*map(_properties, namesakes), strict=True):
        if len(set(properties)) == len(namesakes):
            return f"{entry.label} ({properties[index]})" if properties[index] else entry.label
    return f"{entry.label} ({1 + index})"


def _properties(entry: Entry) -> tuple[str, str, str]:
    """Return the properties that can distinguish a row: frames, section, and protocol with sampling."""
    frames = entry.row.frames or ""
    frames = f"{frames} frame{'s' * (frames != '1')}" if frames.isdecimal() else frames
    return frames, entry.section.title or "", ", ".join(filter(None, [entry.row.protocol, entry.row.sampling]))


def panels_by_span(entries: Sequence[Entry]) -> list[Panel]:
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
            Panel(span, tuple(ticks), {entry.label: series[entry.label] for entry in entries if entry.is_known})
        )
    return panels


def side_by_side(entries: Sequence[Entry], along: str) -> Panel:
    """Return one panel with rows as series and columns as ticks, or vice versa; leave out what has no number."""
    numbers: dict[str, dict[str, Number]] = {}
    for entry in entries:
        # Parts with the same rows contribute columns to one row; only rows with a common column need distinct labels.
        label = entry.row.label if _is_shared(entry, entries) else entry.label
        row_numbers = {name: number for name, number in _named_numbers(entry, entries) if number.value is not None}
        numbers.setdefault(label, {}).update(row_numbers)
    columns = dict.fromkeys(name for entry in entries for name, _ in _named_numbers(entry, entries))
    rows = [label for label, row_numbers in numbers.items() if row_numbers]
    shown_columns = [name for name in columns if any(name in row_numbers for row_numbers in numbers.values())]
    if along == "rows":
        series = {name: {row: numbers[row][name] for row in rows if name in numbers[row]} for name in shown_columns}
        return Panel("", tuple(rows), series)
    return Panel("", tuple(shown_columns), {row: numbers[row] for row in rows})


def rows_without_numbers(entries: Sequence[Entry]) -> list[str]:
    labels = {entry.row.label for entry in entries if entry.is_known}
    return list(dict.fromkeys(entry.label for entry in entries if entry.row.label not in labels))


def columns_without_numbers(entries: Sequence[Entry]) -> dict[str, bool]:
    """Return the columns without numbers, each with whether the paper's numbers of it are lost."""
    cells_by_name = grouped((cell for entry in entries for cell in _named_numbers(entry, entries)), itemgetter(0))
    empty = {name: cells for name, cells in cells_by_name.items() if all(number.value is None for _, number in cells)}
    return {name: any(number.state == "lost" for _, number in cells) for name, cells in empty.items()}


def _is_shared(entry: Entry, entries: Sequence[Entry]) -> bool:
    """Return whether the rows of this label have no column in common."""
    columns = [
        {(column.span, column.title) for column, _ in namesake.cells}
        for namesake in entries
        if namesake.row.label == entry.row.label
    ]
    return all(not first & second for index, first in enumerate(columns) for second in columns[index + 1 :])


def _named_numbers(entry: Entry, entries: Sequence[Entry]) -> Iterator[tuple[str, Number]]:
    """Yield the numbers of a row by column name: the span alone if all columns have the same title."""
    titles = {column.title for row in entries for column, _ in row.cells}
    for column, number in entry.cells:
        yield column.span if column.span and len(titles) == 1 else column_name(column), number


def by_frames(entries: Sequence[Entry], frames: dict[str, int]) -> Iterator[tuple[str, list[Line]]]:
    """Yield each column with the lines of its numbers, one for each section with a title, or for each label."""
    for index, (column, _) in enumerate(entries[0].cells):
        lines: dict[str, Line] = {}
        for entry in entries:
            row, name, number = entry.row, entry.line, entry.cells[index][1]
            frame_count = int(row.frames) if row.frames and row.frames.isdecimal() else frames.get(row.sampling or "")
            if row.chance or frame_count is None:
                name = name if name == row.label else f"{name}, {row.label}"
                lines[name] = Line(name, level=number, is_chance=row.chance)
            else:
                lines.setdefault(name, Line(name)).numbers[frame_count] = number
        yield column.title, [line for line in lines.values() if line.known()]


def lines_without_numbers(entries: Sequence[Entry]) -> list[str]:
    lines = {entry.line for entry in entries if entry.is_known}
    return [name for name in dict.fromkeys(entry.line for entry in entries) if name not in lines]
