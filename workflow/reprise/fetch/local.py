"""Routes without a network: a folder, archives on this machine."""

import fcntl
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise.core.checksums import read_record, write_record
from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.store import Store
from reprise.fetch.outcome import Fetched, Fetcher, FetchError, located, nothing, safe_name
from reprise.fetch.parts import DAMAGED, ArchiveFile, gather, opened_zip
from reprise.fetch.pickles import Span, read_videos
from reprise.fetch.retry import too_large
from reprise.fetch.settings import Archive, Folder

SUBTITLES = ".vtt"
ANY_SUFFIX = ".*"
VIDEO_SUFFIXES = {
    *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg"),
    *(".ts", ".mts", ".wmv", ".flv", ".3gp", ".ogv"),
}
CHUNK = 1 << 20
FICLONE = 0x40049409
"""Linux's request to share a file's blocks, copied when one of the two is written"""


def folder(settings: Folder, store: Store) -> Fetcher:
    """Files of a folder, copied into the store and known by their content."""
    root = Path(settings.path)
    if not root.is_dir():
        raise UserError(f"route.path: no folder '{root}'. Correct the suite's route, or put the videos there.")

    def locate(source_id: str) -> Path:
        name = safe_name(settings.pattern, source_id)
        if name.endswith(ANY_SUFFIX):
            name = str(_with_any_suffix(root, Path(name)))
        return located(root, name, "the folder")

    def fetch(source_id: str, scratch: Path) -> Fetched:
        path = locate(source_id)
        subtitles = path.with_suffix(SUBTITLES)
        return Fetched(path, is_borrowed=True, subtitles=subtitles if subtitles.is_file() else None)

    return Fetcher(lambda source_id: ["file", store.digest(locate(source_id))], fetch, nothing)


def _with_any_suffix(root: Path, name: Path) -> Path:
    """The one video of this name, whatever its format."""
    around = root / name.parent
    files = sorted(around.iterdir()) if around.is_dir() else []
    found = [path.name for path in files if path.stem == name.stem and path.suffix.lower() in VIDEO_SUFFIXES]
    if len(found) == 1:
        return name.with_name(found[0])
    said = f"{len(found)} videos fit '{name}': {', '.join(found)}" if found else f"no video '{name}'"
    raise FetchError("missing", f"{said} in the folder")


def archive(settings: Archive, store: Store) -> Fetcher:
    """Members of archives on this machine."""
    pattern = Path(settings.path)
    files = sorted(path for path in pattern.parent.glob(pattern.name) if path.is_file())
    if not files:
        raise UserError(f"route.path: no file fits '{pattern}'. Correct the suite's route, or put the archive there.")
    members = Members(gather(files), settings.member, store, settings.max_mb)
    return Fetcher(members.identity, members.fetch, members.estimate)


@dataclass
class Members:
    """Videos inside zips, whole or in pieces, and inside pickles, found by name."""

    archives: Sequence[ArchiveFile]
    pattern: str
    store: Store
    max_mb: float
    _where: dict[str, ArchiveFile] | None = None
    _refused: dict[ArchiveFile, FetchError] = field(default_factory=dict)
    """Archives of which nothing can be read."""

    def identity(self, source_id: str) -> Any:
        file, member = self._find(source_id)
        return ["member", self._digest(file), member]

    def fetch(self, source_id: str, scratch: Path) -> Fetched:
        file, member = self._find(source_id)
        if file.is_zip:
            return Fetched(self._extract(file, member, scratch))
        return Fetched(self._unpacked(file, member))

    def estimate(self, source_ids: Sequence[str]) -> int:
        """Unpacked sizes; a pickle unpacks to about its own size."""
        sizes = 0
        for file in self.archives:
            if file.is_zip:
                with opened_zip(file) as opened:
                    wanted = {safe_name(self.pattern, source_id) for source_id in source_ids if _is_safe(source_id)}
                    found = [entry.file_size for entry in opened.infolist() if entry.filename in wanted]
                    sizes += sum(size for size in found if size <= self.max_mb * 1e6)
            else:
                sizes += file.size
        return sizes

    def _find(self, source_id: str) -> tuple[ArchiveFile, str]:
        member = safe_name(self.pattern, source_id)
        if self._where is None:
            self._where = {name: file for file in reversed(self.archives) for name in self._names_if_any(file)}
        for name in (member, Path(member).stem):
            if name in self._where:
                return self._where[name], name
        for error in self._refused.values():
            raise error
        raise FetchError("missing", f"no member '{member}' in {', '.join(file.name for file in self.archives)}")

    def _digest(self, file: ArchiveFile) -> str:
        digests = [self.store.digest(path) for path in file.parts]
        return digests[0] if len(digests) == 1 else value_digest(digests)

    def _names_if_any(self, file: ArchiveFile) -> list[str]:
        """The members of an archive; one that is refused has none, and the others count."""
        try:
            return self._names(file)
        except FetchError as error:
            self._refused[file] = error
            return []

    def _names(self, file: ArchiveFile) -> list[str]:
        if file.is_zip:
            try:
                with opened_zip(file) as opened:
                    return [entry.filename for entry in opened.infolist() if not entry.is_dir()]
            except DAMAGED as error:
                path = file.parts[-1]
                raise UserError(f"{path}: not a whole zip ({error}). Delete it and get it again.") from error
        names: list[str] | None = read_record(self._index(file))
        return self._unpack(file) if names is None else names

    def _index(self, file: ArchiveFile) -> Path:
        return self.store.path("sources", self._digest(file), ".names.json")

    def _unpack(self, file: ArchiveFile) -> list[str]:
        """Put all videos of a pickle into the store at once: their places are only found by reading it as a whole."""
        path = file.parts[0]
        videos = read_videos(path)
        for name, place in videos.items():
            if place.length <= self.max_mb * 1e6:
                scratch = self.store.scratch(f"{value_digest(name)}.mp4")
                _copy_part(path, place, scratch)
                self.store.keep_file(scratch, "sources", self._unpacked_digest(file, name), ".mp4")
        write_record(self._index(file), sorted(videos))
        return sorted(videos)

    def _unpacked(self, file: ArchiveFile, name: str) -> Path:
        path = self.store.path("sources", self._unpacked_digest(file, name), ".mp4")
        if not path.is_file():
            self._unpack(file)
        if not path.is_file():
            raise FetchError("too_large", f"{file.name}: {name}: more than {self.max_mb:g} MB (max_mb)")
        return path

    def _extract(self, file: ArchiveFile, member: str, scratch: Path) -> Path:
        target = scratch / f"member{Path(member).suffix or '.mp4'}"
        try:
            with opened_zip(file) as opened, opened.open(member) as source, target.open("wb") as sink:
                if opened.getinfo(member).file_size > self.max_mb * 1e6:
                    raise too_large(opened.getinfo(member).file_size, self.max_mb)
                while piece := source.read(CHUNK):
                    sink.write(piece)
                    if sink.tell() > self.max_mb * 1e6:
                        raise too_large(sink.tell(), self.max_mb)
        except DAMAGED as error:
            raise FetchError("damaged", f"{file.name}: {member}: {error}") from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise FetchError("damaged", f"{file.name}: {member}: {error}") from error  # how bzip2 says so
        return target

    def _unpacked_digest(self, file: ArchiveFile, name: str) -> str:
        return value_digest(["unpacked", self._digest(file), name])


def copy_file(source: Path, target: Path) -> None:
    """A copy that shares its disk space with the original where the file system can do that.

    No link: who replaces a video in place would change what is stored under the old one's digest.
    """
    with source.open("rb") as original, target.open("wb") as copy:
        try:
            fcntl.ioctl(copy, FICLONE, original.fileno())
        except OSError:
            shutil.copyfileobj(original, copy, CHUNK)


def _is_safe(source_id: str) -> bool:
    try:
        safe_name("{source_id}", source_id)
    except FetchError:
        return False
    return True


def _copy_part(path: Path, place: Span, target: Path) -> None:
    with path.open("rb") as source, target.open("wb") as sink:
        source.seek(place.start)
        for left in range(place.length, 0, -CHUNK):
            sink.write(source.read(min(left, CHUNK)))
