"""The store: content-addressed, append-only, and kept when a job fails or `results/` is deleted."""

import errno
import fcntl
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from psutil import pid_exists

from reprise.core.errors import UserError, named
from reprise.core.files import (
    canonical_json,
    checked_line,
    file_digest,
    read_record,
    value_digest,
    value_of_line,
    whole_file,
    write_record,
)
from reprise.core.locks import locked
from reprise.core.log import log
from reprise.core.paths import expanded

KINDS = ("release", "sources", "clips", "facts", "weights", "environments", "journal", "failures", "embeddings")
# A file at the top of a folder that is a store: nothing is deleted in a folder without it.
MARKER = "reprise-store.json"
# Names of objects, and of those that a killed job was writing: `<digest>.mp4`, `.<digest>.<process>.tmp.json`.
OBJECT = re.compile(r"\.?(?P<digest>[0-9a-f]{64})(?:\.\w+)*")
LOGS = "journal", "failures"
READERS = 8  # files whose digests are computed at once
LARGE = 1 << 30  # bytes whose digest takes longer than a second
DIGESTS = "digests.jsonl"
LOGS_AT_TOP = DIGESTS, "spent.jsonl"
# Where a line of a journal has its entry, 32 digits: `["<entry>",...`
ENTRY = slice(2, 34)


class Kept(NamedTuple):
    sha256: str
    bytes: int


class Store:
    """A folder of objects addressed by kind and digest, and a log of known file digests."""

    def __init__(self, root: Path, scratch: Path | None = None, *, is_read_only: bool = False) -> None:
        """`scratch` is a folder of this user's for work in progress, by default one in the store.

        A store that is read only, as planning has it, knows digests of files and records none.
        """
        self.root = root
        self._is_read_only = is_read_only
        self._near = root / "tmp"
        self._scratch = scratch or self._near
        self._digests: dict[tuple[object, ...], str] | None = None
        self._checked: set[tuple[str, str]] = set()

    @property
    def is_marked(self) -> bool:
        return (self.root / MARKER).is_file()

    @property
    def is_foreign(self) -> bool:
        """Whether this is a folder with files that nobody has used as a store."""
        return not self.is_marked and self.root.is_dir() and any(self.root.iterdir())

    def mark(self) -> None:
        """Mark the folder as a store, in which objects without use may be deleted."""
        if not self.is_marked:
            write_record(self.root / MARKER, {"store": "reprise"})

    def objects(self, *kinds: str) -> Iterator[Path]:
        """Yield the files with names of objects; others are a user's."""
        for kind in kinds:
            for path in sorted((self.root / kind).glob("[0-9a-f][0-9a-f]/*")):
                name = OBJECT.fullmatch(path.name)
                if name and name["digest"].startswith(path.parent.name) and (path.is_file() or path.is_symlink()):
                    yield path

    def path(self, kind: str, digest: str, suffix: str) -> Path:
        return self.root / kind / digest[:2] / f"{digest}{suffix}"

    def keep_file(self, temporary: Path, kind: str, digest: str, suffix: str) -> Path:
        """Move a finished file to its path by rename; one on another file system is copied to the store's first."""
        target = self.path(kind, digest, suffix)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            near = self._own(self._near, target.name)
            try:
                with named(near):
                    shutil.copyfile(temporary, near)
                near.replace(target)
            finally:
                near.unlink(missing_ok=True)
            temporary.unlink()
        return target

    @contextmanager
    def alone(self, digest: str) -> Iterator[None]:
        """Wait until no other job makes the object of this digest, so that none is made twice."""
        with locked(self.root / "locks" / f"making-{digest[:2]}.lock"):
            yield

    # Objects that are whole

    def remember(self, path: Path) -> Kept:
        kept = Kept(self.digest(path), path.stat().st_size)
        write_record(path.with_suffix(".json"), kept._asdict())
        return kept

    def remembered(self, path: Path) -> Kept | None:
        """What is recorded of an object, if it still is that; None if it is gone, changed, or was never recorded."""
        record = read_record(path.with_suffix(".json")) if path.is_file() else None
        return Kept(**record) if record is not None and self.digest(path) == record["sha256"] else None

    def made_once(self, kind: str, recipe: Any, suffix: str, write: Callable[[Path], object]) -> tuple[Path, Kept]:
        """The object of a recipe, written only if it does not exist yet, or is not what it was when it was made."""
        digest = value_digest(recipe)
        path = self.path(kind, digest, suffix)
        with self.alone(digest):
            kept = self.remembered(path)
            if kept is None:
                scratch = self.scratch(path.name)
                try:
                    write(scratch)
                    kept = self.remember(self.keep_file(scratch, kind, digest, suffix))
                finally:
                    scratch.unlink(missing_ok=True)
        return path, kept

    def checked(self, name: str, sha256: str, what: str) -> Path:
        """The path of an object whose bytes are those that its ledger names; a damaged one is removed.

        The next run sees that it is gone, and makes it again.
        """
        path = self.root / name
        if (name, sha256) not in self._checked:
            found = file_digest(path) if path.is_file() else ""
            if found != sha256:
                path.unlink(missing_ok=True)
                why = "was damaged or replaced, and is removed" if found else "is gone"
                raise UserError(
                    f"{path}: the file of {what} {why}. Nothing was recorded: run the same command again, which makes "
                    "or fetches it again."
                )
            self._checked.add((name, sha256))
        return path

    # Work in progress

    def scratch(self, name: str) -> Path:
        """A path for work in progress, which `keep_file` moves."""
        return self._own(self._scratch, name)

    @staticmethod
    def _own(folder: Path, name: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"reprise.{socket.gethostname()}.{os.getpid()}.{name}"

    def sweep(self) -> None:
        """Remove the work in progress of jobs that were killed."""
        for path in (path for folder in {self._near, self._scratch} for path in folder.glob("*")):
            with suppress(FileNotFoundError, PermissionError):
                work = re.match(r"reprise\.(.+?)\.([0-9]+)\.", path.name)
                if work is None:  # a user's file
                    continue
                # What works on other machines is not seen from here: untouched for a week it is left over.
                is_silent = time.time() - path.stat().st_mtime > 7 * 24 * 3600
                if not pid_exists(int(work[2])) if work[1] == socket.gethostname() else is_silent:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    # Digests

    def digest(self, path: Path) -> str:
        """Return the sha256 of a file, remembered by path, size, mtime and inode: a large checkpoint is hashed once."""
        known, mark = self._known_digests(), _mark(path)
        if mark not in known and self._is_read_only and path.stat().st_size >= LARGE:
            log.info(
                f"{path}: reading {path.stat().st_size / 1e9:.0f} GB for its digest, which no job or command has "
                "recorded yet; `python -m reprise check` records it"
            )
        return known[mark] if mark in known else self.read_digest(path)

    def read_digest(self, path: Path) -> str:
        """Return the sha256 of a file as it is read now, and remember it."""
        known, mark, digest = self._known_digests(), _mark(path), file_digest(path)
        if known.get(mark) != digest and not self._is_read_only:
            append_line(self.root / DIGESTS, canonical_json([*mark, digest]))
        known[mark] = digest
        return digest

    def _known_digests(self) -> dict[tuple[object, ...], str]:
        if self._digests is None:  # a damaged line is passed over: its file is hashed again
            lines = read_lines(self.root / DIGESTS, skip_damaged=True)
            self._digests = {tuple(row[:4]): str(row[4]) for row in lines}
        return self._digests

    def digests(self, paths: Iterable[Path]) -> dict[Path, str]:
        """Return the digests of files; those that are not remembered are read side by side."""
        files = list(paths)
        self._known_digests()
        with ThreadPoolExecutor(READERS) as threads:
            return dict(zip(files, threads.map(self.digest, files), strict=True))

    def folder_digest(self, folder: Path) -> str:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        found = self.digests(files)
        return value_digest({str(path.relative_to(folder)): found[path] for path in files})

    # Size and room

    def sizes(self) -> dict[str, tuple[int, int]]:
        return {
            kind: (len(files), sum(path.stat().st_size for path in files))
            for kind in KINDS
            if (files := [path for path in (self.root / kind).rglob("*") if path.is_file()])
        }

    def unused(self, keep: Iterable[str]) -> list[Path]:
        """Return the videos and clips that no ledger names.

        Subtitles stay with their video, and the records of what was asked for stay (`.json`).
        """
        kept = {str(Path(name).with_suffix("")) for name in keep if name}  # the row of a failure names no object
        return [
            path
            for path in self.objects("sources", "clips")
            if str(path.relative_to(self.root).with_suffix("")) not in kept
            and not (path.suffix == ".json" and path.is_relative_to(self.root / "sources"))
        ]

    def delete(self, paths: Iterable[Path]) -> int:
        """Delete objects of a marked store, and left-over work in progress; returns the bytes freed."""
        if not self.is_marked:
            raise ValueError(f"{self.root} is not marked as a store")
        freed = 0
        for path in paths:
            freed += path.lstat().st_size
            path.unlink()
        self.sweep()
        return freed

    def repair(self) -> Iterator[str]:
        """Drop the damaged lines of all logs; names each of them.

        A damaged line of a journal may have withdrawn an answer, which must not count again: it goes too.
        """
        logs = [path for path in self.objects(*LOGS) if path.suffix == ".jsonl"]
        for path in (*filter(Path.is_file, (self.root / name for name in LOGS_AT_TOP)), *logs):
            with path.open("rb") as stream:
                lines = list(stream)
            good: dict[int, bytes] = {}
            for number, line in enumerate(lines, start=1):
                try:
                    _values(line)
                    is_good = line.endswith(b"\n")
                except ValueError:
                    is_good = False
                if is_good:
                    good[number] = line
                elif path in logs:
                    good = {place: one for place, one in good.items() if not _is_of_one_entry(one, line)}
            if len(good) < len(lines):
                with whole_file(path) as temporary:
                    temporary.write_bytes(b"".join(good.values()))
                dropped = (str(number) for number in range(1, len(lines) + 1) if number not in good)
                yield f"{path}: dropped line {', '.join(dropped)} of {len(lines)}"


# Logs


def append_line(path: Path, *lines: str, to_disk: bool = True) -> None:
    """Append JSON lines with their checksums, all or none, and sync them; several jobs may append to one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with named(path), path.open("ab+", buffering=0) as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        handle = stream.fileno()
        end = os.fstat(handle).st_size
        if end and os.pread(handle, 1, end - 1) != b"\n":  # a kill cut the last line short
            with path.open("rb") as whole:
                end = sum(len(line) for line in whole if line.endswith(b"\n"))
        stream.truncate(end)
        content = "".join(f"{checked_line(line)}\n" for line in lines).encode()
        try:
            while content:
                written = os.write(handle, content)
                if written == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                content = content[written:]
        except OSError:
            stream.truncate(end)  # a full disk takes the half of a line
            raise
        if to_disk:
            os.fsync(handle)


def read_lines(path: Path, *, skip_damaged: bool = False) -> Iterator[list[object]]:
    """The JSON values of an append-only file; what a kill cut short at its end counts as never written."""
    if not path.is_file():
        return
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield _values(line)
            except ValueError as error:
                if skip_damaged:
                    continue
                raise UserError(
                    f"{path}: line {number} is damaged: {error}. Run `python -m reprise store --repair`, which drops "
                    "damaged lines (the answers in them are asked again), then the same command again."
                ) from error


def _values(line: bytes) -> list[object]:
    """The values of a line; a ValueError says what is wrong with it."""
    values = value_of_line(line.removesuffix(b"\n"))
    if not isinstance(values, list) or not values:
        raise ValueError("it is no list of values")
    return values


def _is_of_one_entry(good: bytes, damaged: bytes) -> bool:
    """Whether a damaged line has a good one's entry, of which it may have lost some digits."""
    entry = good[ENTRY]
    same = sum(one == other for one, other in zip(entry, damaged[ENTRY], strict=False))
    return entry in damaged or 2 * same > ENTRY.stop - ENTRY.start


def _mark(path: Path) -> tuple[object, ...]:
    """Return what a file's digest is remembered by."""
    status = path.stat()
    return str(path.resolve()), status.st_size, status.st_mtime_ns, status.st_ino


def store_on_node(root: Path, setting: str) -> Store:
    """The store as a job sees it whose work in progress lies where the setting says, without what killed jobs left."""
    if not setting:
        return Store(root)
    try:
        folder = Path(expanded(setting)) / f"reprise-{os.getuid()}"  # this user's own
    except UserError as error:
        raise UserError(
            f"scratch (config/config.yaml) on {socket.gethostname()}: {error} "
            "Name a folder that each node has, or a variable that its jobs see."
        ) from None
    with named(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = Store(root, folder)
    store.sweep()
    return store
