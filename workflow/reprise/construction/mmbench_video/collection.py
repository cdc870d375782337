"""The collection of videos by category: a row a video, with the span of the clip that people cut of it."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.settings import MmbenchVideoSettings
from reprise.construction.sheets import NAME
from reprise.core.errors import suggestion
from reprise.core.plain import of_cell
from reprise.core.tabular import read_rows, require_columns, text_of

COLLECTION = "collection.csv"
COLUMNS = ("video", "source", "video_type", "duration_s", "start_s", "end_s")
NUMBERS = ("duration_s", "start_s", "end_s")
POOL_FILTERS = ("bad_name", "duplicate", "unknown_category", "no_number", "too_short", "bad_span", "too_long")


def videos(path: Path, settings: MmbenchVideoSettings) -> list[Row]:
    """Every video of the collection, each dropped one with its reason."""
    found: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
        "bad_name": lambda row: "" if NAME.fullmatch(row["video"]) else f"'{row['video']}' cannot be a file's name",
        "duplicate": Seen("video"),
        "unknown_category": lambda row: _unknown_category(row["video_type"], settings.categories),
        "no_number": lambda row: next((f"{name} is no number" for name in NUMBERS if row[name] is None), ""),
        "too_short": lambda row: _of(row["duration_s"]) if row["duration_s"] < settings.shortest_s else "",
        "bad_span": lambda row: bad_span(row["start_s"], row["end_s"], row["duration_s"]),
        "too_long": lambda row: _of(length(row)) if length(row) > settings.longest_s else "",
    }
    rows = [row | {name: number(row[name]) for name in NUMBERS} for row in rows_of(path, COLUMNS)]
    return sifted(rows, [Filter(name, found[name]) for name in POOL_FILTERS])


def rows_of(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a file that people filled in, with single blanks."""
    rows = require_columns(read_rows(path), columns, path).iter_rows(named=True)
    for place, row in enumerate(rows, start=1):
        yield {name: of_cell(text_of(row[name], f"{path}: row {place}: {name}")) for name in row}


def number(text: str) -> float | None:
    """A number of seconds; None where the text is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def length(video: Mapping[str, Any]) -> float:
    """Seconds of a clip."""
    return float(video["end_s"] - video["start_s"])


def bad_span(start_s: float, end_s: float, longest_s: float) -> str:
    """What is wrong with a span of something that lasts so long."""
    return "" if 0 <= start_s < end_s <= longest_s else f"{start_s:g} to {end_s:g} of {longest_s:g} s"


def unknown_name(what: str, found: str, known: Collection[str]) -> str:
    """That a name is not among those that there are."""
    return "" if found in known else f"no {what} '{found}'.{suggestion(found, known)}"


class Seen:
    """Tells a row whose values in some columns a row before it had."""

    def __init__(self, *columns: str) -> None:
        self._columns = columns
        self._seen: set[tuple[str, ...]] = set()

    def __call__(self, row: Mapping[str, Any]) -> str:
        values = tuple(row[column].lower() for column in self._columns)
        is_known = values in self._seen
        self._seen.add(values)
        return f"the same {' and '.join(self._columns)} as in a row before" if is_known else ""


def _unknown_category(found: str, allowed: Sequence[str] | None) -> str:
    if not found:
        return "it has no category"
    return "" if allowed is None else unknown_name("category", found, allowed)


def _of(seconds: float) -> str:
    return f"{seconds:g} s"
