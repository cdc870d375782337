"""Stage `frames`: plan the frames and timestamps of each clip that a sampling selects; inference decodes only these."""

from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.schemas import CLIP_METADATA, FRAME_PLAN, read_table, write_table
from reprise.core.store import Store
from reprise.media.ablations import MISMATCHED_KINDS, PlannedClip, assign_mismatched_clips
from reprise.media.keys import FramesKey
from reprise.media.manifests import read_available_clips, report_damage, verify_clip_file
from reprise.media.probe import read_packet_index
from reprise.media.sampling import get_transform_kind, plan_frames, validate_rule
from reprise.stages.command import In, Out, Site


def plan_clips(
    clips: pl.DataFrame, frame_count_by_clip: dict[str, int], store: Store, rule: dict[str, Any]
) -> pl.DataFrame:
    """Return the frame plan of each clip by the rule of a sampling."""
    validate_rule(rule)
    rows = []
    for clip in clips.iter_rows(named=True):
        path, clip_id = verify_clip_file(store, clip), clip["clip_id"]
        with report_damage(path):
            times = read_packet_index(path).times
        measured_count = frame_count_by_clip.get(clip_id)
        if measured_count != len(times):
            raise UserError(
                f"{path}: clip {clip_id} has {len(times)} frames, but its metadata has {measured_count}. "
                "Delete the clip metadata and run snakemake again."
            )
        black_span = None if clip["black_start"] is None else (clip["black_start"], clip["black_end"])
        rows.append({"clip_id": clip_id, **plan_frames(rule, len(times), times, clip_id, black_span)._asdict()})
    if get_transform_kind(rule) in MISMATCHED_KINDS:
        _mismatch_frames(rows, clips, rule["transform"]["seed"])
    return pl.DataFrame(rows, schema=FRAME_PLAN)


def _mismatch_frames(rows: list[dict[str, Any]], clips: pl.DataFrame, seed: int) -> None:
    """Replace the frame indices in the plans by those of mismatched clips; the timestamps stay."""
    planned_clips = [
        PlannedClip(clip["clip_id"], clip["cluster"], clip["sha256"], clip["black_start"] is not None, row["indices"])
        for row, clip in zip(rows, clips.iter_rows(named=True), strict=True)
    ]
    frame_count_by_clip = {clip.clip_id: len(clip.indices) for clip in planned_clips}
    replacements = assign_mismatched_clips(planned_clips, seed)
    for row in rows:
        if replacement := replacements.get(row["clip_id"]):
            planned_count, used_count = frame_count_by_clip[replacement.clip_id], len(replacement.indices)
            count_note = "" if planned_count == used_count else f", {used_count} of the {planned_count} that it has"
            plan_notes = [row["note"], f"the frames of clip '{replacement.clip_id}'{count_note}"]
            row |= {
                "indices": replacement.indices,
                "shown_clip": replacement.clip_id,
                "note": "; ".join(filter(None, plan_notes)),
            }


def main(
    settings: FramesKey,
    clip_metadata: In[Path],
    manifests: In[list[Path]],
    store: Site[Store],
    out: Out[Path],
) -> None:
    metadata = read_table(clip_metadata, CLIP_METADATA)
    frame_counts = dict(zip(metadata["clip_id"], metadata["frames"], strict=True))
    plans = plan_clips(read_available_clips(manifests), frame_counts, store, settings.rule)
    write_table(plans, out, FRAME_PLAN)
    log.info(f"{plans.height} plans, {plans.filter(pl.col('note') != '').height} with a note")
