"""Stage `release`: fetch or locate a benchmark's released annotation files, and list them with their digests."""

import json
from collections.abc import Sequence
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import (
    file_digest,
    list_matching_files,
    read_record,
    value_digest,
    write_record,
    write_sealed_text,
)
from reprise.core.log import log
from reprise.core.store import Store
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.plugins import load_plugin
from reprise.fetch.settings import ReleaseFolder, ReleaseHub
from reprise.stages.command import Out, Site


def main(settings: ReleaseKey, store: Site[Store], out: Out[Path]) -> None:
    folder = locate_release(settings, store, out.parent)
    files = list_matching_files(folder, settings.files)
    if not files:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
        raise UserError(f"{folder}: no file matches {', '.join(settings.files)}. Found: {names}.")
    if settings.extras is not None:
        files |= list_matching_files(Path(settings.extras.folder), settings.files)
    digests = {name: store.compute_digest(path) for name, path in files.items()}
    planned_digests = settings.folder_files | (settings.extras.files if settings.extras else {})
    for name, digest in planned_digests.items():
        if digests.get(name, digest) != digest:  # Planning detects only a new size, time or inode.
            raise UserError(
                f"{files[name]}: its content changed since this job was planned: it was damaged on its disk or edited. "
                "Restore it, or set a new date (`touch`) to accept it. Then run the same command again."
            )
    listing = [{"name": name, "path": str(path), "sha256": digests[name]} for name, path in files.items()]
    write_sealed_text(out, json.dumps(listing, indent=1) + "\n")
    log.info(f"{len(files)} files in {folder}")


def locate_release(key: ReleaseKey, store: Store, results: Path) -> Path:
    """Return the folder of a release's files; a plugin writes them to `results`, the folder of the stage's output."""
    if isinstance(key.release, ReleaseHub):
        return _fetch_from_hub(key.benchmark, key.release, key.files, store)
    if isinstance(key.release, ReleaseFolder):
        folder = Path(key.release.path)
        if not folder.is_dir():
            raise UserError(
                f"release of {key.benchmark}: no folder '{folder}'. Set release.path in the suite's file, or "
                "construction.annotations.path if the suite constructs the benchmark."
            )
        return folder
    load_plugin(key.release.kind).write_release(key.benchmark, results, key.release)
    return results


def _fetch_from_hub(benchmark: str, release: ReleaseHub, patterns: Sequence[str], store: Store) -> Path:
    repo, revision = release.repo, release.revision
    if revision == "unpinned":
        raise UserError(
            f"release of {benchmark}: {repo} is 'unpinned'. Run `reprise pin` with network access first, "
            "or use a folder of the released files (`release: {kind: folder, path: ...}`)."
        )
    from reprise.fetch.hub import fetch_snapshot  # Only releases on the hub need its client.

    folder = store.root / "release" / value_digest([repo, revision])[:16]
    digests_path = folder.with_suffix(".json")  # digests of the files when they were fetched
    for name, digest in (read_record(digests_path) or {}).items():
        if (folder / name).is_file() and file_digest(folder / name) != digest:
            (folder / name).unlink()  # The hub's library compares only dates, and would keep a damaged file.
    fetch_snapshot(f"release of {benchmark}", "dataset", repo, revision, folder, patterns)
    write_record(
        digests_path, {name: file_digest(path) for name, path in list_matching_files(folder, patterns).items()}
    )
    return folder
