"""The pool that videos are found in: VATEX's captions, by the columns that the suite names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.settings import VinogroundSettings
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
    columns = settings.columns
    for name in (columns.video, columns.captions):
        if name not in table.columns:
            raise UserError(
                f"{path}: column '{name}' is missing. Found: {', '.join(table.columns)}. Correct `columns:` of "
                "`construction:` in the suite."
            )
    for video, captions in table.select(columns.video, columns.captions).iter_rows():
        listed: Sequence[Any] = [captions] if captions is None or isinstance(captions, str) else captions
        match = re.fullmatch(settings.span, str(video))
        span = match.groupdict() if match else {}
        for caption in listed[: settings.captions_per_video]:
            yield {
                "video": str(video),
                "source": span.get("video", ""),
                "start_s": float(span["start"]) if span else None,
                "end_s": float(span["end"]) if span else None,
                "caption": " ".join(str(caption or "").split()),
            }
