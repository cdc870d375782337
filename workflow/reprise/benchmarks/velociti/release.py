"""Read VELOCITI's release: rows with two captions of an event, for seven tests and a control."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.rows import Annotations, Clip, ClipsFrom, Flaws, Item
from reprise.benchmarks.velociti.subsets import rows_in_subset
from reprise.benchmarks.velociti.taxonomy import CONTROL, ENDING, SUBSET, TESTS, event_id
from reprise.core.errors import UserError, suggestion
from reprise.core.names import seconds
from reprise.core.tabular import only_table, read_rows, require_columns

COLUMNS = ("test_name", "video_id", "event", "pos", "neg")
VIDSITU = re.compile(r"v_(?P<unit>[A-Za-z0-9_-]{11})_seg_(?P<start>\d+(?:\.\d+)?)_(?P<end>\d+(?:\.\d+)?)(?:\.\w{2,4})?")
"""YouTube id of a clip, which may contain `_` and `-` itself, and its span in seconds"""


def read_release(files: Sequence[Path], clips: ClipsFrom, options: Mapping[str, object]) -> Annotations:
    """Read the one table of the release, with one item per row.

    An item's id ends in a number because a test may have several items about one event.
    """
    path = only_table(files, COLUMNS)
    rows = require_columns(read_rows(path), COLUMNS, path).cast(pl.String).fill_null("")
    rows = rows.with_columns(pl.col("video_id").str.replace(ENDING.pattern, ""))
    flaws = _check_rows(rows, path, keep_duplicates=options.get("duplicate_rows") == "keep")
    clips_by_video = {video: _clip(video, clips) for video in rows["video_id"].unique(maintain_order=True)}
    subset_flags = rows_in_subset(rows, COLUMNS, options.get("subset"))
    counts: Counter[str] = Counter()
    items = []
    for number, (row, is_in_subset) in enumerate(zip(rows.iter_rows(named=True), subset_flags, strict=True), start=1):
        event_prefix = event_id(row["test_name"], row["video_id"], row["event"])
        counts[event_prefix] += 1
        items.append(
            Item(
                item_id=f"{event_prefix}/{counts[event_prefix]}",
                clip_id=clips_by_video[row["video_id"]].clip_id,
                unit=row["video_id"],
                task=row["test_name"],
                texts={"positive": row["pos"], "negative": row["neg"]},
                groups=[SUBSET] if is_in_subset else [],
                flaws=flaws.of(f"row {number}"),
            )
        )
    return Annotations(list(clips_by_video.values()), items)


def _check_rows(rows: pl.DataFrame, path: Path, *, keep_duplicates: bool) -> Flaws:
    """Reject rows without a video and duplicates; record unknown tests and empty captions as flaws."""
    first_number_of_row: dict[tuple[str, ...], int] = {}
    flaws = Flaws()
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        location = f"{path}: row {number}"
        if not row["video_id"].strip():
            raise UserError(f"{location}: 'video_id' is empty. Correct the row or remove it.")
        if row["test_name"] not in (CONTROL, *TESTS):
            hint = suggestion(row["test_name"], (CONTROL, *TESTS))
            flaws.add(f"row {number}", location, f"unknown test '{row['test_name']}'; it counts in no test.{hint}")
        for column in ("pos", "neg"):
            if not row[column].strip():
                flaws.add(f"row {number}", location, f"'{column}' is empty, so it is not asked and counts as missing")
        first_number = first_number_of_row.setdefault(tuple(row.values()), number)
        if first_number != number and not keep_duplicates:
            raise UserError(
                f"{location}: the same as row {first_number} (test {row['test_name']}, video {row['video_id']}). "
                "Remove one of them, or set `duplicate_rows: keep` in the benchmark's file to score both."
            )
    return flaws


def _clip(video_id: str, clips: ClipsFrom) -> Clip:
    """Return the clip of a VidSitu id, with id `<YouTube id>.<span>`, or of a whole file for any other id."""
    match = VIDSITU.fullmatch(video_id)
    if match is None or not float(match["start"]) < float(match["end"]):
        if clips != "ids":
            return Clip(f"{video_id}.whole", video_id, "whole", video_id)
        raise UserError(
            f"VELOCITI release: video_id '{video_id}' is not a VidSitu id (v_<YouTube id>_seg_<start>_<end>). "
            "Use `clips: release` in the suite to take the released files."
        )
    unit, start, end = match["unit"], float(match["start"]), float(match["end"])
    clip = Clip(f"{unit}.{seconds(start)}-{seconds(end)}", unit, "trim", unit, start, end)
    return clip if clips == "ids" else Clip(clip.clip_id, unit, "whole", video_id)
