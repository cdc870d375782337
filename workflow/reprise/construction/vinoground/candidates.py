"""The pool that videos are found in: VATEX's captions, by the columns that the suite names."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.settings import Columns, VinogroundSettings
from reprise.construction.sheets import NAME, Videos, has_control
from reprise.construction.sheets import Row as SheetRow
from reprise.construction.steps import Candidates
from reprise.core.errors import UserError
from reprise.core.tabular import read_own_rows
from reprise.core.times import seconds

POOL_FILTERS = ("no_span", "same_name", "empty_caption", "too_long", "duplicate")
LONGEST_CAPTION = 1000
"""characters"""


def candidates(files: Mapping[str, Path], settings: VinogroundSettings) -> Candidates:
    """Every caption of every video, each dropped one with its reason."""
    rows = [row for path in files.values() for row in _captions(path, settings)]
    if not rows:
        raise UserError(f"annotations of VATEX: no captions in {', '.join(sorted(files))}. Correct `columns:`.")
    seen: set[tuple[str, str]] = set()
    places: dict[str, tuple[object, ...]] = {}

    def same_name(row: Mapping[str, Any]) -> str:
        place = (row["source"], row["start_s"], row["end_s"])
        return "" if places.setdefault(row["video"], place) == place else f"'{row['video']}' is another video before"

    def duplicate(row: Mapping[str, Any]) -> str:
        name = (row["video"], row["caption"].lower())
        is_known = name in seen
        seen.add(name)
        return "the same caption of the same video" if is_known else ""

    found = {
        "no_span": lambda row: "" if row["source"] else f"'{row['video']}' names no source and no span, by `span:`",
        "same_name": same_name,
        "empty_caption": lambda row: "" if row["caption"] else "the caption is empty",
        "too_long": lambda row: "" if len(row["caption"]) <= LONGEST_CAPTION else f"{len(row['caption'])} characters",
        "duplicate": duplicate,
    }
    return Candidates(sifted(rows, [Filter(name, found[name]) for name in POOL_FILTERS]), [], [])


def _captions(path: Path, settings: VinogroundSettings) -> Iterator[Row]:
    table = read_own_rows(path)
    columns, span, videos = settings.columns, settings.span, Videos()
    for name in (columns.video, columns.captions):
        if name not in table.columns:
            raise UserError(
                f"{path}: column '{name}' is missing. Found: {', '.join(table.columns)}. Correct `columns:` of "
                "`construction:` in the suite."
            )
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        video, captions = row[columns.video], row[columns.captions]
        listed = _texts(captions, f"{path}: row {number}: column '{columns.captions}'")
        place = _in_file(f"{path}: row {number}", row, columns, videos) if span is None else _by_id(str(video), span)
        for caption in listed[: settings.captions_per_video]:
            yield {**place, "caption": caption}


def _texts(value: Any, where: str) -> list[str]:
    """The captions of a cell: one text, or a list of texts."""
    listed = value if isinstance(value, list) else [value]
    texts = [one or "" for one in listed if one is None or isinstance(one, str)]
    if len(texts) < len(listed) or any(has_control(" ".join(text.split())) for text in texts):
        raise UserError(
            f"{where}: expected a text, or a list of texts, without control characters. Correct the row or `columns:`."
        )
    return [" ".join(text.split()) for text in texts]


def _by_id(video: str, span: str) -> Row:
    """The source and the span that an id names; no source where it names none."""
    match = re.fullmatch(span, video)
    times = [_seconds(match[name]) for name in ("start", "end")] if match else []
    if match is None or not NAME.fullmatch(match["video"] or "") or not 0 <= times[0] < times[1] < math.inf:
        return {"video": video, "source": "", "start_s": None, "end_s": None}
    return {"video": video, "source": match["video"], "start_s": times[0], "end_s": times[1]}


def _seconds(text: str | None) -> float:
    """A number of an id; NaN, which is in no span, where it is none."""
    try:
        return float(text or "")
    except ValueError:
        return math.nan


def _in_file(where: str, row: Mapping[str, Any], columns: Columns, videos: Videos) -> Row:
    """A file of one's own, whole or a span of it."""
    sheet = SheetRow(where, {name: "" if cell is None else str(cell).strip() for name, cell in row.items()})
    name = videos.name(sheet, columns.video)
    if not any(sheet.cells.get(column) for column in (columns.start, columns.end)):
        return {"video": name, "source": name, "start_s": None, "end_s": None}
    start, end = sheet.span(columns.start, columns.end)
    return {"video": f"{name}_{seconds(start)}_{seconds(end)}", "source": name, "start_s": start, "end_s": end}
