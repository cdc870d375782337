"""Annotations in annotators' own csv files, with checks of their columns and rows."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

from reprise.core.errors import UserError, suggestion
from reprise.core.plain import cut, number_in, visible
from reprise.core.tabular import csv_lines

VIDEO = re.compile(r"\w[\w.-]{0,119}")
NAME = re.compile(r"[\w-][\w.-]{0,119}")  # a source video's name; a YouTube id may begin with '-'
ENDING = re.compile(r"\.(?:mp4|mkv|webm|avi|mov)$", re.IGNORECASE)
LONGEST_SHOWN = 60


def has_control(text: str) -> bool:
    """Return whether a text has control characters, such as NUL, or lone surrogates, which cannot be encoded."""
    return any(category(character) in ("Cc", "Cs") for character in text)


def shown(text: str) -> str:
    """Return the beginning of a text as error messages print it."""
    return visible(cut(text, LONGEST_SHOWN))


def number(text: str | None) -> float | None:
    return number_in(text or "")


class Row(NamedTuple):
    where: str
    cells: dict[str, str]

    def span(self, start: str, end: str) -> tuple[float, float]:
        """Return two times of a video in seconds and check that the first is before the second."""
        times = []
        for column in (start, end):
            time = number(self.cells[column])
            if time is None or time < 0:
                raise self.wrong(column, "seconds from the start of the video, such as 4 or 12.5")
            times.append(time)
        if not times[0] < times[1]:
            raise self.wrong(end, f"a time after column '{start}' ({times[0]:g})")
        return times[0], times[1]

    def video(self, column: str) -> str:
        """Return the name of a video without its file extension."""
        name = ENDING.sub("", self.cells[column])
        if not VIDEO.fullmatch(name):
            allowed = "the name of a file: at most 120 letters (Unicode NFC), digits, '.', '_' and '-', no folder"
            raise self.wrong(column, allowed)
        return name

    def wrong(self, column: str, allowed: str) -> UserError:
        content = shown(self.cells[column])
        return UserError(
            f"{self.where}: column '{column}': found '{content}', allowed is {allowed}. Correct the row, then run the "
            "same command again."
        )


def read_sheet(path: Path, needed: Sequence[str], optional: Sequence[str]) -> Iterator[Row]:
    """Yield the non-empty rows of a csv file and check that it has these columns and no others."""
    rows = (cells for _, cells in csv_lines(path))
    header = [name.strip() for name in next(rows, [])]
    allowed = (*needed, *optional)
    listed = f"Needed: {', '.join(needed)}. Allowed besides: {', '.join(optional) or 'nothing'}."
    for name in (*needed, *header):
        if name not in header:
            raise UserError(f"{path}: column '{name}' is missing. Found: {', '.join(header) or 'nothing'}. {listed}")
        if name not in allowed:
            raise UserError(f"{path}: unknown column '{name}'.{suggestion(name, allowed)} {listed}")
    row_number = 0
    for row_number, cells in enumerate(rows, start=1):
        row = Row(
            f"{path}: row {row_number}",
            {name: " ".join(cell.split()) for name, cell in zip(header, cells, strict=True)},
        )
        for column, text in row.cells.items():
            if has_control(text):
                raise row.wrong(column, "text without control characters")
        if any(row.cells.values()):
            yield row
    if not row_number:
        raise UserError(f"{path}: no rows below its columns. Write some, then run the same command again.")
