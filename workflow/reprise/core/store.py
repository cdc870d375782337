"""The store: content-addressed, append-only, and kept when a job fails or `results/` is deleted."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from reprise.core.faults import named
from reprise.core.files import canonical_json, file_digest, value_digest

KINDS = ("release", "sources", "clips", "facts", "weights", "journal", "failures", "embeddings")


class Store:
    """A folder of objects addressed by kind and digest, and a log of known file digests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._digests: dict[tuple[object, ...], str] | None = None

    def path(self, kind: str, digest: str, suffix: str) -> Path:
        """The path of an object with this digest, whether or not it exists."""
        return self.root / kind / digest[:2] / f"{digest}{suffix}"

    def keep_file(self, temporary: Path, kind: str, digest: str, suffix: str) -> Path:
        """Move a finished file to its path by rename; an object that exists already stays as it is."""
        target = self.path(kind, digest, suffix)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            temporary.unlink()
        else:
            temporary.replace(target)
        return target

    def scratch(self, name: str) -> Path:
        """A path for work in progress on the store's own file system, so that `keep_file` can rename it."""
        folder = self.root / "tmp"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{os.getpid()}.{name}"

    def digest(self, path: Path) -> str:
        """sha256 of a file, remembered by path, size, mtime and inode: a large checkpoint is hashed once."""
        status = path.stat()
        mark = (str(path.resolve()), status.st_size, status.st_mtime_ns, status.st_ino)
        known = self._known_digests()
        if mark not in known:
            known[mark] = file_digest(path)
            append_line(self.root / "digests.jsonl", canonical_json([*mark, known[mark]]))
        return known[mark]

    def folder_digest(self, folder: Path) -> str:
        """Digest of a folder's files by relative name and content."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return value_digest({str(path.relative_to(folder)): self.digest(path) for path in files})

    def _known_digests(self) -> dict[tuple[object, ...], str]:
        if self._digests is None:
            self._digests = {tuple(row[:4]): str(row[4]) for row in read_lines(self.root / "digests.jsonl")}
        return self._digests

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Files and bytes of each kind."""
        return {
            kind: (len(files), sum(path.stat().st_size for path in files))
            for kind in KINDS
            if (files := [path for path in (self.root / kind).rglob("*") if path.is_file()])
        }

    def prune(self, keep: Iterable[str]) -> int:
        """Delete videos and clips that no ledger names, and left-over work in progress; returns the bytes freed.

        Subtitles stay with their video, and the records of what was asked for stay (`.json`).
        """
        kept = {str(Path(name).with_suffix("")) for name in keep}
        freed = 0
        for path in [path for kind in ("sources", "clips") for path in (self.root / kind).rglob("*")]:
            name = str(path.relative_to(self.root).with_suffix(""))
            if (path.is_file() or path.is_symlink()) and path.suffix != ".json" and name not in kept:
                freed += path.lstat().st_size
                path.unlink()
        shutil.rmtree(self.root / "tmp", ignore_errors=True)
        return freed


def append_line(path: Path, line: str, *, to_disk: bool = True) -> None:
    """Append one line, in one write call so that several jobs may append to one file, and sync it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        with named(path):
            os.write(handle, f"{line}\n".encode())
            if to_disk:
                os.fsync(handle)
    finally:
        os.close(handle)


def read_lines(path: Path) -> Iterator[list[object]]:
    """The JSON values of an append-only file; a line cut short by a kill is skipped."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue  # the writer was killed in mid-line; what it wrote counts as never written
