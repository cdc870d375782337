"""The ledgers of clips, read together."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.schemas import CLIP_LEDGER, read_table
from reprise.core.store import Store


def present_clips(ledgers: list[Path]) -> pl.DataFrame:
    """The clips that exist, of all shards, in the order of their ids."""
    frames = [read_table(path, CLIP_LEDGER) for path in ledgers]
    if not frames:
        return pl.DataFrame(schema=CLIP_LEDGER)
    return pl.concat(frames).filter(pl.col("status") == "ok").sort("clip_id")


def clip_file(store: Store, clip: Mapping[str, Any]) -> Path:
    """The file of a clip that exists, whose bytes are those of its ledger row."""
    return store.checked(clip["object"], clip["sha256"], f"clip {clip['clip_id']}")
