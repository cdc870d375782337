"""Stage `frames`: plan which frames and times of each clip a sampling selects; inference decodes only these."""

from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.schemas import CLIP_METADATA, FRAME_PLAN, read_table, write_table
from reprise.core.store import Store
from reprise.media.ablations import MISMATCHED, PlannedClip, assign_mismatched_clips
from reprise.media.keys import FramesKey
from reprise.media.manifests import clip_file, read_available_clips, report_damage
from reprise.media.probe import read_packet_index
from reprise.media.sampling import get_transform_kind, plan, validate_rule
from reprise.stages.command import In, Out, Site


def plan_clips(clips: pl.DataFrame, frame_counts: dict[str, int], store: Store, rule: dict[str, Any]) -> pl.DataFrame:
    """Return the frame plan of each clip by the rule of a sampling."""
    validate_rule(rule)
    rows = []
    for clip in clips.iter_rows(named=True):
        path, name = clip_file(store, clip), clip["clip_id"]
        with report_damage(path):
            times = read_packet_index(path).times
        if frame_counts.get(name) != len(times):
            raise UserError(
                f"{path}: clip {name} has {len(times)} frames, but its metadata has {frame_counts.get(name)}. "
                "Delete the clip metadata and run snakemake again."
            )
        black = None if clip["black_start"] is None else (clip["black_start"], clip["black_end"])
        rows.append({"clip_id": name, **plan(rule, len(times), times, name, black)._asdict()})
    if get_transform_kind(rule) == MISMATCHED:
        _replace_frames(rows, clips, rule["transform"]["seed"])
    return pl.DataFrame(rows, schema=FRAME_PLAN)


def _replace_frames(rows: list[dict[str, Any]], clips: pl.DataFrame, seed: int) -> None:
    """Replace the frames in the plans by frames of other clips, and keep the plans' times."""
    plans = [
        PlannedClip(clip["clip_id"], clip["cluster"], clip["sha256"], clip["black_start"] is not None, row["indices"])
        for row, clip in zip(rows, clips.iter_rows(named=True), strict=True)
    ]
    counts = {clip.clip_id: len(clip.indices) for clip in plans}
    replacements = assign_mismatched_clips(plans, seed)
    for row in rows:
        if replacement := replacements.get(row["clip_id"]):
            available, selected = counts[replacement.clip_id], len(replacement.indices)
            number = "" if available == selected else f", {selected} of the {available} that it has"
            notes = [row["note"], f"the frames of clip '{replacement.clip_id}'{number}"]
            row |= {
                "indices": replacement.indices,
                "shown_clip": replacement.clip_id,
                "note": "; ".join(filter(None, notes)),
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
