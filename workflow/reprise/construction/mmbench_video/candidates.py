"""The collection of videos, and the questions that annotators wrote: which rows can be used at all."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.benchmarks.mmbench_video.taxonomy import L2_OF
from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.mmbench_video.collection import (
    COLLECTION,
    Seen,
    bad_span,
    length,
    number,
    rows_of,
    unknown_name,
    videos,
)
from reprise.construction.settings import MmbenchVideoSettings
from reprise.construction.sheets import has_control
from reprise.construction.steps import Candidates
from reprise.core.errors import UserError

COLUMNS = ("video", "question", "answer", "dimensions", "annotator", "start_s", "end_s")
ROW_FILTERS = (
    "unknown_video", "video_dropped", "empty", "unprintable", "no_leaf", "unknown_leaf", "no_annotator", "bad_span",
    "duplicate",
)  # fmt: skip
SPAN = ("start_s", "end_s")
INDEX_DIGITS = 12


def candidates(files: Mapping[str, Path], settings: MmbenchVideoSettings) -> Candidates:
    """Every video of the collection and every row of the annotators, each dropped one with its reason."""
    if COLLECTION not in files:
        raise UserError(
            f"annotations of MMBench-Video: no file '{COLLECTION}'. Found: {', '.join(sorted(files)) or 'nothing'}. "
            "Put it where `annotations:` of `construction:` says."
        )
    pool = videos(files[COLLECTION], settings)
    rows = [row for name, path in sorted(files.items()) if name != COLLECTION for row in _written(name, path)]
    return Candidates(pool, [], _questions(rows, {row["video"]: row for row in reversed(pool)}))


def _written(name: str, path: Path) -> Iterator[Row]:
    for place, row in enumerate(rows_of(path, COLUMNS), start=1):
        index = index_of(row["video"], row["question"], row["answer"])
        yield {
            **row,
            "leaves": [leaf.strip() for leaf in row["dimensions"].split(";") if leaf.strip()],
            "index": index,
            "sample_id": f"{row['video']}/{index}",
            "where": f"{name}: row {place}",
        }


def index_of(*texts: str) -> str:
    """A number, as in the authors' release, that stays the same whatever is written besides."""
    return str(int(hashlib.sha256("\n".join(texts).encode()).hexdigest()[:INDEX_DIGITS], 16))


def _questions(rows: Sequence[Row], known: Mapping[str, Row]) -> list[Row]:
    found: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
        "unknown_video": lambda row: unknown_name("video", row["video"], known),
        "video_dropped": lambda row: _dropped(known[row["video"]]),
        "empty": lambda row: next((f"no {name}" for name in ("question", "answer") if not row[name]), ""),
        "unprintable": lambda row: "control characters" if any(map(has_control, map(str, row.values()))) else "",
        "no_leaf": lambda row: "" if row["leaves"] else "it names no ability",
        "unknown_leaf": lambda row: next(filter(None, (unknown_name("leaf", one, L2_OF) for one in row["leaves"])), ""),
        "no_annotator": lambda row: "" if row["annotator"] else "nobody is named who wrote it",
        "bad_span": lambda row: _bad_part(row, known[row["video"]]),
        "duplicate": Seen("video", "question"),
    }
    kinds = {name: row["video_type"] for name, row in known.items()}
    return [
        {
            **{name: value for name, value in row.items() if name != "leaves"},
            "dimensions": row["leaves"],
            "video_type": kinds.get(row["video"], ""),
            **{name: number(row[name]) for name in SPAN},
        }
        for row in sifted(rows, [Filter(name, found[name]) for name in ROW_FILTERS])
    ]


def _dropped(video: Row) -> str:
    return f"{video['filter']}: {video['why']}" if video["filter"] else ""


def _bad_part(row: Mapping[str, Any], video: Row) -> str:
    """The part of the clip that a question is about, if the annotator names one."""
    given = [name for name in SPAN if row[name]]
    if not given:
        return ""
    if len(given) < len(SPAN):
        return f"{given[0]} is given alone"
    start, end = (number(row[name]) for name in SPAN)
    if start is None or end is None:
        return f"'{row['start_s']}' or '{row['end_s']}' is no number"
    return bad_span(start, end, length(video))
