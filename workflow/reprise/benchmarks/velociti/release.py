"""Read VELOCITI's release: rows with two captions of an event, for seven tests and a control."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.annotations import AnnotatedClip, Annotations, ClipSource, Flaws, Item
from reprise.benchmarks.velociti.subsets import match_subset
from reprise.benchmarks.velociti.taxonomy import CONTROL, SUBSET, TESTS, VIDEO_SUFFIX, build_event_id
from reprise.core.errors import UserError, suggest_name
from reprise.core.names import format_seconds
from reprise.core.tabular import find_single_table, read_rows, require_columns

COLUMNS = ("test_name", "video_id", "event", "pos", "neg")
VIDSITU = re.compile(
    r"v_(?P<cluster>[A-Za-z0-9_-]{11})_seg_(?P<start>\d+(?:\.\d+)?)_(?P<end>\d+(?:\.\d+)?)(?:\.\w{2,4})?"
)
"""id of a clip in VidSitu: a YouTube id, which may contain `_` and `-`, and a span in seconds"""


def read_release(files: Sequence[Path], clips: ClipSource, options: Mapping[str, object]) -> Annotations:
    """Read the table of the release, with one item per row.

    An item's id ends with a number, because a test may have several items about one event.
    """
    path = find_single_table(files, COLUMNS)
    rows = require_columns(read_rows(path), COLUMNS, path).cast(pl.String).fill_null("")
    rows = rows.with_columns(pl.col("video_id").str.replace(VIDEO_SUFFIX.pattern, ""))
    flaws = _check_rows(rows, path, keep_duplicates=options.get("duplicate_rows") == "keep")
    clips_by_video = {video: _build_clip(video, clips) for video in rows["video_id"].unique(maintain_order=True)}
    subset_flags = match_subset(rows, COLUMNS, options.get("subset"))
    count_by_event: Counter[str] = Counter()
    items = []
    for row_number, (row, is_in_subset) in enumerate(
        zip(rows.iter_rows(named=True), subset_flags, strict=True), start=1
    ):
        event_prefix = build_event_id(row["test_name"], row["video_id"], row["event"])
        count_by_event[event_prefix] += 1
        clip = clips_by_video[row["video_id"]]
        items.append(
            Item(
                item_id=f"{event_prefix}/{count_by_event[event_prefix]}",
                clip_id=clip.clip_id,
                cluster=clip.cluster,
                task=row["test_name"],
                texts={"positive": row["pos"], "negative": row["neg"]},
                groups=[SUBSET] if is_in_subset else [],
                flaws=flaws.get(f"row {row_number}"),
            )
        )
    return Annotations(list(clips_by_video.values()), items)


def _check_rows(rows: pl.DataFrame, path: Path, *, keep_duplicates: bool) -> Flaws:
    """Return the flaws: unknown tests and empty captions. Raise an error for a row without a video or a duplicate."""
    first_number_by_row: dict[tuple[str, ...], int] = {}
    flaws = Flaws()
    for row_number, row in enumerate(rows.iter_rows(named=True), start=1):
        location = f"{path}: row {row_number}"
        if not row["video_id"].strip():
            raise UserError(f"{location}: 'video_id' is empty. Correct the row or remove it.")
        if row["test_name"] not in (CONTROL, *TESTS):
            hint = suggest_name(row["test_name"], (CONTROL, *TESTS))
            flaws.add(f"row {row_number}", location, f"unknown test '{row['test_name']}'; it counts in no test.{hint}")
        for column in ("pos", "neg"):
            if not row[column].strip():
                flaw = f"'{column}' is empty, so no request is sent and the item counts as missing"
                flaws.add(f"row {row_number}", location, flaw)
        first_number = first_number_by_row.setdefault(tuple(row.values()), row_number)
        if first_number != row_number and not keep_duplicates:
            raise UserError(
                f"{location}: duplicate of row {first_number} (test {row['test_name']}, video {row['video_id']}). "
                "Remove one of them, or set `duplicate_rows: keep` in the benchmark's file to score both."
            )
    return flaws


def _build_clip(video_id: str, clips: ClipSource) -> AnnotatedClip:
    """Return the clip `<YouTube id>.<span>` of a VidSitu id, or the clip of a whole file for any other id."""
    match = VIDSITU.fullmatch(video_id)
    if match is None or not float(match["start"]) < float(match["end"]):
        if clips != "ids":
            return AnnotatedClip(f"{video_id}.whole", video_id, "whole", video_id)
        raise UserError(
            f"VELOCITI release: video_id '{video_id}' is not a VidSitu id (v_<YouTube id>_seg_<start>_<end>). "
            "Use `clips: release` in the suite to use the released files."
        )
    cluster, start, end = match["cluster"], float(match["start"]), float(match["end"])
    clip = AnnotatedClip(
        f"{cluster}.{format_seconds(start)}-{format_seconds(end)}", cluster, "trim", cluster, start, end
    )
    return clip if clips == "ids" else AnnotatedClip(clip.clip_id, cluster, "whole", video_id)
