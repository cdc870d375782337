"""The store: a folder of objects and append-only logs that survives failed jobs and the deletion of `results/`."""

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

from reprise.core.errors import UserError, add_path_to_errors
from reprise.core.files import (
    append_checksum,
    atomic_path,
    canonical_json,
    file_digest,
    parse_line,
    read_record,
    value_digest,
    write_record,
)
from reprise.core.locks import file_lock
from reprise.core.log import log
from reprise.core.paths import expand_path

KINDS = (
    "release",
    "sources",
    "clips",
    "clip_metadata",
    "weights",
    "environments",
    "response_cache",
    "failures",
    "embeddings",
)
# This file marks a folder as a store: nothing is deleted in a folder without it.
MARKER = "reprise-store.json"
# Names of objects, and of the partial objects of a killed job: `<digest>.mp4`, `.<digest>.<process>.tmp.json`.
OBJECT = re.compile(r"\.?(?P<digest>[0-9a-f]{64})(?:\.\w+)*")
LOGS = "response_cache", "failures"  # The kinds whose objects are append-only logs.
HASHING_THREADS = 8  # The number of files that are hashed in parallel.
LARGE_FILE_BYTES = 1 << 30  # Hashing a file of this size takes longer than a second.
DIGESTS = "digests.jsonl"
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}
TOP_LEVEL_LOGS = DIGESTS, "spent.jsonl"  # Logs of file digests and of spent money.
# Position of the entry's id (32 hexadecimal digits) in a line of the response cache: `["<id>",...`. The id stands for a
# request.
ID_SLICE = slice(2, 34)


class ObjectRecord(NamedTuple):
    """Digest and size of an object, as recorded in the file next to it."""

    sha256: str
    bytes: int


class Store:
    """A folder of objects addressed by kind and digest, and a log of cached file digests."""

    def __init__(self, root: Path, scratch: Path | None = None, *, is_read_only: bool = False) -> None:
        """Open a store.

        Args:
            root: Folder of the store.
            scratch: Folder for this user's work in progress; by default a folder in the store.
            is_read_only: Whether digests of files are looked up but never recorded, as during planning.
        """
        self.root = root
        self._is_read_only = is_read_only
        self._staging = root / "tmp"
        self._scratch = scratch or self._staging
        # Result of `_cache_key` -> digest; None until the log of digests is read.
        self._digests: dict[tuple[object, ...], str] | None = None
        # Names and digests of the objects that `verify_object` has already verified.
        self._verified: set[tuple[str, str]] = set()

    @property
    def is_marked(self) -> bool:
        return (self.root / MARKER).is_file()

    @property
    def is_foreign(self) -> bool:
        """Return whether the folder contains files but was never used as a store."""
        return not self.is_marked and self.root.is_dir() and any(self.root.iterdir())

    def mark(self) -> None:
        """Mark the folder as a store, which allows `delete` to remove its unused objects."""
        if not self.is_marked:
            write_record(self.root / MARKER, {"store": "reprise"})

    def objects(self, *kinds: str) -> Iterator[Path]:
        """Yield the files with names of objects; all other files belong to a user."""
        for kind in kinds:
            for path in sorted((self.root / kind).glob("[0-9a-f][0-9a-f]/*")):
                match = OBJECT.fullmatch(path.name)
                if match and match["digest"].startswith(path.parent.name) and (path.is_file() or path.is_symlink()):
                    yield path

    def path(self, kind: str, digest: str, suffix: str) -> Path:
        return self.root / kind / digest[:2] / f"{digest}{suffix}"

    def add_file(self, temporary: Path, kind: str, digest: str, suffix: str) -> Path:
        """Rename a finished file to its path in the store; copy it first if it is on another file system."""
        target = self.path(kind, digest, suffix)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            staged_path = self._process_path(self._staging, target.name)
            try:
                with add_path_to_errors(staged_path):
                    shutil.copyfile(temporary, staged_path)
                staged_path.replace(target)
            finally:
                staged_path.unlink(missing_ok=True)
            temporary.unlink()
        return target

    @contextmanager
    def lock_exclusively(self, digest: str) -> Iterator[None]:
        """Hold a lock that prevents other jobs from making the object of this digest.

        Digests with the same first two digits share a lock.
        """
        with file_lock(self.root / "locks" / f"making-{digest[:2]}.lock"):
            yield

    # Recorded objects

    def record_object(self, path: Path) -> ObjectRecord:
        """Write the digest and the size of an object into a file next to it."""
        record = ObjectRecord(self.digest(path), path.stat().st_size)
        write_record(path.with_suffix(".json"), record._asdict())
        return record

    def read_object_record(self, path: Path) -> ObjectRecord | None:
        """Return the record of an unchanged object; None if the object is missing, changed or not recorded."""
        record = read_record(path.with_suffix(".json")) if path.is_file() else None
        return ObjectRecord(**record) if record is not None and self.digest(path) == record["sha256"] else None

    def get_or_make(
        self, kind: str, recipe: Any, suffix: str, write: Callable[[Path], object]
    ) -> tuple[Path, ObjectRecord]:
        """Return the path and the record of an object; write it if it does not exist or differs from its record.

        Args:
            kind: One of `KINDS`.
            recipe: JSON value with everything that determines the object, such as settings and digests of its inputs.
            suffix: Suffix of the file's name.
            write: Function that writes the object to a path.
        """
        digest = value_digest(recipe)
        path = self.path(kind, digest, suffix)
        with self.lock_exclusively(digest):
            record = self.read_object_record(path)
            if record is None:
                scratch = self.scratch_path(path.name)
                try:
                    write(scratch)
                    record = self.record_object(self.add_file(scratch, kind, digest, suffix))
                finally:
                    scratch.unlink(missing_ok=True)
        return path, record

    def verify_object(self, name: str, sha256: str, label: str) -> Path:
        """Return the path of an object whose bytes match the digest in its manifest.

        `name` is the object's path in the store, and `label` names the object in the error message.

        Raises:
            UserError: The object is missing or damaged. It is deleted, and the next run makes it again.
        """
        path = self.root / name
        if (name, sha256) not in self._verified:
            digest = file_digest(path) if path.is_file() else ""
            if digest != sha256:
                path.unlink(missing_ok=True)
                reason = "was damaged or replaced, and is now removed" if digest else "is missing"
                raise UserError(
                    f"{path}: the file of {label} {reason}. Nothing was recorded: run the same command again to make "
                    "or fetch it."
                )
            self._verified.add((name, sha256))
        return path

    # Work in progress

    def scratch_path(self, name: str) -> Path:
        """Return a path for a file in progress; `add_file` moves the finished file into the store."""
        return self._process_path(self._scratch, name)

    @staticmethod
    def _process_path(folder: Path, name: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"reprise.{socket.gethostname()}.{os.getpid()}.{name}"

    def delete_stale_temporaries(self) -> None:
        """Delete the temporary files of killed jobs."""
        paths = [path for folder in {self._staging, self._scratch} for path in folder.glob("*")]
        for path in paths:
            with suppress(FileNotFoundError, PermissionError):
                name_parts = re.match(r"reprise\.(.+?)\.([0-9]+)\.", path.name)
                if name_parts is None:  # Any other file belongs to a user.
                    continue
                if name_parts[1] == socket.gethostname():
                    is_stale = not pid_exists(int(name_parts[2]))
                else:  # Processes of other machines are not visible here, so their files count as stale after a week.
                    is_stale = time.time() - path.stat().st_mtime > 7 * 24 * 3600
                if is_stale:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    # Digests

    def digest(self, path: Path) -> str:
        """Return the sha256 of a file, from the cache (by path, size, mtime and inode) or from its content."""
        digests, cache_key = self._cached_digests(), _cache_key(path)
        # Without the right to record digests, a command hashes the file again each time, so the wait is explained.
        if cache_key not in digests and self._is_read_only and path.stat().st_size >= LARGE_FILE_BYTES:
            log.info(
                f"{path}: reading {path.stat().st_size / 1e9:.0f} GB for its digest, which no job or command has "
                "recorded yet; `reprise check` records it"
            )
        return digests[cache_key] if cache_key in digests else self.compute_digest(path)

    def compute_digest(self, path: Path) -> str:
        """Compute the sha256 of a file from its current content, and cache it."""
        digests, cache_key, digest = self._cached_digests(), _cache_key(path), file_digest(path)
        if digests.get(cache_key) != digest and not self._is_read_only:
            try:
                append_lines(self.root / DIGESTS, canonical_json([*cache_key, digest]))
            except OSError as error:
                # A command that only reads works with a full disk and in a store of another user.
                if error.errno not in UNWRITABLE:
                    raise
        digests[cache_key] = digest
        return digest

    def _cached_digests(self) -> dict[tuple[object, ...], str]:
        """Return the cached digests; the log of digests is read at the first call."""
        if self._digests is None:  # A damaged line may be skipped, because its file can be hashed again.
            lines = read_lines(self.root / DIGESTS, skip_damaged=True)
            # A line is the four parts of `_cache_key`, then the digest.
            self._digests = {tuple(row[:4]): str(row[4]) for row in lines}
        return self._digests

    def digests(self, paths: Iterable[Path]) -> dict[Path, str]:
        """Return the digests of files; the files without a cached digest are hashed in parallel."""
        files = list(paths)
        self._cached_digests()  # Read the log before the threads start; otherwise each of them would read it.
        with ThreadPoolExecutor(HASHING_THREADS) as threads:
            return dict(zip(files, threads.map(self.digest, files), strict=True))

    def folder_digest(self, folder: Path) -> str:
        """Return the digest of the names and the contents of all files in a folder."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        digests = self.digests(files)
        return value_digest({str(path.relative_to(folder)): digests[path] for path in files})

    # Size and unused objects

    def count_files_and_bytes(self) -> dict[str, tuple[int, int]]:
        """Return kind -> number of its files and their total size in bytes; kinds without files are left out."""
        return {
            kind: (len(files), sum(path.stat().st_size for path in files))
            for kind in KINDS
            if (files := [path for path in (self.root / kind).rglob("*") if path.is_file()])
        }

    def find_unused(self, names: Iterable[str]) -> list[Path]:
        """Return the files of videos and clips that are in the store but in no manifest.

        The subtitles of a used video and the records of fetches (`.json`) are never unused.

        Args:
            names: Paths in the store of all objects that manifests name.
        """
        # The name of a failed source or clip is empty, because it has no object.
        used_names = {str(Path(name).with_suffix("")) for name in names if name}
        return [
            path
            for path in self.objects("sources", "clips")
            if str(path.relative_to(self.root).with_suffix("")) not in used_names
            and not (path.suffix == ".json" and path.is_relative_to(self.root / "sources"))
        ]

    def delete(self, paths: Iterable[Path]) -> int:
        """Delete objects of a marked store and stale temporary files; return the size of the objects in bytes."""
        if not self.is_marked:
            raise ValueError(f"{self.root} is not marked as a store")
        freed_bytes = 0
        for path in paths:
            freed_bytes += path.lstat().st_size
            path.unlink()
        self.delete_stale_temporaries()
        return freed_bytes

    def repair_logs(self) -> Iterator[str]:
        """Drop the damaged lines of all logs, and yield a message for each log that had any.

        A damaged line of a response cache may have withdrawn a response, which must stay withdrawn. Therefore, the
        earlier lines about the same request are dropped too.
        """
        logs = [path for path in self.objects(*LOGS) if path.suffix == ".jsonl"]
        top_level_logs = [path for name in TOP_LEVEL_LOGS if (path := self.root / name).is_file()]
        for path in (*top_level_logs, *logs):
            with path.open("rb") as stream:
                lines = list(stream)
            intact_lines: dict[int, bytes] = {}
            for line_number, line in enumerate(lines, start=1):
                try:
                    _parse_values(line)
                    is_intact = line.endswith(b"\n")
                except ValueError:
                    is_intact = False
                if is_intact:
                    intact_lines[line_number] = line
                elif path in logs:
                    intact_lines = {
                        position: text for position, text in intact_lines.items() if not _has_same_id(text, line)
                    }
            if len(intact_lines) < len(lines):
                with atomic_path(path) as temporary:
                    temporary.write_bytes(b"".join(intact_lines.values()))
                dropped_numbers = (
                    str(line_number) for line_number in range(1, len(lines) + 1) if line_number not in intact_lines
                )
                yield f"{path}: dropped line {', '.join(dropped_numbers)} of {len(lines)}"


# Logs


def append_lines(path: Path, *lines: str, should_sync: bool = True) -> None:
    """Append JSON lines with their checksums atomically; concurrent jobs may append to one file.

    With `should_sync`, the lines are on the disk when the function returns.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with add_path_to_errors(path), path.open("ab+", buffering=0) as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        descriptor = stream.fileno()
        end_position = os.fstat(descriptor).st_size
        # A killed job may have left an incomplete last line.
        if end_position and os.pread(descriptor, 1, end_position - 1) != b"\n":
            with path.open("rb") as reader:
                end_position = sum(len(line) for line in reader if line.endswith(b"\n"))
        stream.truncate(end_position)
        unwritten = "".join(f"{append_checksum(line)}\n" for line in lines).encode()
        try:
            while unwritten:  # The operating system may write only a part of the bytes at once.
                written_bytes = os.write(descriptor, unwritten)
                if written_bytes == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                unwritten = unwritten[written_bytes:]
        except OSError:
            stream.truncate(end_position)  # A full disk may hold only a part of a line.
            raise
        if should_sync:
            os.fsync(descriptor)


def read_lines(path: Path, *, skip_damaged: bool = False) -> Iterator[list[object]]:
    """Yield the JSON values of each line of an append-only file; skip the incomplete last line of a killed job."""
    if not path.is_file():
        return
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield _parse_values(line)
            except ValueError as error:
                if skip_damaged:
                    continue
                raise UserError(
                    f"{path}: line {number} is damaged: {error}. Run `reprise store --repair`, which drops "
                    "damaged lines (their requests are sent again), then the same command again."
                ) from error


def _parse_values(line: bytes) -> list[object]:
    """Return the values of a line of a log.

    Raises:
        ValueError: The line is damaged; the message describes the damage.
    """
    values = parse_line(line.removesuffix(b"\n"))
    if not isinstance(values, list) or not values:
        raise ValueError("not a list of values")
    return values


def _has_same_id(intact: bytes, damaged: bytes) -> bool:
    """Return whether a damaged line is probably about the same request as an intact line.

    This is the case if it contains the intact line's id. The id itself may be damaged too, so a line with more than
    half of the digits of the id at the id's place also counts.
    """
    request_id = intact[ID_SLICE]
    matching_digits = sum(
        digit == damaged_digit for digit, damaged_digit in zip(request_id, damaged[ID_SLICE], strict=False)
    )
    return request_id in damaged or 2 * matching_digits > ID_SLICE.stop - ID_SLICE.start


def _cache_key(path: Path) -> tuple[object, ...]:
    """Return the key under which the digest of a file is cached: its path, size, mtime and inode."""
    status = path.stat()
    return str(path.resolve()), status.st_size, status.st_mtime_ns, status.st_ino


def open_job_store(root: Path, scratch_setting: str) -> Store:
    """Open the store of a job with its folder for work in progress, and delete temporary files of killed jobs."""
    if not scratch_setting:
        return Store(root)
    try:
        folder = Path(expand_path(scratch_setting)) / f"reprise-{os.getuid()}"  # Each user has a folder of their own.
    except UserError as error:
        raise UserError(
            f"scratch (config/config.yaml) on {socket.gethostname()}: {error} "
            "Use a folder that exists on each node, or a variable that is set in its jobs."
        ) from None
    with add_path_to_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = Store(root, folder)
    store.delete_stale_temporaries()
    return store
