"""The pool that videos are found in: VATEX's captions, by the columns that the suite names."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reprise.construction.filters import Found, Row, Rows, repeated, sifted
from reprise.construction.settings import VinogroundSettings
from reprise.construction.sheets import NAME, has_control, number
from reprise.construction.sheets import Row as SheetRow
from reprise.core.errors import UserError
from reprise.core.names import seconds
from reprise.core.tabular import read_own_rows

POOL_FILTERS = ("no_span", "same_name", "empty_caption", "too_long", "duplicate")
LONGEST_CAPTION = 1000  # characters


def candidates(files: Mapping[str, Path], settings: VinogroundSettings) -> Rows:
    """Every caption of every video, each dropped one with its reason."""
    rows = [row for path in files.values() for row in _captions(path, settings)]
    if not rows:
        raise UserError(f"annotations of VATEX: no captions in {', '.join(sorted(files))}. Correct `columns:`.")
    places: dict[str, tuple[object, ...]] = {}

    def same_name(row: Mapping[str, Any]) -> str:
        place = (row["source"], row["start_s"], row["end_s"])
        return "" if places.setdefault(row["video"], place) == place else f"'{row['video']}' is another video before"

    found: dict[str, Found] = {
        "no_span": lambda row: "" if row["source"] else f"'{row['video']}' names no source and no span, by `span:`",
        "same_name": same_name,
        "empty_caption": lambda row: "" if row["caption"] else "the caption is empty",
        "too_long": lambda row: "" if len(row["caption"]) <= LONGEST_CAPTION else f"{len(row['caption'])} characters",
        "duplicate": repeated(lambda row: (row["video"], row["caption"].lower()), "the same caption of the same video"),
    }
    return {"pool": sifted(rows, found), "texts": [], "candidates": []}


def _captions(path: Path, settings: VinogroundSettings) -> Iterator[Row]:
    table = read_own_rows(path)
    columns = settings.columns
    for name in (columns.video, columns.captions):
        if name not in table.columns:
            raise UserError(
                f"{path}: column '{name}' is missing. Found: {', '.join(table.columns)}. Correct `columns:` of "
                "`construction:` in the suite."
            )
    for place, row in enumerate(table.iter_rows(named=True), start=1):
        where, said = f"{path}: row {place}", row[columns.captions]
        listed = said if isinstance(said, list) else [said]
        texts = [" ".join((one or "").split()) for one in listed if one is None or isinstance(one, str)]
        if len(texts) < len(listed) or any(map(has_control, texts)):
            raise UserError(
                f"{where}: column '{columns.captions}': expected a text, or a list of texts, without control "
                "characters. Correct the row or `columns:`."
            )
        if settings.span is None:
            video = _in_file(where, row, settings)
        else:
            video = _by_id(str(row[columns.video]), settings.span)
        for caption in texts[: settings.captions_per_video]:
            yield {**video, "caption": caption}


def _by_id(video: str, span: str) -> Row:
    """The source and the span that an id names; no source where it names none."""
    match = re.fullmatch(span, video)
    start, end = (number(match[name] if match else None) for name in ("start", "end"))
    is_span = start is not None and end is not None and 0 <= start < end
    if match is None or not is_span or not NAME.fullmatch(match["video"] or ""):
        return {"video": video, "source": "", "start_s": None, "end_s": None}
    return {"video": video, "source": match["video"], "start_s": start, "end_s": end}


def _in_file(where: str, row: Mapping[str, Any], settings: VinogroundSettings) -> Row:
    """A file of one's own, whole or a span of it."""
    columns = settings.columns
    sheet = SheetRow(where, {name: "" if cell is None else str(cell).strip() for name, cell in row.items()})
    name = sheet.video(columns.video)
    if not any(sheet.cells.get(column) for column in (columns.start, columns.end)):
        return {"video": name, "source": name, "start_s": None, "end_s": None}
    start, end = sheet.span(columns.start, columns.end)
    return {"video": f"{name}_{seconds(start)}_{seconds(end)}", "source": name, "start_s": start, "end_s": end}
