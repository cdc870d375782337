"""The pool that videos are found in: VATEX's captions, by the columns that the suite names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.settings import Columns, VinogroundSettings
from reprise.construction.sheets import Row as SheetRow
from reprise.core.errors import UserError
from reprise.core.tabular import read_rows

POOL_FILTERS = ("no_span", "empty_caption", "duplicate")


class Candidates(NamedTuple):
    """The pool; there are no candidates before the writer is asked."""

    pool: list[Row]
    texts: list[Row]
    candidates: list[Row]


def candidates(files: Mapping[str, Path], settings: VinogroundSettings) -> Candidates:
    """Every caption of every video, each dropped one with its reason."""
    rows = [row for path in files.values() for row in _captions(path, settings)]
    if not rows:
        raise UserError(f"annotations of VATEX: no captions in {', '.join(sorted(files))}. Correct `columns:`.")
    seen: set[tuple[str, str]] = set()

    def duplicate(row: Mapping[str, Any]) -> str:
        name = (row["video"], row["caption"].lower())
        is_known = name in seen
        seen.add(name)
        return "the same caption of the same video" if is_known else ""

    found = {
        "no_span": lambda row: "" if row["source"] else f"'{row['video']}' does not match `span:`",
        "empty_caption": lambda row: "" if row["caption"] else "the caption is empty",
        "duplicate": duplicate,
    }
    return Candidates(sifted(rows, [Filter(name, found[name]) for name in POOL_FILTERS]), [], [])


def _captions(path: Path, settings: VinogroundSettings) -> Iterator[Row]:
    table = read_rows(path)
    columns, span = settings.columns, settings.span
    for name in (columns.video, columns.captions):
        if name not in table.columns:
            raise UserError(
                f"{path}: column '{name}' is missing. Found: {', '.join(table.columns)}. Correct `columns:` of "
                "`construction:` in the suite."
            )
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        video, captions = row[columns.video], row[columns.captions]
        listed: Sequence[Any] = [captions] if captions is None or isinstance(captions, str) else captions
        place = _in_file(f"{path}: row {number}", row, columns) if span is None else _by_id(str(video), span)
        for caption in listed[: settings.captions_per_video]:
            yield {**place, "caption": " ".join(str(caption or "").split())}


def _by_id(video: str, span: str) -> Row:
    """The source and the span that an id names; no source where it names none."""
    match = re.fullmatch(span, video)
    if match is None:
        return {"video": video, "source": "", "start_s": None, "end_s": None}
    return {"video": video, "source": match["video"], "start_s": float(match["start"]), "end_s": float(match["end"])}


def _in_file(where: str, row: Mapping[str, Any], columns: Columns) -> Row:
    """A file of one's own, whole or a span of it."""
    sheet = SheetRow(where, {name: str(cell or "").strip() for name, cell in row.items()})
    name = sheet.video(columns.video)
    if not any(sheet.cells.get(column) for column in (columns.start, columns.end)):
        return {"video": name, "source": name, "start_s": None, "end_s": None}
    start, end = sheet.span(columns.start, columns.end)
    return {"video": f"{name}_{start:g}_{end:g}", "source": name, "start_s": start, "end_s": end}
