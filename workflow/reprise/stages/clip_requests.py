"""Gather the requests of a run about each of its clips, from the tables of requests, frame plans and clips."""

from collections.abc import Mapping
from functools import partial
from operator import itemgetter
from typing import Any

import polars as pl

from reprise.benchmarks.annotations import group_by_key
from reprise.benchmarks.prompts import fill_frame_count, split_at_frames
from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.store import Store
from reprise.media.manifests import clip_file
from reprise.models.base import ClipFrames, Request
from reprise.models.inference.lazy import OptionSets
from reprise.models.inference.partitions import WHOLE_RUN, Partition
from reprise.models.inference.response_cache import NO_FRAMES, ClipRequests, compute_frames_digest


def find_scored_options(requests: pl.DataFrame) -> OptionSets:
    """Return the distinct sets of options of requests for scores."""
    return tuple(sorted(set(map(tuple, requests.filter(pl.col("ask") == "score")["options"].unique()))))


def gather_clip_requests(
    requests: pl.DataFrame,
    plans: pl.DataFrame,
    manifest: pl.DataFrame,
    store: Store,
    partition: Partition = WHOLE_RUN,
    *,
    with_labels: bool = False,
) -> list[ClipRequests]:
    """Return the requests about each available clip, or about those of a partition, in the order of the clips.

    Only with `with_labels` do the requests hold the expected answers (`AdapterInfo.reads_labels`).
    """
    clip_rows = {row["clip_id"]: row for row in manifest.filter(pl.col("status") == "ok").iter_rows(named=True)}
    is_in_partition = [partition == WHOLE_RUN or partition.contains(recipe) for recipe in manifest["recipe"]]
    partition_clips = manifest.filter(pl.Series(is_in_partition, dtype=pl.Boolean))
    frame_plans = {row["clip_id"]: row for row in filter_available_clips(plans, partition_clips).iter_rows(named=True)}
    batches = []
    for name, rows in _by_clip(filter_available_clips(requests, partition_clips)).items():
        source_row = clip_rows.get(frame_plans[name]["shown_clip"] or name) if name in frame_plans else None
        if source_row is None:
            raise UserError(f"clip '{name}' has no frame plan. Delete the frames table of this sampling and run again.")
        clip = ClipFrames(
            clip_id=name,
            path=store.root / source_row["object"],
            indices=tuple(frame_plans[name]["indices"]),
            times_s=tuple(frame_plans[name]["times_s"]),
            question_count=len(rows),
            grid=tuple(frame_plans[name]["grid"]) if frame_plans[name]["grid"] else None,
        )
        clip_requests = tuple(_request(row, len(clip.indices), with_labels) for row in rows)
        digest = compute_frames_digest(source_row["sha256"], clip.indices, clip.times_s, clip.grid)
        if source_row is not clip_rows[name]:
            digest = value_digest([clip_rows[name]["sha256"], digest])
        batches.append(ClipRequests(clip, digest, clip_requests, partial(clip_file, store, source_row)))
    return batches


def filter_available_clips(rows: pl.DataFrame, manifest: pl.DataFrame) -> pl.DataFrame:
    """Return the rows about clips that are available."""
    return rows.filter(pl.col("clip_id").is_in(manifest.filter(pl.col("status") == "ok")["clip_id"].implode()))


def gather_text_requests(requests: pl.DataFrame, *, with_labels: bool = False) -> list[ClipRequests]:
    """Return requests about texts alone, such as a judge's; answers are reused whatever clip the text was about."""
    return [
        ClipRequests(ClipFrames(name, None, (), ()), NO_FRAMES, tuple(_request(row, 0, with_labels) for row in rows))
        for name, rows in _by_clip(requests).items()
    ]


def _by_clip(requests: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each clip, in the order of both; polars would build a table per clip, which is slower."""
    return group_by_key(requests.iter_rows(named=True), itemgetter("clip_id"))


def _request(row: Mapping[str, Any], frames: int, with_labels: bool) -> Request:
    lead, prompt = split_at_frames(fill_frame_count(row["prompt"], frames))
    return Request(
        request_id=row["request_id"],
        item_id=row["item_id"],
        role=row["role"],
        ask=row["ask"],
        system=fill_frame_count(row["system"], frames),
        prompt=prompt,
        options=tuple(row["options"]),
        expected=row["expected"] if with_labels else "",
        max_tokens=row["max_tokens"],
        lead=lead,
    )
