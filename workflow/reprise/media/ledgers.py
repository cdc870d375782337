"""The ledgers of clips, read together."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, stop_on_fault
from reprise.core.schemas import CLIP_LEDGER, read_table
from reprise.core.store import Store
from reprise.media.errors import MediaError


def present_clips(ledgers: list[Path]) -> pl.DataFrame:
    """The clips that exist, of all shards, in the order of their ids."""
    frames = [read_table(path, CLIP_LEDGER) for path in ledgers]
    if not frames:
        return pl.DataFrame(schema=CLIP_LEDGER)
    return pl.concat(frames).filter(pl.col("status") == "ok").sort("clip_id")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say what to do about a clip that was whole when it was made and is not any more."""
    try:
        yield
    except MediaError as error:
        stop_on_fault(error)
        raise UserError(f"{path}: {error.status}: {error.message}. Delete it and run snakemake again.") from error


def clip_file(store: Store, clip: Mapping[str, Any]) -> Path:
    """The file of a clip that exists, whose bytes are those of its ledger row."""
    return store.checked(clip["object"], clip["sha256"], f"clip {clip['clip_id']}")
