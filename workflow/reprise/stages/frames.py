"""Stage `frames`: plan which frames and times of each clip a sampling selects; inference reads nothing else of it."""

from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.schemas import FACTS, FRAME_PLAN, read_table, write_table
from reprise.core.store import Store
from reprise.media.keys import FramesKey
from reprise.media.ledgers import clip_file, present_clips, readable
from reprise.media.probe import packet_index
from reprise.media.sampling import check, plan, show_of
from reprise.media.views import ANOTHER, Planned, other_clips
from reprise.stages.command import In, Out, Site


def plan_clips(clips: pl.DataFrame, frame_counts: dict[str, int], store: Store, rule: dict[str, Any]) -> pl.DataFrame:
    check(rule)
    rows = []
    for clip in clips.iter_rows(named=True):
        path, name = clip_file(store, clip), clip["clip_id"]
        with readable(path):
            times = packet_index(path).times
        if frame_counts.get(name) != len(times):
            raise UserError(
                f"{path}: clip {name} has {len(times)} frames, its facts say {frame_counts.get(name)}. "
                "Delete the facts and run snakemake again."
            )
        black = None if clip["black_start"] is None else (clip["black_start"], clip["black_end"])
        rows.append({"clip_id": name, **plan(rule, len(times), times, name, black)._asdict()})
    if show_of(rule) == ANOTHER:
        _replace_frames(rows, clips, rule["view"]["seed"])
    return pl.DataFrame(rows, schema=FRAME_PLAN)


def _replace_frames(rows: list[dict[str, Any]], clips: pl.DataFrame, seed: int) -> None:
    """Replace the frames in the plans by frames of other clips, and keep the plans' times."""
    plans = [
        Planned(clip["clip_id"], clip["unit"], clip["sha256"], clip["black_start"] is not None, row["indices"])
        for row, clip in zip(rows, clips.iter_rows(named=True), strict=True)
    ]
    counts, replacements = {clip.clip_id: len(clip.indices) for clip in plans}, other_clips(plans, seed)
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
    facts: In[Path],
    ledgers: In[list[Path]],
    store: Site[Store],
    out: Out[Path],
) -> None:
    metadata = read_table(facts, FACTS)
    frame_counts = dict(zip(metadata["clip_id"], metadata["frames"], strict=True))
    plans = plan_clips(present_clips(ledgers), frame_counts, store, settings.rule)
    write_table(plans, out, FRAME_PLAN)
    log.info(f"{plans.height} plans, {plans.filter(pl.col('note') != '').height} with a note")
