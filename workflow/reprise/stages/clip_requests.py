"""Group the requests of a run by clip, with the clip's file and planned frames."""

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
from reprise.media.manifests import verify_clip_file
from reprise.models.base import ClipFrames, Request
from reprise.models.inference.lazy import OptionSets
from reprise.models.inference.partitions import WHOLE_RUN, Partition
from reprise.models.inference.response_cache import NO_FRAMES_DIGEST, ClipRequests, compute_frames_digest


def find_scored_options(requests: pl.DataFrame) -> OptionSets:
    """Return the distinct option sets of the requests that ask for scores."""
    return tuple(sorted(set(map(tuple, requests.filter(pl.col("request_type") == "score")["options"].unique()))))


def gather_clip_requests(
    requests: pl.DataFrame,
    plans: pl.DataFrame,
    manifest: pl.DataFrame,
    store: Store,
    partition: Partition = WHOLE_RUN,
    *,
    with_labels: bool = False,
) -> list[ClipRequests]:
    """Return the requests about each available clip of a partition, in the order of the clips.

    Requests contain the expected answers only if `with_labels` is true (`AdapterInfo.needs_labels`).
    """
    clip_row_by_id = {row["clip_id"]: row for row in manifest.filter(pl.col("status") == "ok").iter_rows(named=True)}
    is_in_partition = [partition == WHOLE_RUN or partition.contains(recipe) for recipe in manifest["recipe"]]
    partition_clips = manifest.filter(pl.Series(is_in_partition, dtype=pl.Boolean))
    plan_by_clip = {row["clip_id"]: row for row in filter_available_clips(plans, partition_clips).iter_rows(named=True)}
    batches = []
    for clip_id, request_rows in _group_by_clip(filter_available_clips(requests, partition_clips)).items():
        plan = plan_by_clip.get(clip_id)
        # In a mismatched plan, the frames are those of another clip.
        shown_row = None if plan is None else clip_row_by_id.get(plan["shown_clip"] or clip_id)
        if plan is None or shown_row is None:
            raise UserError(
                f"clip '{clip_id}' has no frame plan. Delete the frames table of this sampling and run again."
            )
        clip = ClipFrames(
            clip_id=clip_id,
            path=store.root / shown_row["object"],
            indices=tuple(plan["indices"]),
            times_s=tuple(plan["times_s"]),
            question_count=len(request_rows),
            grid=tuple(plan["grid"]) if plan["grid"] else None,
        )
        requests_of_clip = tuple(_build_request(row, len(clip.indices), with_labels) for row in request_rows)
        digest = compute_frames_digest(shown_row["sha256"], clip.indices, clip.times_s, clip.grid)
        if shown_row is not clip_row_by_id[clip_id]:  # The digest also names the clip that the requests are about.
            digest = value_digest([clip_row_by_id[clip_id]["sha256"], digest])
        batches.append(ClipRequests(clip, digest, requests_of_clip, partial(verify_clip_file, store, shown_row)))
    return batches


def filter_available_clips(rows: pl.DataFrame, manifest: pl.DataFrame) -> pl.DataFrame:
    """Return the rows about clips that are available."""
    return rows.filter(pl.col("clip_id").is_in(manifest.filter(pl.col("status") == "ok")["clip_id"].implode()))


def gather_text_requests(requests: pl.DataFrame, *, with_labels: bool = False) -> list[ClipRequests]:
    """Return requests without frames, such as a judge's; equal requests share a cached response across clips."""
    return [
        ClipRequests(
            ClipFrames(name, None, (), ()), NO_FRAMES_DIGEST, tuple(_build_request(row, 0, with_labels) for row in rows)
        )
        for name, rows in _group_by_clip(requests).items()
    ]


def _group_by_clip(requests: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Group rows by clip in their order. A polars group_by would build one table per clip, which is slower."""
    return group_by_key(requests.iter_rows(named=True), itemgetter("clip_id"))


def _build_request(row: Mapping[str, Any], frame_count: int, with_labels: bool) -> Request:
    """Return the request of a row of the requests table, with the number of frames in its texts."""
    lead, prompt = split_at_frames(fill_frame_count(row["prompt"], frame_count))
    return Request(
        request_id=row["request_id"],
        item_id=row["item_id"],
        role=row["role"],
        request_type=row["request_type"],
        system=fill_frame_count(row["system"], frame_count),
        prompt=prompt,
        options=tuple(row["options"]),
        expected=row["expected"] if with_labels else "",
        max_tokens=row["max_tokens"],
        lead=lead,
    )
