"""Annotations that people keep in csv files of their own: columns that are stated, rows that are checked."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

from reprise.core.errors import UserError, suggestion
from reprise.core.plain import cut, number_in, visible
from reprise.core.tabular import csv_lines

VIDEO = re.compile(r"\w[\w.-]{0,119}")
NAME = re.compile(r"[\w-][\w.-]{0,119}")  # of a source video: an id of YouTube may begin with '-'
ENDING = re.compile(r"\.(?:mp4|mkv|webm|avi|mov)$", re.IGNORECASE)
LONGEST_SHOWN = 60


def has_control(text: str) -> bool:
    """Whether a text holds characters that nobody sees, such as NUL, or halves of some, which no file can hold."""
    return any(category(one) in ("Cc", "Cs") for one in text)


def shown(text: str) -> str:
    """The beginning of a text, as an error shows it."""
    return visible(cut(text, LONGEST_SHOWN))


def number(text: str | None) -> float | None:
    return number_in(text or "")


class Row(NamedTuple):
    where: str
    cells: dict[str, str]

    def span(self, start: str, end: str) -> tuple[float, float]:
        """Two times of a video in seconds, the first before the second."""
        times = []
        for column in (start, end):
            value = number(self.cells[column])
            if value is None or value < 0:
                raise self.wrong(column, "seconds from the start of the video, such as 4 or 12.5")
            times.append(value)
        if not times[0] < times[1]:
            raise self.wrong(end, f"a time after column '{start}' ({times[0]:g})")
        return times[0], times[1]

    def video(self, column: str) -> str:
        """The name of a video, without the ending of its file."""
        name = ENDING.sub("", self.cells[column])
        if not VIDEO.fullmatch(name):
            allowed = "the name of a file: at most 120 letters (Unicode NFC), digits, '.', '_' and '-', no folder"
            raise self.wrong(column, allowed)
        return name

    def wrong(self, column: str, allowed: str) -> UserError:
        found = shown(self.cells[column])
        return UserError(
            f"{self.where}: column '{column}': found '{found}', allowed is {allowed}. Correct the row, then run the "
            "same command again."
        )


def read_sheet(path: Path, needed: Sequence[str], optional: Sequence[str]) -> Iterator[Row]:
    """The rows of a csv file with these columns and no others; a row without any text is none."""
    rows = (cells for _, cells in csv_lines(path))
    header = [name.strip() for name in next(rows, [])]
    allowed = (*needed, *optional)
    listed = f"Needed: {', '.join(needed)}. Allowed besides: {', '.join(optional) or 'nothing'}."
    for name in (*needed, *header):
        if name not in header:
            raise UserError(f"{path}: column '{name}' is missing. Found: {', '.join(header) or 'nothing'}. {listed}")
        if name not in allowed:
            raise UserError(f"{path}: unknown column '{name}'.{suggestion(name, allowed)} {listed}")
    place = 0
    for place, cells in enumerate(rows, start=1):
        row = Row(f"{path}: row {place}", {n: " ".join(one.split()) for n, one in zip(header, cells, strict=True)})
        for column, text in row.cells.items():
            if has_control(text):
                raise row.wrong(column, "text without control characters")
        if any(row.cells.values()):
            yield row
    if not place:
        raise UserError(f"{path}: no rows below its columns. Write some, then run the same command again.")
