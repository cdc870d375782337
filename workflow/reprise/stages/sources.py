"""Stage `sources`: fetch the source videos of one shard into the store, or record a named reason for each failure."""

import errno
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, get_error_path, stop_on_fault
from reprise.core.files import file_digest, value_digest
from reprise.core.log import log
from reprise.core.names import compute_shard
from reprise.core.plain import plain
from reprise.core.schemas import CLIPS, SOURCES, read_table, write_table
from reprise.core.store import Store
from reprise.fetch.keys import SourcesKey
from reprise.fetch.local import copy_file
from reprise.fetch.outcome import TRANSIENT, FetchedFile, Fetcher, FetchError
from reprise.fetch.records import FetchRecord, read_record, write_record
from reprise.fetch.release_files import ReleaseFiles, add_release_files
from reprise.fetch.routes import create_fetcher
from reprise.media.decoder import count_decodable
from reprise.media.errors import MediaError
from reprise.media.opening import check_picture
from reprise.media.settings import DEFAULT_LIMITS, Limits
from reprise.stages.command import In, Out, Site

# Each run of the shard checks these sources again, because the limits may have changed.
LIMIT_STATUSES = {"too_large", "too_many_pixels", "too_long"}
# A retry may repair a damaged download, but not a damaged local file.
DAMAGE_STATUSES = {"truncated", "corrupt", "empty", "not_media", "no_frames"}
IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp"}


ClusteredSource = tuple[str, str]  # id of a source and its cluster


def select_shard_sources(clips: pl.DataFrame, shard: int, shards: int) -> list[ClusteredSource]:
    """Return the sources of a shard's clips: one video each, or the still images of a pseudo-clip."""
    shard_clips = clips.filter(
        pl.Series([compute_shard(cluster, shards) == shard for cluster in clips["cluster"]], dtype=pl.Boolean)
    )
    names = pl.when(pl.col("kind") == "images").then("parts").otherwise(pl.concat_list("source_id"))
    pairs = shard_clips.select(names.alias("source_id"), "cluster").explode("source_id").unique()
    return sorted(pairs.filter(pl.col("source_id") != "").iter_rows())


def fetch_shard(
    sources: Sequence[ClusteredSource], fetcher: Fetcher, store: Store, limits: Limits = DEFAULT_LIMITS
) -> pl.DataFrame:
    """Return one manifest row per source; a failure of one source does not stop the others."""
    pending = [name for name, _ in sources if _final_outcome(name, fetcher, store) is None]
    size = fetcher.estimate(pending) if pending else 0
    if size:
        store.root.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(store.root).free
        log.info(f"{len(pending)} sources to fetch, about {size / 1e9:.2f} GB; {free / 1e9:.2f} GB free")
        if size > free:
            raise UserError(
                f"store '{store.root}': about {size / 1e9:.2f} GB needed for {len(pending)} sources of this shard, "
                f"{free / 1e9:.2f} GB free. Free space (python -m reprise store --prune), or set `store:` to a larger "
                "disk."
            )
    rows = []
    for name, cluster in sources:
        record = fetch_source(name, fetcher, store, limits)
        if record.status != "ok":
            log.info(f"{name}: {record.status}: {record.message}")
        outcome = record.model_dump(include={"status", "attempts", "object", "sha256", "bytes", "message"})
        rows.append({"source_id": name, "cluster": cluster, "transient": record.is_transient, **outcome})
    return pl.DataFrame(rows, schema=SOURCES)


def fetch_source(source_id: str, fetcher: Fetcher, store: Store, limits: Limits = DEFAULT_LIMITS) -> FetchRecord:
    """Return the recorded outcome of a source if it is final, else the outcome of another attempt."""
    record = _final_outcome(source_id, fetcher, store)
    if record is None:
        identity = fetcher.identity(source_id)
        with store.lock_exclusively(value_digest(identity)):
            # Another job that shares the store may have fetched it meanwhile.
            record = _final_outcome(source_id, fetcher, store) or _try(source_id, identity, fetcher, store, limits)
    if record.status != "ok" or record.is_within(limits):
        return record
    try:  # Limits may be stricter than before; the store keeps a rejected file for other runs.
        check_decodes(store.verify_object(record.object, record.sha256, f"source {source_id}"), limits)
    except MediaError as error:
        stop_on_fault(error, store.root)
        return _failure(record.identity, error.status, error.message, record.attempts, is_remote=False)
    accepted = record.model_copy(update={"limits": limits})
    write_record(store, value_digest(record.identity), accepted)
    return accepted


def _try(source_id: str, identity: Any, fetcher: Fetcher, store: Store, limits: Limits) -> FetchRecord:
    identity_digest = value_digest(identity)
    earlier_record = read_record(store, identity_digest)
    attempts = earlier_record.attempts if earlier_record and earlier_record.status != "ok" else 0
    scratch = store.scratch(identity_digest)
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        fetched = fetcher.fetch(source_id, scratch)
        if fetched.is_external:
            fetched = _copy_to_scratch(fetched, identity, scratch)
        check_decodes(fetched.path, limits)
        if fetched.subtitles is not None:
            store.keep_file(fetched.subtitles, "sources", identity_digest, ".vtt")
        path_in_store = store.keep_file(fetched.path, "sources", identity_digest, fetched.path.suffix.lower() or ".mp4")
        record = FetchRecord(
            identity=identity,
            status="ok",
            attempts=attempts + 1,
            object=str(path_in_store.relative_to(store.root)),
            sha256=store.digest(path_in_store),
            bytes=path_in_store.stat().st_size,
            message=plain(fetched.note),
            limits=limits,
        )
    except (FetchError, MediaError) as error:
        stop_on_fault(error, store.root)
        if error.status == "disk_full":
            stop_on_fault(OSError(errno.ENOSPC, error.message, str(store.root)))
        # These two statuses say nothing about the source.
        attempts_made = attempts + (error.status not in {"stopped", "changed"})
        record = _failure(identity, error.status, error.message, attempts_made, fetcher.is_remote)
    except OSError as error:
        stop_on_fault(error, store.root)
        path = get_error_path(error)
        if path is not None and path.is_relative_to(store.root / "sources"):
            raise  # An error of the store says nothing about the source.
        record = _failure(identity, "unreadable", error.strerror or str(error), attempts + 1, fetcher.is_remote)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    write_record(store, identity_digest, record)
    return record


def check_decodes(path: Path, limits: Limits = DEFAULT_LIMITS) -> None:
    """Raise an error unless all frames of a file, or its picture, decode within the limits."""
    if path.suffix.lower() in IMAGE_SUFFIXES:
        check_picture(path, limits.pixels)
    count_decodable(path, limits)


def _final_outcome(source_id: str, fetcher: Fetcher, store: Store) -> FetchRecord | None:
    """Return the recorded outcome if no attempt is needed; None if one is.

    No attempt is needed for a source that is in the store, permanently gone, tried often enough, or not found.
    """
    try:
        identity = fetcher.identity(source_id)
    except FetchError as error:
        return _failure(source_id, error.status, error.message, 1, fetcher.is_remote)
    except OSError as error:
        stop_on_fault(error, store.root)
        return _failure(source_id, "unreadable", error.strerror or str(error), 1, fetcher.is_remote)
    record = read_record(store, value_digest(identity))
    if (
        record is None
        or record.status in LIMIT_STATUSES
        or (record.is_transient and record.attempts < fetcher.attempts)
    ):
        return None
    return record


def _copy_to_scratch(fetched: FetchedFile, identity: Any, scratch: Path) -> FetchedFile:
    """Return copies of a user's files, so that an edit during the check has no effect on the stored bytes."""
    copy = scratch / fetched.path.name
    copy_file(fetched.path, copy)
    if ["file", file_digest(copy)] != identity:
        raise FetchError(
            "changed", f"{fetched.path.name}: changed while it was copied, or damaged since it was written"
        )
    if fetched.subtitles is None:
        return replace(fetched, path=copy)
    copy_file(fetched.subtitles, scratch / fetched.subtitles.name)
    return replace(fetched, path=copy, subtitles=scratch / fetched.subtitles.name)


def _failure(identity: Any, status: str, message: str, attempts: int, is_remote: bool) -> FetchRecord:
    return FetchRecord(
        identity=identity,
        status=status,
        attempts=attempts,
        message=plain(message),
        is_transient=status in TRANSIENT or (is_remote and status in DAMAGE_STATUSES),
    )


def main(
    settings: SourcesKey,
    release: In[Path],
    clips: In[Path],
    shard: int,
    store: Site[Store],
    out: Out[Path],
) -> None:
    shard_sources = select_shard_sources(read_table(clips, CLIPS), shard, settings.shards)
    release_files = ReleaseFiles.from_release(release, store)
    manifest = pl.DataFrame(schema=SOURCES)
    if shard_sources:
        fetcher = add_release_files(create_fetcher(settings.route, store), release_files)
        manifest = fetch_shard(shard_sources, fetcher, store, settings.limits)
    write_table(manifest, out, SOURCES)
    fetched = manifest.filter(pl.col("status") == "ok").height
    log.info(f"{fetched} of {manifest.height} sources are in the store")
