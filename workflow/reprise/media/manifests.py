"""Read the manifests of clips, and verify the clips' files in the store."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, raise_if_machine_fault
from reprise.core.schemas import CLIP_MANIFEST, read_table
from reprise.core.store import Store
from reprise.media.errors import MediaError


def read_available_clips(manifests: list[Path]) -> pl.DataFrame:
    """Return the manifest rows of the available clips of all shards, sorted by id."""
    tables = [read_table(path, CLIP_MANIFEST) for path in manifests]
    if not tables:
        return pl.DataFrame(schema=CLIP_MANIFEST)
    return pl.concat(tables).filter(pl.col("status") == "ok").sort("clip_id")


@contextmanager
def report_damage(path: Path) -> Iterator[None]:
    """Turn a `MediaError` about a clip into a `UserError` with the remedy for the damaged file."""
    try:
        yield
    except MediaError as error:
        raise_if_machine_fault(error)
        raise UserError(f"{path}: {error.status}: {error.message}. Delete it and run snakemake again.") from error


def verify_clip_file(store: Store, clip: Mapping[str, Any]) -> Path:
    """Return the file of an available clip after comparing its digest with the manifest."""
    return store.verify_object(clip["object"], clip["sha256"], f"clip {clip['clip_id']}")
