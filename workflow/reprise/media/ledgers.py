"""The ledgers of clips, read together."""

from pathlib import Path

import polars as pl

from reprise.core.schemas import CLIP_LEDGER, read_table


def present_clips(ledgers: list[Path]) -> pl.DataFrame:
    """The clips that exist, of all shards, in the order of their ids."""
    frames = [read_table(path, CLIP_LEDGER) for path in ledgers]
    if not frames:
        return pl.DataFrame(schema=CLIP_LEDGER)
    return pl.concat(frames).filter(pl.col("status") == "ok").sort("clip_id")
