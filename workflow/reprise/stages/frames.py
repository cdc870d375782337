"""Stage `frames`: which frames and moments of each clip a named sampling shows; all that inference reads of it."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, run_command, stop_on_fault
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import FACTS, FRAME_PLAN, read_table, write_table
from reprise.core.store import Store
from reprise.media.errors import MediaError
from reprise.media.keys import FramesKey
from reprise.media.ledgers import clip_file, present_clips
from reprise.media.probe import packet_index
from reprise.media.sampling import Span, check, plan
from reprise.stages.arguments import arguments


def plan_clips(clips: pl.DataFrame, frames: dict[str, int], store: Store, rule: dict[str, Any]) -> pl.DataFrame:
    """One plan per clip, in the order of their ids."""
    check(rule)
    rows = []
    for clip in clips.iter_rows(named=True):
        times = _times(clip, frames, store)
        found = plan(rule, len(times), times, clip["clip_id"], _black(clip))
        rows.append(
            {
                "clip_id": clip["clip_id"],
                "indices": found.indices,
                "times_s": found.times_s,
                "note": found.note,
                "grid": found.grid,
            }
        )
    return pl.DataFrame(rows, schema=FRAME_PLAN)


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


def main() -> None:
    args = arguments(__doc__, key=Path, facts=Path, ledgers=[Path], store=Path, out=Path)
    facts = read_table(args.facts, FACTS)
    frames = dict(zip(facts["clip_id"], facts["frames"], strict=True))
    plans = plan_clips(present_clips(args.ledgers), frames, Store(args.store), read_key(args.key, FramesKey).rule)
    write_table(plans, args.out, FRAME_PLAN, args.made_under)
    log.info(f"{plans.height} plans, {plans.filter(pl.col('note') != '').height} with a note")


if __name__ == "__main__":
    run_command(main)
