"""Stage `sources`: fetch the source videos of one shard into the store, or record a named reason for each failure."""

import errno
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, path_of, stop_on_fault
from reprise.core.files import file_digest, value_digest
from reprise.core.log import log
from reprise.core.names import shard_of
from reprise.core.plain import plain
from reprise.core.schemas import CLIPS, SOURCES, read_table, write_table
from reprise.core.store import Store
from reprise.fetch.keys import SourcesKey
from reprise.fetch.local import copy_file
from reprise.fetch.outcome import TRANSIENT, Fetched, Fetcher, FetchError
from reprise.fetch.records import Record, read_record, write_record
from reprise.fetch.release_files import ReleaseFiles, with_release_files
from reprise.fetch.routes import fetcher_for
from reprise.media.decoder import count_decodable
from reprise.media.errors import MediaError
from reprise.media.opening import check_picture
from reprise.media.settings import DEFAULT_LIMITS, Limits
from reprise.stages.command import In, Out, Site

# Judged again whenever the shard is: another limit may have been set.
LIMITED = {"too_large", "too_many_pixels", "too_long"}
# A damaged download may be whole next time, a damaged local file stays damaged.
DAMAGED = {"truncated", "corrupt", "empty", "not_media", "no_frames"}
IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp"}


Wanted = tuple[str, str]  # a source, and the unit that it is of


def wanted_sources(clips: pl.DataFrame, shard: int, shards: int) -> list[Wanted]:
    """The sources of a shard's clips: a video each, or the still images of a pseudo-clip."""
    mine = clips.filter(pl.Series([shard_of(unit, shards) == shard for unit in clips["unit"]], dtype=pl.Boolean))
    names = pl.when(pl.col("kind") == "images").then("parts").otherwise(pl.concat_list("source_id"))
    pairs = mine.select(names.alias("source_id"), "unit").explode("source_id").unique()
    return sorted(pairs.filter(pl.col("source_id") != "").iter_rows())


def fetch_shard(
    wanted: Sequence[Wanted], fetcher: Fetcher, store: Store, limits: Limits = DEFAULT_LIMITS
) -> pl.DataFrame:
    """One ledger row per source; a failure of one source does not stop the others."""
    pending = [name for name, _ in wanted if _known_outcome(name, fetcher, store) is None]
    needed = fetcher.estimate(pending) if pending else 0
    if needed:
        store.root.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(store.root).free
        log.info(f"{len(pending)} sources to fetch, about {needed / 1e9:.2f} GB; {free / 1e9:.2f} GB free")
        if needed > free:
            raise UserError(
                f"store '{store.root}': about {needed / 1e9:.2f} GB wanted for {len(pending)} sources of this shard, "
                f"{free / 1e9:.2f} GB free. Make room (python -m reprise store --prune), or set `store:` to a larger "
                "disk."
            )
    rows = []
    for name, unit in wanted:
        record = fetch_source(name, fetcher, store, limits)
        if record.status != "ok":
            log.info(f"{name}: {record.status}: {record.message}")
        known = record.model_dump(include={"status", "attempts", "object", "sha256", "bytes", "message"})
        rows.append({"source_id": name, "unit": unit, "transient": record.is_transient, **known})
    return pl.DataFrame(rows, schema=SOURCES)


def fetch_source(source_id: str, fetcher: Fetcher, store: Store, limits: Limits = DEFAULT_LIMITS) -> Record:
    """The outcome for one source: the recorded one where it is final, else of another try."""
    known = _known_outcome(source_id, fetcher, store)
    if known is None:
        asked_as = fetcher.identity(source_id)
        with store.alone(value_digest(asked_as)):
            # Another job, of this clone or of another one that shares the store, may have fetched it meanwhile.
            known = _known_outcome(source_id, fetcher, store) or _try(source_id, asked_as, fetcher, store, limits)
    if known.status != "ok" or known.was_accepted_under(limits):
        return known
    try:  # judged again under stricter limits; the store keeps what they refuse, for others
        check_decodes(store.checked(known.object, known.sha256, f"source {source_id}"), limits)
    except MediaError as error:
        stop_on_fault(error, store.root)
        return _failure(known.asked_as, error.status, error.message, known.attempts, is_remote=False)
    accepted = known.model_copy(update={"limits": limits})
    write_record(store, value_digest(known.asked_as), accepted)
    return accepted


def _try(source_id: str, asked_as: Any, fetcher: Fetcher, store: Store, limits: Limits) -> Record:
    asked = value_digest(asked_as)
    earlier = read_record(store, asked)
    attempts = earlier.attempts if earlier and earlier.status != "ok" else 0
    scratch = store.scratch(asked)
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        fetched = fetcher.fetch(source_id, scratch)
        if fetched.is_borrowed:
            fetched = _copied(fetched, asked_as, scratch)
        check_decodes(fetched.path, limits)
        if fetched.subtitles is not None:
            store.keep_file(fetched.subtitles, "sources", asked, ".vtt")
        kept = store.keep_file(fetched.path, "sources", asked, fetched.path.suffix.lower() or ".mp4")
        record = Record(
            asked_as=asked_as,
            status="ok",
            attempts=attempts + 1,
            object=str(kept.relative_to(store.root)),
            sha256=store.digest(kept),
            bytes=kept.stat().st_size,
            message=plain(fetched.note),
            limits=limits,
        )
    except (FetchError, MediaError) as error:
        stop_on_fault(error, store.root)
        if error.status == "disk_full":
            stop_on_fault(OSError(errno.ENOSPC, error.message, str(store.root)))
        tried = attempts + (error.status not in {"stopped", "changed"})  # which say nothing of the source
        record = _failure(asked_as, error.status, error.message, tried, fetcher.is_remote)
    except OSError as error:
        stop_on_fault(error, store.root)
        path = path_of(error)
        if path is not None and path.is_relative_to(store.root / "sources"):
            raise  # what is wrong with the store says nothing of the source
        record = _failure(asked_as, "unreadable", error.strerror or str(error), attempts + 1, fetcher.is_remote)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    write_record(store, asked, record)
    return record


def check_decodes(path: Path, limits: Limits = DEFAULT_LIMITS) -> None:
    """Accept a file only after all its frames, or its picture, decode within the limits."""
    if path.suffix.lower() in IMAGE_SUFFIXES:
        check_picture(path, limits.pixels)
    count_decodable(path, limits)


def _known_outcome(source_id: str, fetcher: Fetcher, store: Store) -> Record | None:
    """The recorded outcome where no try is needed: in the store, gone for good, tried often enough, or not found."""
    try:
        asked_as = fetcher.identity(source_id)
    except FetchError as error:
        return _failure(source_id, error.status, error.message, 1, fetcher.is_remote)
    except OSError as error:
        stop_on_fault(error, store.root)
        return _failure(source_id, "unreadable", error.strerror or str(error), 1, fetcher.is_remote)
    known = read_record(store, value_digest(asked_as))
    if known is None or known.status in LIMITED or (known.is_transient and known.attempts < fetcher.attempts):
        return None
    return known


def _copied(fetched: Fetched, asked_as: Any, scratch: Path) -> Fetched:
    """A user's files as copies that nobody changes while they are judged: those bytes, and no later ones, are kept."""
    copy = scratch / fetched.path.name
    copy_file(fetched.path, copy)
    if ["file", file_digest(copy)] != asked_as:
        raise FetchError(
            "changed", f"{fetched.path.name}: changed while it was copied, or damaged since it was written"
        )
    if fetched.subtitles is None:
        return replace(fetched, path=copy)
    copy_file(fetched.subtitles, scratch / fetched.subtitles.name)
    return replace(fetched, path=copy, subtitles=scratch / fetched.subtitles.name)


def _failure(asked_as: Any, status: str, message: str, attempts: int, is_remote: bool) -> Record:
    return Record(
        asked_as=asked_as,
        status=status,
        attempts=attempts,
        message=plain(message),
        is_transient=status in TRANSIENT or (is_remote and status in DAMAGED),
    )


def main(
    settings: SourcesKey,
    release: In[Path],
    clips: In[Path],
    shard: int,
    store: Site[Store],
    out: Out[Path],
) -> None:
    wanted = wanted_sources(read_table(clips, CLIPS), shard, settings.shards)
    released = ReleaseFiles.listed_in(release, store)
    ledger = pl.DataFrame(schema=SOURCES)
    if wanted:
        fetcher = with_release_files(fetcher_for(settings.route, store), released)
        ledger = fetch_shard(wanted, fetcher, store, settings.limits)
    write_table(ledger, out, SOURCES)
    arrived = ledger.filter(pl.col("status") == "ok").height
    log.info(f"{arrived} of {ledger.height} sources are in the store")
