"""Stage `frames`: which frames and moments of each clip a named sampling shows; all that inference reads of it."""

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


def plan_clips(clips: pl.DataFrame, frames: dict[str, int], store: Store, rule: dict[str, Any]) -> pl.DataFrame:
    check(rule)
    rows = []
    for clip in clips.iter_rows(named=True):
        path, name = clip_file(store, clip), clip["clip_id"]
        with readable(path):
            times = packet_index(path).times
        if frames.get(name) != len(times):
            raise UserError(
                f"{path}: clip {name} has {len(times)} frames, its facts say {frames.get(name)}. "
                "Delete the facts and run snakemake again."
            )
        black = None if clip["black_start"] is None else (clip["black_start"], clip["black_end"])
        rows.append({"clip_id": name, **plan(rule, len(times), times, name, black)._asdict()})
    if show_of(rule) == ANOTHER:
        _show_others(rows, clips, rule["view"]["seed"])
    return pl.DataFrame(rows, schema=FRAME_PLAN)


def _show_others(rows: list[dict[str, Any]], clips: pl.DataFrame, seed: int) -> None:
    """Put the frames of other clips into the plans, at the plans' own moments."""
    planned = [
        Planned(clip["clip_id"], clip["unit"], clip["sha256"], clip["black_start"] is not None, row["indices"])
        for row, clip in zip(rows, clips.iter_rows(named=True), strict=True)
    ]
    counts, others = {one.clip_id: len(one.indices) for one in planned}, other_clips(planned, seed)
    for row in rows:
        if other := others.get(row["clip_id"]):
            own, asked = counts[other.clip_id], len(other.indices)
            number = "" if own == asked else f", {asked} of the {own} that it has"
            notes = [row["note"], f"the frames of clip '{other.clip_id}'{number}"]
            row |= {"indices": other.indices, "shown_clip": other.clip_id, "note": "; ".join(filter(None, notes))}


def main(
    settings: FramesKey,
    facts: In[Path],
    ledgers: In[list[Path]],
    store: Site[Store],
    out: Out[Path],
) -> None:
    measured = read_table(facts, FACTS)
    frames = dict(zip(measured["clip_id"], measured["frames"], strict=True))
    plans = plan_clips(present_clips(ledgers), frames, store, settings.rule)
    write_table(plans, out, FRAME_PLAN)
    log.info(f"{plans.height} plans, {plans.filter(pl.col('note') != '').height} with a note")
