"""Before jobs are planned: results that are out of date, or of no use, although no clock shows it."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl

from reprise.core.errors import UserError
from reprise.core.files import canonical_json, file_digest, half_written, keys_of, value_digest, write_if_changed
from reprise.core.log import log
from reprise.core.paths import FIGURES, RESULTS, STAMP, TABLES, TIME, Ledger
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.fetch.outcome import FetchError
from reprise.fetch.routes import fetcher_for
from reprise.fetch.settings import Folder
from reprise.models.local.weights import fetched_files, snapshot_folder
from reprise.plan.runs import Plan

UNCHECKED, DAMAGED, LOST = "Without a checksum", "Damaged", "Naming files of the store that are gone or changed"
UNUSABLE = {UNCHECKED, DAMAGED, LOST}
# The folders of a suite's results that hold tables; a table elsewhere is a user's.
STAGES = {
    *("release", "annotations", "statistics", "requests", "sources", "clips", "facts", "frames", "construction"),
    *("answers", "responses", "pieces", "judge_requests", "judge_responses", "people", "verdicts", "metrics"),
}
LEDGERS: dict[Ledger, pl.Schema] = {"sources": SOURCES, "clips": CLIP_LEDGER}


def note_outdated(plan: Plan) -> None:
    """Have Snakemake see what is out of date although no clock shows it; a line a reason says what it was."""
    from psutil import pid_exists

    for path, writer in half_written(plan.results.root):  # no job works here now, but another dry run may write
        if not pid_exists(writer):
            path.unlink(missing_ok=True)
    latest = time.time() + 2.0  # clocks of a file server and of this machine may differ that much
    for path in (STAMP, *plan.results.folder.joinpath("keys").rglob("*.json")):
        if path.is_file() and path.stat().st_mtime > latest:
            os.utime(path)  # what is made from it must be newer
    found: dict[str, list[Path]] = defaultdict(list)
    for path, reason in (*_outdated_results(plan, latest), *_outdated_ledgers(plan), *_outdated_weights(plan)):
        found[reason].append(path)
        if reason in UNUSABLE:
            path.unlink(missing_ok=True)
        else:
            # Before any input. Where an input has the content that the result was made of, Snakemake makes nothing.
            os.utime(path, (1.0, 1.0))
    for reason, paths in found.items():
        others = f" and {len(paths) - 1} more" if paths[1:] else ""
        log.warning(f"{reason}: {paths[0]}{others}; made again where that is needed.")
    _note_replaced_videos(plan)


# Results by their keys


def _outdated_results(plan: Plan, latest: float) -> Iterator[tuple[Path, str]]:
    """Results without a checksum, dated in the future, or made under another content of a key file that is not newer.

    Where a key file is newer Snakemake makes the result again if a target needs it, and `adopt` may carry it over.
    """
    known: dict[str, tuple[str, float]] = {}  # key file -> its digest now, and when it was written
    beside = filter(Path.is_file, RESULTS.glob("*"))
    for path in (*_files(plan.results.folder), *_files(TABLES), *_files(FIGURES), *_files(TIME), *beside):
        modified = path.stat().st_mtime
        made_under = keys_of(path) if path.suffix == ".parquet" else {}
        for name in (made_under or {}).keys() - known.keys():
            key = Path(name)
            known[name] = (file_digest(key), key.stat().st_mtime) if key.is_file() else ("", 0.0)
        if made_under is None:
            if STAGES.intersection(path.relative_to(RESULTS).parts[1:2]):
                yield path, UNCHECKED
        elif modified > latest:
            yield path, "Dated in the future"
        elif any(
            known[name][0] and not known[name][0].startswith(digest) and known[name][1] <= modified
            for name, digest in made_under.items()
        ):
            yield path, "Made under another key"


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        # Not results: a key file is written by its content, a log is only read by people.
        folders[:] = [name for name in folders if name not in ("keys", "logs")]
        yield from (path for name in names if (path := Path(where, name)).is_file())  # not an editor's dangling link


# Ledgers by what they name


def _outdated_ledgers(plan: Plan) -> Iterator[tuple[Path, str]]:
    for stage, schema in LEDGERS.items():
        for _, _, path in plan.results.found_ledgers(stage):
            try:
                rows = read_table(path, schema).filter(status="ok").select("object", "bytes").iter_rows()
                kept = ((plan.store.root / name, size) for name, size in rows)
                if not all(file.is_file() and file.stat().st_size == size for file, size in kept):
                    yield path, LOST
            except UserError:
                yield path, DAMAGED


def _outdated_weights(plan: Plan) -> Iterator[tuple[Path, str]]:
    for slug, model in plan.config.models.items():
        note = plan.results.weights(slug)
        if model.repo is not None and note.is_file():
            folder = snapshot_folder(model.repo, model.revision or "", plan.store)
            weights = [*fetched_files(folder)] or [*folder.glob("*.safetensors")]  # an earlier version recorded none
            if not weights or not all(path.is_file() for path in weights):
                yield note, LOST


def _note_replaced_videos(plan: Plan) -> None:
    """Have the shards fetched again whose videos were replaced in a folder of the user's.

    Such a shard's retry file, which is one of its inputs, changes. A video that was taken away stays in the store.
    """
    for benchmark, shard, path in plan.results.found_ledgers("sources"):
        entry = plan.config.suite.benchmarks.get(benchmark)
        if entry is None or not isinstance(entry.route, Folder) or not Path(entry.route.path).is_dir():
            continue
        fetcher = fetcher_for(entry.route, plan.store)
        rows = read_table(path, SOURCES).filter(status="ok").select("source_id", "object").iter_rows()
        known = {name: Path(found).stem for name, found in rows}
        now = dict(known)
        for name in known:
            with suppress(FetchError, OSError):  # nothing is there
                now[name] = value_digest(fetcher.identity(name))
        if now != known:
            write_if_changed(plan.results.retry_key(benchmark, shard), canonical_json({"replaced": now}) + "\n")
