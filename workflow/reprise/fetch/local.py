"""Fetchers of local sources: a folder, or archives on this machine."""

import fcntl
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.plain import sanitize_line, summarize_list
from reprise.core.store import Store
from reprise.fetch.archives import ZIP_ERRORS, ArchiveFile, group_parts, locate_videos, open_zip
from reprise.fetch.outcome import FetchedFile, Fetcher, FetchError, fill_safe_name, require_existing_file
from reprise.fetch.retry import size_error
from reprise.fetch.settings import Archive, Folder

VIDEO_SUFFIXES = {
    ".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".mts", ".wmv", ".flv", ".3gp", ".ogv",
}  # fmt: skip
CHUNK_BYTES = 1 << 20
MAX_LISTED = 30  # files that a message lists
FICLONE = 0x40049409  # Linux's ioctl that lets two files share blocks until one of them changes


def create_folder_fetcher(settings: Folder, store: Store) -> Fetcher:
    """Return the fetcher of files in a folder, which are copied into the store and identified by their content."""
    root = Path(settings.path)
    if not root.is_dir():
        raise UserError(f"route.path: no folder '{root}'. Correct the suite's route, or put the videos there.")

    def locate(source_id: str) -> Path:
        file_name = fill_safe_name(settings.pattern, source_id)
        if file_name.endswith(".*"):
            parent = (root / file_name).parent
            files = sorted(parent.iterdir()) if parent.is_dir() else []
            matches = [
                path.name
                for path in files
                if path.stem == Path(file_name).stem and path.suffix.lower() in VIDEO_SUFFIXES
            ]
            if len(matches) != 1:
                problem = (
                    f"{len(matches)} videos match '{file_name}': {', '.join(matches)}"
                    if matches
                    else f"no video '{file_name}'"
                )
                raise FetchError("missing", f"{problem} in the folder")
            file_name = str(Path(file_name).with_name(matches[0]))
        return require_existing_file(root, file_name, "the folder")

    def fetch(source_id: str, scratch: Path) -> FetchedFile:
        path = locate(source_id)
        subtitles = path.with_suffix(".vtt")
        return FetchedFile(path, is_external=True, subtitles=subtitles if subtitles.is_file() else None)

    return Fetcher(lambda source_id: ["file", store.digest(locate(source_id))], fetch)


def create_archive_fetcher(settings: Archive, store: Store) -> Fetcher:
    """Return the fetcher of members of archives on this machine."""
    pattern = Path(settings.path)
    # A path such as `/` has no name and matches no file.
    files = sorted(path for path in pattern.parent.glob(pattern.name) if path.is_file()) if pattern.name else []
    if not files:
        names = sorted(path.name for path in pattern.parent.iterdir()) if pattern.parent.is_dir() else []
        listing = sanitize_line(", ".join(summarize_list(names, MAX_LISTED))) or "nothing"
        raise UserError(
            f"route.path: no file matches '{pattern}'. {pattern.parent} has: {listing}. Correct the suite's route, or "
            "put the archive there."
        )
    members = Members(group_parts(files), settings.member, store, settings.max_mb)
    return Fetcher(members.identity, members.fetch, members.estimate_bytes)


class Member(NamedTuple):
    """A video in an archive."""

    archive: ArchiveFile
    name: str
    size: int
    start: int = 0  # offset of its bytes in a pickle


@dataclass
class Members:
    """Videos by name in zips, whole or split into parts, and in pickles."""

    archives: Sequence[ArchiveFile]
    pattern: str
    store: Store
    max_mb: float
    _member_by_name: dict[str, Member] | None = None
    _failures: list[FetchError] = field(default_factory=list)  # errors of archives that cannot be read

    def identity(self, source_id: str) -> Any:
        """Return the identity of a source: the digest of its archive, and its name in the archive."""
        member = self._find(source_id)
        digests = [self.store.digest(path) for path in member.archive.parts]
        return ["member", digests[0] if len(digests) == 1 else value_digest(digests), member.name]

    def fetch(self, source_id: str, scratch: Path) -> FetchedFile:
        member = self._find(source_id)
        if member.size > self.max_mb * 1e6:
            raise size_error(member.size, self.max_mb)
        target = scratch / f"member{Path(member.name).suffix or '.mp4'}"
        with target.open("wb") as sink:
            if member.archive.is_zip:
                self._extract(member, sink)
            else:
                with member.archive.parts[0].open("rb") as source:
                    source.seek(member.start)
                    for remaining in range(member.size, 0, -CHUNK_BYTES):
                        sink.write(source.read(min(remaining, CHUNK_BYTES)))
        return FetchedFile(target)

    def estimate_bytes(self, source_ids: Sequence[str]) -> int:
        """Return the total size of the members, without those that are missing or too large."""
        total = 0
        for source_id in source_ids:
            try:
                size = self._find(source_id).size
            except FetchError:  # Fetching the source reports the failure.
                continue
            total += size if size <= self.max_mb * 1e6 else 0
        return total

    def _find(self, source_id: str) -> Member:
        """Return the member of a source.

        Raises:
            FetchError: No archive has it, or its archive cannot be read.
        """
        name = fill_safe_name(self.pattern, source_id)
        if self._member_by_name is None:
            # If several archives have a member of this name, the first archive's is used.
            self._member_by_name = {
                member.name: member for archive in reversed(self.archives) for member in self._list_members(archive)
            }
        for candidate in (name, Path(name).stem):  # Pickles may have names without a suffix.
            if candidate in self._member_by_name:
                return self._member_by_name[candidate]
        if self._failures:  # The member may be in an archive that cannot be read.
            raise self._failures[0]
        raise FetchError("missing", f"no member '{name}' in {', '.join(archive.name for archive in self.archives)}")

    def _list_members(self, archive: ArchiveFile) -> list[Member]:
        """Return the members of an archive; an unreadable pickle has none, and `_find` reports its error."""
        if archive.is_zip:
            try:
                with open_zip(archive) as zip_file:
                    return [
                        Member(archive, info.filename, info.file_size)
                        for info in zip_file.infolist()
                        if not info.is_dir()
                    ]
            except ZIP_ERRORS as error:
                path, advice = archive.parts[0].with_name(archive.name), "Delete it and download it again."
                if len(archive.parts) > 1:
                    advice = f"One of its {len(archive.parts)} parts is missing or incomplete: download it again."
                raise UserError(f"{path}: not a complete zip ({error}). {advice}") from error
        try:
            return [
                Member(archive, name, span.length, span.start) for name, span in locate_videos(archive.parts[0]).items()
            ]
        except FetchError as error:
            self._failures.append(error)
            return []

    def _extract(self, member: Member, sink: BinaryIO) -> None:
        """Write the bytes of a zip's member. Check the size limit again, as its header may state a smaller size."""
        try:
            with open_zip(member.archive) as zip_file, zip_file.open(member.name) as source:
                while chunk := source.read(CHUNK_BYTES):
                    sink.write(chunk)
                    if sink.tell() > self.max_mb * 1e6:
                        raise size_error(sink.tell(), self.max_mb)
        except (*ZIP_ERRORS, OSError) as error:
            # bzip2 reports damage by an OSError without errno.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise FetchError("damaged", f"{member.archive.name}: {member.name}: {error}") from error


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, without using disk space if the file system can share blocks.

    A hard link would be unsafe: a change of the original would change the object that is stored under the old digest.
    """
    with source.open("rb") as source_stream, target.open("wb") as target_stream:
        try:
            fcntl.ioctl(target_stream, FICLONE, source_stream.fileno())
        except OSError:  # The file system cannot share blocks.
            shutil.copyfileobj(source_stream, target_stream, CHUNK_BYTES)
