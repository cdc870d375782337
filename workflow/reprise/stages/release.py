"""Stage `release`: fetch or locate a benchmark's released annotation files, and list them with their digests."""

import json
from collections.abc import Sequence
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.files import file_digest, matching_files, read_record, value_digest, write_record, write_sealed
from reprise.core.log import log
from reprise.core.store import Store
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.plugins import load_world
from reprise.fetch.settings import ReleaseFolder, ReleaseHub
from reprise.stages.command import Out, Site


def main(settings: ReleaseKey, store: Site[Store], out: Out[Path]) -> None:
    folder = release_folder(settings, store, out.parent)
    files = matching_files(folder, settings.files)
    if not files:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
        raise UserError(f"{folder}: no file matches {', '.join(settings.files)}. Found: {names}.")
    if settings.extras is not None:
        files |= matching_files(Path(settings.extras.folder), settings.files)
    digests = {name: store.read_digest(path) for name, path in files.items()}
    for name, digest in (settings.found | (settings.extras.files if settings.extras else {})).items():
        if digests.get(name, digest) != digest:  # Planning compares only a file's size, time and inode.
            raise UserError(
                f"{files[name]}: not the file that this job was planned for, by its bytes: it was damaged on its disk, "
                "or edited meanwhile. Restore it or, if it is right as it is, give it a new date (`touch`). Then run "
                "the same command again."
            )
    listing = [{"name": name, "path": str(path), "sha256": digests[name]} for name, path in files.items()]
    write_sealed(out, json.dumps(listing, indent=1) + "\n")
    log.info(f"{len(files)} files in {folder}")


def release_folder(key: ReleaseKey, store: Store, results: Path) -> Path:
    if isinstance(key.release, ReleaseHub):
        return _hub_folder(key.benchmark, key.release, key.files, store)
    if isinstance(key.release, ReleaseFolder):
        folder = Path(key.release.path)
        if not folder.is_dir():
            raise UserError(
                f"release of {key.benchmark}: no folder '{folder}'. Set release.path in the suite's file; where the "
                "benchmark is made, construction.annotations.path."
            )
        return folder
    load_world(key.release.kind).write_release(key.benchmark, results)
    return results


def _hub_folder(benchmark: str, release: ReleaseHub, patterns: Sequence[str], store: Store) -> Path:
    repo, revision = release.repo, release.revision
    if revision == "unpinned":
        raise UserError(
            f"release of {benchmark}: {repo} is 'unpinned'. Run `python -m reprise pin` with network access first, "
            "or use a folder of the released files (`release: {kind: folder, path: ...}`)."
        )
    from reprise.fetch.hub import fetch_snapshot  # A release in a folder does not need the client of the hub.

    folder = store.root / "release" / value_digest([repo, revision])[:16]
    for name, digest in (read_record(folder.with_suffix(".json")) or {}).items():
        if (folder / name).is_file() and file_digest(folder / name) != digest:
            (folder / name).unlink()  # The hub's library compares only dates, and would keep it.
    fetch_snapshot(f"release of {benchmark}", "dataset", repo, revision, folder, patterns)
    write_record(
        folder.with_suffix(".json"),
        {name: file_digest(path) for name, path in matching_files(folder, patterns).items()},
    )
    return folder
