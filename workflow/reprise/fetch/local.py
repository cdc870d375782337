"""Routes without a network: a folder, archives on this machine."""

import fcntl
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.plain import first_of, plain
from reprise.core.store import Store
from reprise.fetch.archives import DAMAGED, ArchiveFile, gather, opened_zip, read_videos
from reprise.fetch.outcome import Fetched, Fetcher, FetchError, located, safe_name
from reprise.fetch.retry import too_large
from reprise.fetch.settings import Archive, Folder

VIDEO_SUFFIXES = {
    *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg"),
    *(".ts", ".mts", ".wmv", ".flv", ".3gp", ".ogv"),
}
CHUNK = 1 << 20
MOST_LISTED = 30


def folder(settings: Folder, store: Store) -> Fetcher:
    """Files of a folder, copied into the store and known by their content."""
    root = Path(settings.path)
    if not root.is_dir():
        raise UserError(f"route.path: no folder '{root}'. Correct the suite's route, or put the videos there.")

    def locate(source_id: str) -> Path:
        name = safe_name(settings.pattern, source_id)
        if name.endswith(".*"):
            around = (root / name).parent
            files = sorted(around.iterdir()) if around.is_dir() else []
            found = [one.name for one in files if one.stem == Path(name).stem and one.suffix.lower() in VIDEO_SUFFIXES]
            if len(found) != 1:
                fit = f"{len(found)} videos fit '{name}': {', '.join(found)}" if found else f"no video '{name}'"
                raise FetchError("missing", f"{fit} in the folder")
            name = str(Path(name).with_name(found[0]))
        return located(root, name, "the folder")

    def fetch(source_id: str, scratch: Path) -> Fetched:
        path = locate(source_id)
        subtitles = path.with_suffix(".vtt")
        return Fetched(path, is_borrowed=True, subtitles=subtitles if subtitles.is_file() else None)

    return Fetcher(lambda source_id: ["file", store.digest(locate(source_id))], fetch)


def archive(settings: Archive, store: Store) -> Fetcher:
    pattern = Path(settings.path)
    # Without a name it is a folder, such as `/`.
    files = sorted(path for path in pattern.parent.glob(pattern.name) if path.is_file()) if pattern.name else []
    if not files:
        names = sorted(path.name for path in pattern.parent.iterdir()) if pattern.parent.is_dir() else []
        listed = plain(", ".join(first_of(names, MOST_LISTED))) or "nothing"
        raise UserError(
            f"route.path: no file fits '{pattern}'. {pattern.parent} has: {listed}. Correct the suite's route, or put "
            "the archive there."
        )
    members = Members(gather(files), settings.member, store, settings.max_mb)
    return Fetcher(members.identity, members.fetch, members.estimate)


class Member(NamedTuple):
    archive: ArchiveFile
    name: str
    size: int
    start: int = 0  # where it begins in a pickle


@dataclass
class Members:
    """Videos inside zips, whole or in pieces, and inside pickles, found by name."""

    archives: Sequence[ArchiveFile]
    pattern: str
    store: Store
    max_mb: float
    _where: dict[str, Member] | None = None
    _refused: list[FetchError] = field(default_factory=list)  # why nothing can be read of an archive

    def identity(self, source_id: str) -> Any:
        member = self._find(source_id)
        digests = [self.store.digest(path) for path in member.archive.parts]
        return ["member", digests[0] if len(digests) == 1 else value_digest(digests), member.name]

    def fetch(self, source_id: str, scratch: Path) -> Fetched:
        member = self._find(source_id)
        if member.size > self.max_mb * 1e6:
            raise too_large(member.size, self.max_mb)
        target = scratch / f"member{Path(member.name).suffix or '.mp4'}"
        with target.open("wb") as sink:
            if member.archive.is_zip:
                self._extract(member, sink)
            else:
                with member.archive.parts[0].open("rb") as source:
                    source.seek(member.start)
                    for left in range(member.size, 0, -CHUNK):
                        sink.write(source.read(min(left, CHUNK)))
        return Fetched(target)

    def estimate(self, source_ids: Sequence[str]) -> int:
        sizes = 0
        for source_id in source_ids:
            try:
                size = self._find(source_id).size
            except FetchError:  # fetching it will say why
                continue
            sizes += size if size <= self.max_mb * 1e6 else 0
        return sizes

    def _find(self, source_id: str) -> Member:
        name = safe_name(self.pattern, source_id)
        if self._where is None:
            self._where = {one.name: one for file in reversed(self.archives) for one in self._members(file)}
        for known in (name, Path(name).stem):
            if known in self._where:
                return self._where[known]
        for error in self._refused:
            raise error
        raise FetchError("missing", f"no member '{name}' in {', '.join(file.name for file in self.archives)}")

    def _members(self, file: ArchiveFile) -> list[Member]:
        """The members of an archive; a pickle that is refused has none, and the others count."""
        if file.is_zip:
            try:
                with opened_zip(file) as opened:
                    return [Member(file, one.filename, one.file_size) for one in opened.infolist() if not one.is_dir()]
            except DAMAGED as error:
                where, again = file.parts[0].with_name(file.name), "Delete it and get it again."
                if len(file.parts) > 1:
                    again = f"One of its {len(file.parts)} pieces is missing, or cut short: get it again."
                raise UserError(f"{where}: not a whole zip ({error}). {again}") from error
        try:
            return [Member(file, name, at.length, at.start) for name, at in read_videos(file.parts[0]).items()]
        except FetchError as error:
            self._refused.append(error)
            return []

    def _extract(self, member: Member, sink: BinaryIO) -> None:
        try:
            with opened_zip(member.archive) as opened, opened.open(member.name) as source:
                while piece := source.read(CHUNK):
                    sink.write(piece)
                    if sink.tell() > self.max_mb * 1e6:
                        raise too_large(sink.tell(), self.max_mb)
        except (*DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # one without a number is how bzip2 says so
                raise
            raise FetchError("damaged", f"{member.archive.name}: {member.name}: {error}") from error


def copy_file(source: Path, target: Path) -> None:
    """A copy that shares its disk space with the original where the file system can do that.

    No link: who replaces a video in place would change what is stored under the old one's digest.
    """
    with source.open("rb") as original, target.open("wb") as copy:
        try:
            fcntl.ioctl(copy, 0x40049409, original.fileno())  # FICLONE: blocks are copied when one of them is written
        except OSError:
            shutil.copyfileobj(original, copy, CHUNK)
