"""VELOCITI's release: rows of two captions of an event, for seven tests and a control."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.clip_ids import Segment, vidsitu
from reprise.benchmarks.flaws import Flaws
from reprise.benchmarks.rows import Annotations, Clip, ClipsFrom, Item
from reprise.benchmarks.velociti.subsets import rows_in_subset
from reprise.benchmarks.velociti.taxonomy import CONTROL, SUBSET, TESTS
from reprise.core.errors import UserError, suggestion
from reprise.core.names import seconds
from reprise.core.tabular import only_table, read_rows, require_columns

COLUMNS = ("test_name", "video_id", "event", "pos", "neg")


def read_release(files: Sequence[Path], clips: ClipsFrom, options: Mapping[str, object]) -> Annotations:
    """Read the one table of the release."""
    path = only_table(files, COLUMNS)
    rows = require_columns(read_rows(path), COLUMNS, path).cast(pl.String).fill_null("")
    rows = rows.with_columns(pl.col("video_id").str.replace(r"\.(mp4|mkv|webm|avi)$", ""))
    flaws = _check_rows(rows, path, keep_duplicates=options.get("duplicate_rows") == "keep")
    items = _items(rows, rows_in_subset(rows, COLUMNS, options.get("subset")), flaws)
    return Annotations([_clip(video, clips) for video in rows["video_id"].unique(maintain_order=True)], items)


def _check_rows(rows: pl.DataFrame, path: Path, *, keep_duplicates: bool) -> Flaws:
    """Refuse a row without a video and a duplicate; note an unknown test and an empty caption."""
    seen: dict[tuple[str, ...], int] = {}
    flaws = Flaws()
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        where = f"{path}: row {number}"
        if not row["video_id"].strip():
            raise UserError(f"{where}: 'video_id' is empty. Correct the row or remove it.")
        if row["test_name"] not in (CONTROL, *TESTS):
            hint = suggestion(row["test_name"], (CONTROL, *TESTS))
            flaws.add(f"row {number}", where, f"unknown test '{row['test_name']}'; it counts in no test.{hint}")
        for column in ("pos", "neg"):
            if not row[column].strip():
                flaw = f"'{column}' is empty, so it is not asked and counts as missing"
                flaws.add(f"row {number}", where, flaw)
        identity = tuple(row.values())
        if identity in seen and not keep_duplicates:
            raise UserError(
                f"{where}: the same as row {seen[identity]} (test {row['test_name']}, video {row['video_id']}). "
                "Remove one of them, or set `duplicate_rows: keep` in the benchmark's file to score both."
            )
        seen.setdefault(identity, number)
    return flaws


def _items(rows: pl.DataFrame, in_subset: Sequence[bool], flaws: Flaws) -> list[Item]:
    """One item per row; its id ends in a number where a test asks several things of one event."""
    counts: Counter[str] = Counter()
    items = []
    for number, (row, is_in_subset) in enumerate(zip(rows.iter_rows(named=True), in_subset, strict=True), start=1):
        base = f"{row['test_name']}/{row['video_id']}/{_event_name(row['event'])}"
        counts[base] += 1
        items.append(
            Item(
                item_id=f"{base}/{counts[base]}",
                clip_id=clip_id(row["video_id"]),
                unit=row["video_id"],
                task=row["test_name"],
                texts={"positive": row["pos"], "negative": row["neg"]},
                groups=[SUBSET] if is_in_subset else [],
                flaws=flaws.of(f"row {number}"),
            )
        )
    return items


def _event_name(event: str) -> str:
    """`Ev3`, or `Ev1-Ev2` for the JSON lists of tests about several events; a broken list as it is."""
    try:
        names = json.loads(event)
    except (ValueError, RecursionError):
        names = None
    return "-".join(map(str, names)) if isinstance(names, list) else event or "Ev"


def _segment(video_id: str) -> Segment | None:
    """What a VidSitu id names; none for a file of another name."""
    try:
        return vidsitu(video_id)
    except UserError:
        return None


def clip_id(video_id: str) -> str:
    """`<unit>.<part>`: the YouTube id and the span for a VidSitu clip, else the file's stem."""
    segment = _segment(video_id)
    return f"{segment.video}.{seconds(segment.start_s)}-{seconds(segment.end_s)}" if segment else f"{video_id}.whole"


def _clip(video_id: str, clips: ClipsFrom) -> Clip:
    segment = _segment(video_id)
    unit = segment.video if segment else video_id
    if clips != "ids":
        return Clip(clip_id(video_id), unit, "whole", video_id)
    if segment is None:
        raise UserError(
            f"VELOCITI release: video_id '{video_id}' is not a VidSitu id (v_<YouTube id>_seg_<start>_<end>). "
            "Use `clips: release` in the suite to take the released files."
        )
    return Clip(clip_id(video_id), unit, "trim", segment.video, segment.start_s, segment.end_s)
