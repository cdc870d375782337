"""The collection of videos, and the questions that annotators wrote: which rows can be used at all."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.benchmarks.mmbench_video.taxonomy import L2_OF
from reprise.construction.filters import Found, Row, Rows, repeated, sifted
from reprise.construction.settings import MmbenchVideoSettings
from reprise.construction.sheets import NAME, has_control, number
from reprise.core.errors import UserError, suggestion
from reprise.core.plain import of_cell
from reprise.core.tabular import read_own_rows, require_columns, text_of

COLLECTION = "collection.csv"
SPAN = ("start_s", "end_s")
VIDEO_COLUMNS = ("video", "source", "video_type", "duration_s", *SPAN)
COLUMNS = ("video", "question", "answer", "dimensions", "annotator", *SPAN)  # of the annotators' files
NUMBERS = ("duration_s", *SPAN)
POOL_FILTERS = ("bad_name", "duplicate", "unknown_category", "no_number", "too_short", "bad_span", "too_long")
ROW_FILTERS = (
    "unknown_video", "video_dropped", "empty", "unprintable", "no_leaf", "unknown_leaf", "no_annotator", "bad_span",
    "duplicate",
)  # fmt: skip
INDEX_DIGITS = 12


def candidates(files: Mapping[str, Path], settings: MmbenchVideoSettings) -> Rows:
    """Every video of the collection and every row of the annotators, each dropped one with its reason."""
    if COLLECTION not in files:
        raise UserError(
            f"annotations of MMBench-Video: no file '{COLLECTION}'. Found: {', '.join(sorted(files)) or 'nothing'}. "
            "Put it where `annotations:` of `construction:` says."
        )
    videos = [row | {name: number(row[name]) for name in NUMBERS} for row in _rows(files[COLLECTION], VIDEO_COLUMNS)]
    pool = sifted(videos, _video_filters(settings))
    known = {row["video"]: row for row in reversed(pool)}
    rows = []
    for name, path in sorted(files.items()):
        for place, row in enumerate(_rows(path, COLUMNS) if name != COLLECTION else (), start=1):
            index = index_of(row["video"], row["question"], row["answer"])
            rows.append(row | {
                "dimensions": [leaf.strip() for leaf in row["dimensions"].split(";") if leaf.strip()],
                "index": index, "sample_id": f"{row['video']}/{index}", "where": f"{name}: row {place}",
                "video_type": known.get(row["video"], {}).get("video_type", ""),
            })  # fmt: skip
    found = sifted(rows, _row_filters(known))
    usable = [row | {name: number(row[name]) for name in SPAN} for row in found]
    return {"pool": pool, "texts": [], "candidates": usable}


def _rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a file that people filled in, with single blanks."""
    rows = require_columns(read_own_rows(path), columns, path).iter_rows(named=True)
    for place, row in enumerate(rows, start=1):
        yield {name: of_cell(text_of(row[name], f"{path}: row {place}: {name}")) for name in row}


def index_of(*texts: str) -> str:
    """A number, as in the authors' release, that stays the same whatever is written besides."""
    return str(int(hashlib.sha256("\n".join(texts).encode()).hexdigest()[:INDEX_DIGITS], 16))


def _video_filters(settings: MmbenchVideoSettings) -> Mapping[str, Found]:
    def category(row: Mapping[str, Any]) -> str:
        if not row["video_type"]:
            return "it has no category"
        return "" if settings.categories is None else _unknown("category", row["video_type"], settings.categories)

    def too_long(row: Mapping[str, Any]) -> str:
        length = row["end_s"] - row["start_s"]
        return f"{length:g} s" if length > settings.longest_s else ""

    return {
        "bad_name": lambda row: "" if NAME.fullmatch(row["video"]) else f"'{row['video']}' cannot be a file's name",
        "duplicate": repeated(lambda row: row["video"].lower(), "the same video as in a row before"),
        "unknown_category": category,
        "no_number": lambda row: next((f"{name} is no number" for name in NUMBERS if row[name] is None), ""),
        "too_short": lambda row: f"{row['duration_s']:g} s" if row["duration_s"] < settings.shortest_s else "",
        "bad_span": lambda row: _bad_span(row["start_s"], row["end_s"], row["duration_s"]),
        "too_long": too_long,
    }


def _row_filters(known: Mapping[str, Row]) -> Mapping[str, Found]:
    def dropped(row: Mapping[str, Any]) -> str:
        video = known[row["video"]]
        return f"{video['filter']}: {video['why']}" if video["filter"] else ""

    def name(row: Mapping[str, Any]) -> tuple[str, str]:
        return row["video"].lower(), row["question"].lower()

    return {
        "unknown_video": lambda row: _unknown("video", row["video"], known),
        "video_dropped": dropped,
        "empty": lambda row: next((f"no {name}" for name in ("question", "answer") if not row[name]), ""),
        "unprintable": lambda row: (
            "control characters" if any(map(has_control, map(str, (*row.values(), *row["dimensions"])))) else ""
        ),
        "no_leaf": lambda row: "" if row["dimensions"] else "it names no ability",
        "unknown_leaf": lambda row: next(filter(None, (_unknown("leaf", one, L2_OF) for one in row["dimensions"])), ""),
        "no_annotator": lambda row: "" if row["annotator"] else "nobody is named who wrote it",
        "bad_span": lambda row: _bad_part(row, known[row["video"]]),
        "duplicate": repeated(name, "the same video and question as in a row before"),
    }


def _bad_part(row: Mapping[str, Any], video: Row) -> str:
    """What is wrong with the part of the clip that a question is about, if the annotator names one."""
    given = [name for name in SPAN if row[name]]
    if len(given) == 1:
        return f"{given[0]} is given alone"
    start, end = (number(row[name]) for name in SPAN)
    if start is None or end is None:
        return f"'{row['start_s']}' or '{row['end_s']}' is no number" if given else ""
    return _bad_span(start, end, video["end_s"] - video["start_s"])


def _bad_span(start_s: float, end_s: float, longest_s: float) -> str:
    return "" if 0 <= start_s < end_s <= longest_s else f"{start_s:g} to {end_s:g} of {longest_s:g} s"


def _unknown(what: str, found: str, known: Collection[str]) -> str:
    return "" if found in known else f"no {what} '{found}'.{suggestion(found, known)}"
