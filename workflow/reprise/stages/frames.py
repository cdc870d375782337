"""Stage `frames`: which frames and moments of each clip a named sampling shows; all that inference reads of it."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, stop_on_fault
from reprise.core.log import log
from reprise.core.schemas import FACTS, FRAME_PLAN, read_table, write_table
from reprise.core.store import Store
from reprise.media.errors import MediaError
from reprise.media.keys import FramesKey
from reprise.media.ledgers import clip_file, present_clips
from reprise.media.probe import packet_index
from reprise.media.sampling import check, plan, show_of
from reprise.media.views import ANOTHER, Planned, Span, other_clips
from reprise.stages.command import In, MadeUnder, Out, Site


def plan_clips(clips: pl.DataFrame, frames: dict[str, int], store: Store, rule: dict[str, Any]) -> pl.DataFrame:
    """One plan per clip, in the order of their ids."""
    check(rule)
    rows = []
    for clip in clips.iter_rows(named=True):
        times = _times(clip, frames, store)
        found = plan(rule, len(times), times, clip["clip_id"], _black(clip))
        rows.append({"clip_id": clip["clip_id"], **found._asdict()})
    if show_of(rule) == ANOTHER:
        rows = _of_others(rows, clips, rule["view"]["seed"])
    return pl.DataFrame(rows, schema=FRAME_PLAN)


def _of_others(rows: list[dict[str, Any]], clips: pl.DataFrame, seed: int) -> list[dict[str, Any]]:
    """The plans with the frames of other clips, at their own moments."""
    planned = [
        Planned(clip["clip_id"], clip["unit"], clip["sha256"], clip["black_start"] is not None, row["indices"])
        for row, clip in zip(rows, clips.iter_rows(named=True), strict=True)
    ]
    counts, others = {one.clip_id: len(one.indices) for one in planned}, other_clips(planned, seed)
    return [
        row
        if (other := others.get(row["clip_id"])) is None
        else row
        | {
            "indices": other.indices,
            "shown_clip": other.clip_id,
            "note": "; ".join(filter(None, [row["note"], _of_other(other, counts)])),
        }
        for row in rows
    ]


def _of_other(other: Planned, counts: dict[str, int]) -> str:
    own, asked = counts[other.clip_id], len(other.indices)
    number = "" if own == asked else f", {asked} of the {own} that it has"
    return f"the frames of clip '{other.clip_id}'{number}"


# Clips may share a file; files are read in the order of the clips, so a few remembered ones are enough.
@lru_cache(maxsize=32)
def _frame_times(path: Path) -> tuple[float, ...]:
    return packet_index(path).times


def _times(clip: dict[str, Any], frames: dict[str, int], store: Store) -> tuple[float, ...]:
    """Frame times of a clip, which must still have the frames that its facts count."""
    path = clip_file(store, clip)
    try:
        times = _frame_times(path)
    except MediaError as error:
        stop_on_fault(error)
        raise UserError(f"{path}: {error.status}: {error.message}. Delete it and run snakemake again.") from error
    if frames.get(clip["clip_id"]) != len(times):
        raise UserError(
            f"{path}: clip {clip['clip_id']} has {len(times)} frames, its facts say {frames.get(clip['clip_id'])}. "
            "Delete the facts and run snakemake again."
        )
    return times


def _black(clip: dict[str, Any]) -> Span | None:
    if clip["black_start"] is None:
        return None
    return clip["black_start"], clip["black_end"]


def main(
    key: In[FramesKey],
    facts: In[Path],
    ledgers: In[list[Path]],
    store: Site[Store],
    out: Out[Path],
    made_under: MadeUnder,
) -> None:
    measured = read_table(facts, FACTS)
    frames = dict(zip(measured["clip_id"], measured["frames"], strict=True))
    plans = plan_clips(present_clips(ledgers), frames, store, key.rule)
    write_table(plans, out, FRAME_PLAN, made_under)
    log.info(f"{plans.height} plans, {plans.filter(pl.col('note') != '').height} with a note")
