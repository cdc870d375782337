"""Stage `release`: a benchmark's released annotation files, fetched or found, listed with their digests."""

import json
from collections.abc import Sequence
from pathlib import Path

from reprise.core.checksums import seal_text
from reprise.core.errors import UserError, run_command
from reprise.core.files import matching_files, value_digest, write_text
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.store import Store
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.plugins import load_world
from reprise.fetch.settings import ReleaseFolder, ReleaseHub
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments("Fetch or find a release's annotation files.", key=Path, store=Path, out=Path)
    key, store = read_key(args.key, ReleaseKey), Store(args.store)
    folder = release_folder(key, store, args.out.parent)
    files = matching_files(folder, key.files)
    if not files:
        found = ", ".join(sorted(path.name for path in folder.iterdir())[:12]) or "nothing"
        raise UserError(f"{folder}: no file matches {', '.join(key.files)}. Found: {found}.")
    if key.extras is not None:
        files |= matching_files(Path(key.extras.folder), key.files)
    listing = [{"name": name, "path": str(path), "sha256": store.digest(path)} for name, path in files.items()]
    write_text(args.out, json.dumps(listing, indent=1) + "\n")
    seal_text(args.out)
    log.info(f"{len(files)} files in {folder}")


def release_folder(key: ReleaseKey, store: Store, results: Path) -> Path:
    """The folder that holds the files of a release."""
    if isinstance(key.release, ReleaseHub):
        return _hub_folder(key.benchmark, key.release, key.files, store)
    if isinstance(key.release, ReleaseFolder):
        folder = Path(key.release.path)
        if not folder.is_dir():
            raise UserError(f"release of {key.benchmark}: no folder '{folder}'. Set release.path in the suite's file.")
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
    from reprise.fetch.snapshot import fetch_snapshot  # slow to import, and of no use to other releases

    folder = store.root / "release" / value_digest([repo, revision])[:16]
    fetch_snapshot(f"release of {benchmark}", "dataset", repo, revision, folder, patterns)
    return folder


if __name__ == "__main__":
    run_command(main)
