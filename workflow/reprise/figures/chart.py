"""What a figure shows, before it is drawn: numbers by what they stand at, in series and panels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from reprise.benchmarks.rows import grouped
from reprise.config.tables import Column, Row, Section
from reprise.tables.build import Builder, column_name
from reprise.tables.render.table import Cell, Number


@dataclass(frozen=True)
class Panel:
    """Series beside each other: the numbers that a row, or a column, has at `ticks`, which are in order."""

    title: str
    ticks: tuple[str, ...]
    series: dict[str, dict[str, Number]]

    def known_ticks(self) -> list[str]:
        return [tick for tick in self.ticks if any(tick in numbers for numbers in self.series.values())]


@dataclass(frozen=True)
class Line:
    """Numbers by numbers of frames; `level` is one that has no number of frames, shown all along."""

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
        """The line over numbers of frames that it belongs to: a section's, or that of its label."""
        return self.section.title or self.row.label


def entries_of(builders: Sequence[Builder]) -> list[Entry]:
    """The rows of all parts; a label that several rows have is told apart."""
    found = []
    for builder in builders:
        rows = [(section, row) for section in builder.spec.sections for row in section.resolved()]
        for (section, row), shown in zip(rows, builder.table().rows(), strict=True):
            numbers = [one.numbers[0] if isinstance(one, Cell) and one.numbers else Number(None) for one in shown.cells]
            cells = tuple(zip(builder.spec.columns, numbers, strict=True))
            found.append(Entry(row.label, section, row, cells, shown.notes))
    return [replace(entry, label=_label(entry, found)) for entry in found]


def _label(entry: Entry, entries: Sequence[Entry]) -> str:
    """The label, with the first thing in it by which all rows of this label differ, else with its place."""
    alike = [one for one in entries if one.label == entry.label]
    if len(alike) == 1:
        return entry.label
    place = [one is entry for one in alike].index(True)
    for words in zip(*map(_own_words, alike), strict=True):
        if len(set(words)) == len(alike):
            return f"{entry.label} ({words[place]})" if words[place] else entry.label
    return f"{entry.label} ({1 + place})"


def _own_words(entry: Entry) -> tuple[str, str, str]:
    """What can tell a row apart: its frames, its section, how it is asked and shown."""
    frames = entry.row.frames or ""
    frames = f"{frames} frame{'s' * (frames != '1')}" if frames.isdecimal() else frames
    return frames, entry.section.title or "", ", ".join(filter(None, [entry.row.protocol, entry.row.sampling]))


def panels_by_span(entries: Sequence[Entry]) -> list[Panel]:
    """A series for each row; a panel for each spanning header."""
    panels = []
    for span in dict.fromkeys(column.span or "" for entry in entries for column, _ in entry.cells):
        cells = {one.label: [(c.title, n) for c, n in one.cells if (c.span or "") == span] for one in entries}
        ticks = dict.fromkeys(title for mine in cells.values() for title, _ in mine)
        series = {one.label: {title: n for title, n in cells[one.label] if n.value is not None} for one in entries}
        panels.append(Panel(span, tuple(ticks), {one.label: series[one.label] for one in entries if one.is_known}))
    return panels


def side_by_side(entries: Sequence[Entry], along: str) -> Panel:
    """One panel: rows as series at columns, or the other way round; what has no number is left out."""
    numbers: dict[str, dict[str, Number]] = {}
    for entry in entries:
        # Parts with the same rows give one row its columns: told apart are rows that have a column in common.
        label = entry.row.label if _is_shared(entry, entries) else entry.label
        known = {name: number for name, number in _named(entry, entries) if number.value is not None}
        numbers.setdefault(label, {}).update(known)
    columns = dict.fromkeys(name for entry in entries for name, _ in _named(entry, entries))
    rows = [label for label, known in numbers.items() if known]
    columns_shown = [name for name in columns if any(name in known for known in numbers.values())]
    if along == "rows":
        series = {name: {row: numbers[row][name] for row in rows if name in numbers[row]} for name in columns_shown}
        return Panel("", tuple(rows), series)
    return Panel("", tuple(columns_shown), {row: numbers[row] for row in rows})


def rows_without_numbers(entries: Sequence[Entry]) -> list[str]:
    known = {entry.row.label for entry in entries if entry.is_known}
    return list(dict.fromkeys(entry.label for entry in entries if entry.row.label not in known))


def columns_without_numbers(entries: Sequence[Entry]) -> dict[str, bool]:
    """The columns that have no number -> whether the paper's are lost."""
    found = grouped((cell for entry in entries for cell in _named(entry, entries)), itemgetter(0))
    empty = {name: cells for name, cells in found.items() if all(number.value is None for _, number in cells)}
    return {name: any(number.state == "lost" for _, number in cells) for name, cells in empty.items()}


def _is_shared(entry: Entry, entries: Sequence[Entry]) -> bool:
    """Whether rows of this label differ in their columns only."""
    columns = [{(c.span, c.title) for c, _ in one.cells} for one in entries if one.row.label == entry.row.label]
    return all(not one & other for place, one in enumerate(columns) for other in columns[place + 1 :])


def _named(entry: Entry, entries: Sequence[Entry]) -> Iterator[tuple[str, Number]]:
    """The numbers of a row by the names of their columns: by their span alone where all have one title."""
    titles = {column.title for one in entries for column, _ in one.cells}
    for column, number in entry.cells:
        yield column.span if column.span and len(titles) == 1 else column_name(column), number


def by_frames(entries: Sequence[Entry], frames: dict[str, int]) -> Iterator[tuple[str, list[Line]]]:
    """Column -> the lines of its numbers, one for each section with a title, or for each label."""
    for place, (column, _) in enumerate(entries[0].cells):
        lines: dict[str, Line] = {}
        for entry in entries:
            row, name, number = entry.row, entry.line, entry.cells[place][1]
            shown = int(row.frames) if row.frames and row.frames.isdecimal() else frames.get(row.sampling or "")
            if row.chance or shown is None:
                name = name if name == row.label else f"{name}, {row.label}"
                lines[name] = Line(name, level=number, is_chance=row.chance)
            else:
                lines.setdefault(name, Line(name)).numbers[shown] = number
        yield column.title, [line for line in lines.values() if line.known()]


def lines_without_numbers(entries: Sequence[Entry]) -> list[str]:
    known = {entry.line for entry in entries if entry.is_known}
    return [name for name in dict.fromkeys(entry.line for entry in entries) if name not in known]
