"""Manifests of clips: the clips of all shards, and their files in the store."""

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
    """Return the available clips of all shards, sorted by id."""
    tables = [read_table(path, CLIP_LEDGER) for path in ledgers]
    if not tables:
        return pl.DataFrame(schema=CLIP_LEDGER)
    return pl.concat(tables).filter(pl.col("status") == "ok").sort("clip_id")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn a `MediaError` about a clip into a `UserError` that says what to do about the damaged file."""
    try:
        yield
    except MediaError as error:
        stop_on_fault(error)
        raise UserError(f"{path}: {error.status}: {error.message}. Delete it and run snakemake again.") from error


def clip_file(store: Store, clip: Mapping[str, Any]) -> Path:
    """Return the file of an available clip after checking it against the digest in the manifest."""
    return store.checked(clip["object"], clip["sha256"], f"clip {clip['clip_id']}")
