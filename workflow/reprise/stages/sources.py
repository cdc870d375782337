"""Stage `sources`: fetch the source videos of one shard into the store, and record why a source is missing."""

import errno
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, get_error_path, raise_if_machine_fault
from reprise.core.files import file_digest, value_digest
from reprise.core.log import log
from reprise.core.names import compute_shard
from reprise.core.plain import sanitize_line
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

# A rerun fetches sources with these statuses again, because the limits may have changed.
LIMIT_STATUSES = {"too_large", "too_many_pixels", "too_long"}
# A retry may repair a damaged download, but not a damaged local file.
DAMAGE_STATUSES = {"truncated", "corrupt", "empty", "not_media", "no_frames"}
IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp"}


ClusteredSource = tuple[str, str]  # id of a source, and its cluster


def select_shard_sources(clips: pl.DataFrame, shard: int, shard_count: int) -> list[ClusteredSource]:
    """Return the sources of a shard's clips: one video per clip, or several still images."""
    shard_clips = clips.filter(
        pl.Series([compute_shard(cluster, shard_count) == shard for cluster in clips["cluster"]], dtype=pl.Boolean)
    )
    source_ids = pl.when(pl.col("kind") == "images").then("parts").otherwise(pl.concat_list("source_id"))
    source_cluster_pairs = shard_clips.select(source_ids.alias("source_id"), "cluster").explode("source_id").unique()
    return sorted(source_cluster_pairs.filter(pl.col("source_id") != "").iter_rows())


def fetch_shard(
    sources: Sequence[ClusteredSource], fetcher: Fetcher, store: Store, limits: Limits = DEFAULT_LIMITS
) -> pl.DataFrame:
    """Return one manifest row per source; a failure of one source does not stop the others."""
    pending_ids = [source_id for source_id, _ in sources if _find_final_record(source_id, fetcher, store) is None]
    estimated_bytes = fetcher.estimate_bytes(pending_ids) if pending_ids else 0
    if estimated_bytes:
        store.root.mkdir(parents=True, exist_ok=True)
        free_bytes = shutil.disk_usage(store.root).free
        log.info(
            f"{len(pending_ids)} sources to fetch, about {estimated_bytes / 1e9:.2f} GB; {free_bytes / 1e9:.2f} GB free"
        )
        if estimated_bytes > free_bytes:
            raise UserError(
                f"store '{store.root}': about {estimated_bytes / 1e9:.2f} GB needed for {len(pending_ids)} sources of "
                f"this shard, {free_bytes / 1e9:.2f} GB free. Free space (reprise store --prune), or set "
                "`store:` to a larger disk."
            )
    rows = []
    for source_id, cluster in sources:
        record = fetch_source(source_id, fetcher, store, limits)
        if record.status != "ok":
            log.info(f"{source_id}: {record.status}: {record.message}")
        outcome = record.model_dump(include={"status", "attempts", "object", "sha256", "bytes", "message"})
        rows.append({"source_id": source_id, "cluster": cluster, "transient": record.is_transient, **outcome})
    return pl.DataFrame(rows, schema=SOURCES)


def fetch_source(source_id: str, fetcher: Fetcher, store: Store, limits: Limits = DEFAULT_LIMITS) -> FetchRecord:
    """Return the final record of a source, or the record of a new attempt if there is none.

    A source that is in the store is decoded again if the limits are stricter than when it was added.
    """
    record = _find_final_record(source_id, fetcher, store)
    if record is None:
        identity = fetcher.identity(source_id)
        with store.lock_exclusively(value_digest(identity)):
            # Another job that shares the store may have fetched the source meanwhile.
            record = _find_final_record(source_id, fetcher, store) or _attempt_fetch(
                source_id, identity, fetcher, store, limits
            )
    if record.status != "ok" or record.is_within(limits):
        return record
    try:  # If the file exceeds the limits now, the store keeps it for runs with other limits.
        check_decodes(store.verify_object(record.object, record.sha256, f"source {source_id}"), limits)
    except MediaError as error:
        raise_if_machine_fault(error, store.root)
        return _failure_record(record.identity, error.status, error.message, record.attempts, is_remote=False)
    accepted = record.model_copy(update={"limits": limits})
    write_record(store, value_digest(record.identity), accepted)
    return accepted


def _attempt_fetch(source_id: str, identity: Any, fetcher: Fetcher, store: Store, limits: Limits) -> FetchRecord:
    """Fetch a source into the store, and write and return the record of the attempt.

    Its `identity` says what is fetched, such as the digest of a file or the address of a video.
    """
    identity_digest = value_digest(identity)
    previous_record = read_record(store, identity_digest)
    previous_attempts = previous_record.attempts if previous_record and previous_record.status != "ok" else 0
    scratch = store.scratch_path(identity_digest)
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        fetched = fetcher.fetch(source_id, scratch)
        if fetched.is_external:
            fetched = _copy_to_scratch(fetched, identity, scratch)
        check_decodes(fetched.path, limits)
        if fetched.subtitles is not None:
            store.add_file(fetched.subtitles, "sources", identity_digest, ".vtt")
        path_in_store = store.add_file(fetched.path, "sources", identity_digest, fetched.path.suffix.lower() or ".mp4")
        record = FetchRecord(
            identity=identity,
            status="ok",
            attempts=previous_attempts + 1,
            object=str(path_in_store.relative_to(store.root)),
            sha256=store.digest(path_in_store),
            bytes=path_in_store.stat().st_size,
            message=sanitize_line(fetched.note),
            limits=limits,
        )
    except (FetchError, MediaError) as error:
        raise_if_machine_fault(error, store.root)
        if error.status == "disk_full":
            raise_if_machine_fault(OSError(errno.ENOSPC, error.message, str(store.root)))
        # A stopped job and a changed file are not failures of the source, so they are no attempts.
        attempts = previous_attempts + (error.status not in {"stopped", "changed"})
        record = _failure_record(identity, error.status, error.message, attempts, fetcher.is_remote)
    except OSError as error:
        raise_if_machine_fault(error, store.root)
        path = get_error_path(error)
        if path is not None and path.is_relative_to(store.root / "sources"):
            raise  # The store is at fault, not the source.
        record = _failure_record(
            identity, "unreadable", error.strerror or str(error), previous_attempts + 1, fetcher.is_remote
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    write_record(store, identity_digest, record)
    return record


def check_decodes(path: Path, limits: Limits = DEFAULT_LIMITS) -> None:
    """Raise an error unless all frames of a file, or its picture, decode within the limits."""
    if path.suffix.lower() in IMAGE_SUFFIXES:
        check_picture(path, limits.pixels)
    count_decodable(path, limits)


def _find_final_record(source_id: str, fetcher: Fetcher, store: Store) -> FetchRecord | None:
    """Return the record of a source that needs no further attempt; None if an attempt is needed.

    A record is final if the source is in the store, permanently unavailable, tried often enough, or not found.
    """
    try:
        identity = fetcher.identity(source_id)
    except FetchError as error:
        return _failure_record(source_id, error.status, error.message, 1, fetcher.is_remote)
    except OSError as error:
        raise_if_machine_fault(error, store.root)
        return _failure_record(source_id, "unreadable", error.strerror or str(error), 1, fetcher.is_remote)
    record = read_record(store, value_digest(identity))
    if (
        record is None
        or record.status in LIMIT_STATUSES
        or (record.is_transient and record.attempts < fetcher.attempts)
    ):
        return None
    return record


def _copy_to_scratch(fetched: FetchedFile, identity: Any, scratch: Path) -> FetchedFile:
    """Copy a user's files to the scratch folder: an edit during the checks must not affect the stored bytes."""
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


def _failure_record(identity: Any, status: str, message: str, attempts: int, is_remote: bool) -> FetchRecord:
    """Return the record of a failed attempt; a damaged file from a remote server may be whole at the next attempt."""
    return FetchRecord(
        identity=identity,
        status=status,
        attempts=attempts,
        message=sanitize_line(message),
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
    available_count = manifest.filter(pl.col("status") == "ok").height
    log.info(f"{available_count} of {manifest.height} sources are in the store")
