"""Before jobs are planned: results that are out of date although no clock shows it are removed, to be made again."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from reprise.core.checksums import keys_of
from reprise.core.errors import UserError
from reprise.core.files import file_digest, value_digest
from reprise.core.log import log
from reprise.core.paths import TABLES, Ledger
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.fetch.outcome import Fetcher, FetchError
from reprise.fetch.routes import fetcher_for
from reprise.fetch.settings import Folder
from reprise.plan.runs import Plan

# Clocks of a file server and of this machine may differ that much.
CLOCKS_DIFFER_S = 2.0
# Not results: a key file is written by its content, a log is only read by people.
NO_RESULTS = {"keys", "logs"}
LEDGERS: dict[Ledger, pl.Schema] = {"sources": SOURCES, "clips": CLIP_LEDGER}


def remove_outdated(plan: Plan) -> None:
    """Remove what a clock would take for up to date; one line a reason says what it was."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path, reason in (*_outdated_results(plan), *_outdated_ledgers(plan)):
        found[reason].append(path)
        path.unlink(missing_ok=True)
    for reason, paths in found.items():
        log.warning(f"{reason}: {paths[0]}{f' and {len(paths) - 1} more' if paths[1:] else ''}; made again when needed.")


# Results by their keys


def _outdated_results(plan: Plan) -> Iterator[tuple[Path, str]]:
    latest = time.time() + CLOCKS_DIFFER_S
    keys = _Keys()
    for path in (*_files(plan.results.folder), *_files(TABLES)):
        modified = path.stat().st_mtime
        if modified > latest:
            yield path, "dated in the future"
        elif path.suffix == ".parquet":
            made_under = keys_of(path)
            if made_under is None:
                yield path, "written without a checksum, or damaged"
            elif any(keys.differs(name, digest, modified) for name, digest in made_under.items()):
                yield path, "made under another key"


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in NO_RESULTS]
        yield from (Path(where, name) for name in names)


class _Keys:
    """The key files as they are now, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, float]] = {}

    def differs(self, name: str, digest: str, modified: float) -> bool:
        """Whether a result was made under another content of a key file that is not newer than the result.

        Where it is newer Snakemake makes the result again if a target needs it, and `adopt` may carry it over.
        """
        if name not in self._known:
            path = Path(name)
            self._known[name] = (file_digest(path), path.stat().st_mtime) if path.is_file() else ("", 0.0)
        now, written = self._known[name]
        return bool(now) and not now.startswith(digest) and written <= modified


# Ledgers by what they name


def _outdated_ledgers(plan: Plan) -> Iterator[tuple[Path, str]]:
    for stage, schema in LEDGERS.items():
        for benchmark, _, path in plan.results.found_ledgers(stage):
            try:
                rows = read_table(path, schema).filter(pl.col("status") == "ok")
            except UserError:
                yield path, "damaged"
                continue
            if any(_size(plan.store.root / name) != size for name, size in rows.select("object", "bytes").iter_rows()):
                yield path, "names files of the store that are gone or changed"
            elif stage == "sources" and _is_replaced(plan, benchmark, rows):
                yield path, "names videos that were replaced in their folder"


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _is_replaced(plan: Plan, benchmark: str, sources: pl.DataFrame) -> bool:
    """Whether a video in a folder of the user's is another one now; one that is no longer there stays in the store."""
    entry = plan.config.suite.benchmarks.get(benchmark)
    if entry is None or not isinstance(entry.route, Folder) or not Path(entry.route.path).is_dir():
        return False
    fetcher = fetcher_for(entry.route, plan.store)
    found = sources.select("source_id", "object").iter_rows()
    return any(_asked(fetcher, source_id) not in ("", Path(name).stem) for source_id, name in found)


def _asked(fetcher: Fetcher, source_id: str) -> str:
    """The digest of what is at a source's place; empty if nothing is."""
    try:
        return value_digest(fetcher.identity(source_id))
    except (FetchError, OSError):
        return ""
