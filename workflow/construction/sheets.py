"""Annotations in annotators' own csv files, with checks of their columns and rows."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

from reprise.core.errors import UserError, suggest_name
from reprise.core.plain import escape_invisible, parse_number, truncate
from reprise.core.tabular import read_csv_lines

CLIP_NAME = re.compile(r"\w[\w.-]{0,119}")
SOURCE_NAME = re.compile(r"[\w-][\w.-]{0,119}")  # a source video's name; a YouTube id may begin with '-'
VIDEO_EXTENSION = re.compile(r"\.(?:mp4|mkv|webm|avi|mov)$", re.IGNORECASE)
MAX_EXCERPT_CHARS = 60  # the longest part of a cell that an error message prints


def has_control_characters(text: str) -> bool:
    """Return whether a text has control characters, such as NUL, or lone surrogates, which cannot be encoded."""
    return any(category(character) in ("Cc", "Cs") for character in text)


def excerpt(text: str) -> str:
    """Return the beginning of a text as error messages print it."""
    return escape_invisible(truncate(text, MAX_EXCERPT_CHARS))


def parse_number_cell(text: str | None) -> float | None:
    """Return the number in a cell, or None if the cell has none."""
    return parse_number(text or "")


class SheetRow(NamedTuple):
    """A row of an annotators' file; its methods parse cells or raise an error that names the row."""

    location: str  # file and row, for error messages
    cells: dict[str, str]  # column -> text

    def span(self, start: str, end: str) -> tuple[float, float]:
        """Return two times of a video in seconds and check that the first is before the second."""
        times = []
        for column in (start, end):
            time = parse_number_cell(self.cells[column])
            if time is None or time < 0:
                raise self.cell_error(column, "seconds from the start of the video, such as 4 or 12.5")
            times.append(time)
        if not times[0] < times[1]:
            raise self.cell_error(end, f"a time after column '{start}' ({times[0]:g})")
        return times[0], times[1]

    def video(self, column: str) -> str:
        """Return the name of a video without its file extension."""
        name = VIDEO_EXTENSION.sub("", self.cells[column])
        if not CLIP_NAME.fullmatch(name):
            allowed = "a file name: at most 120 letters (Unicode NFC), digits, '.', '_' and '-', without a folder"
            raise self.cell_error(column, allowed)
        return name

    def cell_error(self, column: str, allowed: str) -> UserError:
        """Return an error that prints the cell and what is allowed in its column."""
        found = excerpt(self.cells[column])
        return UserError(
            f"{self.location}: column '{column}': found '{found}'; allowed: {allowed}. "
            "Correct the row, then run the same command again."
        )


def read_sheet(path: Path, needed: Sequence[str], optional: Sequence[str]) -> Iterator[SheetRow]:
    """Yield the non-empty rows of a csv file and check that it has these columns and no others."""
    rows = (cells for _, cells in read_csv_lines(path))
    header = [name.strip() for name in next(rows, [])]
    allowed = (*needed, *optional)
    column_list = f"Needed: {', '.join(needed)}. Optional: {', '.join(optional) or 'none'}."
    for name in needed:
        if name not in header:
            raise UserError(
                f"{path}: column '{name}' is missing. Found: {', '.join(header) or 'nothing'}. {column_list}"
            )
    for name in header:
        if name not in allowed:
            raise UserError(f"{path}: unknown column '{name}'.{suggest_name(name, allowed)} {column_list}")
    row_number = 0
    for row_number, cells in enumerate(rows, start=1):
        row = SheetRow(
            f"{path}: row {row_number}",
            {name: " ".join(cell.split()) for name, cell in zip(header, cells, strict=True)},
        )
        for column, text in row.cells.items():
            if has_control_characters(text):
                raise row.cell_error(column, "text without control characters")
        if any(row.cells.values()):
            yield row
    if not row_number:
        raise UserError(f"{path}: has columns but no rows. Add rows, then run the same command again.")
