"""What archives hold: zips, whole or cut into pieces (`a.zip.001`, `a_part_aa`), and pickles of {name: bytes}.

Concatenated, the pieces are the zip, which is read without a joined copy. A pickle is a program: the standard library
takes its instructions apart; those that write one dict of bytes are known here, and all others refused. Nothing is
unpickled, nothing can run, and no number in the file reserves memory.
"""

import io
import lzma
import pickletools
import re
import struct
import zipfile
import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from reprise.fetch.outcome import FetchError

PIECE = re.compile(r"(?P<name>.+(?:\.zip\.|[._-]part[._-]?))(?P<number>[0-9]+|[a-z]{2})")
# What the standard library raises at a zip that is damaged, packed in another way than it knows, or locked.
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, RuntimeError, ValueError, OverflowError),
)
# The list of members at a zip's end is read at once.
LONGEST_LIST = 1 << 26


@dataclass(frozen=True)
class ArchiveFile:
    """One archive: a file, or its pieces in their order."""

    parts: tuple[Path, ...]

    @property
    def name(self) -> str:
        first, last = self.parts[0].name, self.parts[-1].name
        return first if len(self.parts) == 1 else f"{first} ... {last}"

    @property
    def is_zip(self) -> bool:
        last = self.parts[-1].name
        return last.lower().endswith(".zip") or PIECE.fullmatch(last) is not None


def gather(files: Sequence[Path]) -> list[ArchiveFile]:
    """The archives that these files make up."""
    pieces: dict[tuple[Path, bool], list[Path]] = defaultdict(list)
    whole = []
    for path in files:
        if piece := PIECE.fullmatch(path.name):
            pieces[path.with_name(piece["name"]), piece["number"].isdigit()].append(path)
        else:
            whole.append(ArchiveFile((path,)))
    return whole + [ArchiveFile(tuple(sorted(found))) for found in pieces.values()]


@contextmanager
def opened_zip(archive: ArchiveFile) -> Iterator[zipfile.ZipFile]:
    """A zip, whole or in pieces, to read members from."""
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("rb")) for path in archive.parts]
        joined = Joined(streams, [path.stat().st_size for path in archive.parts])
        opened = stack.enter_context(zipfile.ZipFile(stack.enter_context(_Bounded(joined, 1 << 20))))
        if any(entry.header_offset < 0 for entry in opened.infolist()):
            raise zipfile.BadZipFile("shorter than its list of members says")
        yield opened


class _Bounded(io.BufferedReader):
    """Refuses to read a list of members for which millions of objects would be made."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > LONGEST_LIST:
            raise zipfile.BadZipFile(f"a list of members of {size} bytes, allowed are {LONGEST_LIST}")
        return super().read(size)


class Joined(io.RawIOBase):
    """Streams of known sizes, concatenated."""

    def __init__(self, streams: Sequence[BinaryIO], sizes: Sequence[int]) -> None:
        self._streams = streams
        self._starts = [0, *accumulate(sizes)]
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._starts[-1]}[whence]
        if base + offset < 0:
            raise OSError(f"seek to {base + offset}, before the beginning")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        index = bisect_right(self._starts, self._at) - 1
        if index >= len(self._streams):
            return 0
        stream = self._streams[index]
        stream.seek(self._at - self._starts[index])
        content = stream.read(min(len(buffer), self._starts[index + 1] - self._at))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


MOST_STEPS = 400_000
LONGEST_NAME = 4096
ALLOWED = "only a dict of str and bytes is read"


class Span(NamedTuple):
    """Where the bytes of a video are."""

    start: int
    length: int


def read_videos(path: Path) -> dict[str, Span]:
    """Where each video of a pickle is; anything else in it is refused."""
    with path.open("rb") as stream:
        if stream.read(1) != b"\x80":
            raise FetchError("failed", f"{path.name}: neither a zip nor a pickle of protocol 2 or later")
        try:
            found = _written(_Skimmed(stream.fileno(), 0, access=ACCESS_READ), path.name)
        except (ValueError, KeyError) as error:
            raise FetchError("failed", f"{path.name}: not a whole pickle ({error})") from error
    videos: dict[str, Span] = {}
    for name, content in zip(found[::2], found[1::2], strict=True):
        if not isinstance(name, str) or not isinstance(content, Span):
            raise FetchError("unsafe_pickle", f"{path.name}: {name!r:.60} is no name with bytes; {ALLOWED}")
        videos[name] = content
    return videos


class _Skimmed(mmap):
    """A file, of which nothing longer than a name is read."""

    def read(self, count: int | None = None) -> Any:
        start = self.tell()
        if count is None or count <= LONGEST_NAME:
            return super().read(count)
        self.seek(min(start + count, len(self)))
        return memoryview(self)[start : self.tell()]


def _written(content: _Skimmed, name: str) -> list[str | Span]:
    """The names and the contents that the instructions write into one dict, in turns."""
    dicts, found = 0, list[str | Span]()
    memo: dict[int, list[str | Span]] = {}
    for step, (instruction, given, _) in enumerate(pickletools.genops(content)):  # type: ignore[arg-type]
        if step == MOST_STEPS:
            raise FetchError("too_large", f"{name}: more than {MOST_STEPS} instructions")
        argument: Any = given
        match instruction.name:
            case "PROTO" | "FRAME" | "MARK" | "SETITEM" | "SETITEMS" | "STOP":
                continue
            case "EMPTY_DICT":
                dicts += 1
            case "SHORT_BINUNICODE" | "BINUNICODE" | "BINUNICODE8":
                if len(argument.encode()) > LONGEST_NAME:  # encoding refuses half a character, which came through
                    raise FetchError("unsafe_pickle", f"{name}: a name of more than {LONGEST_NAME} bytes; {ALLOWED}")
                found.append(argument)
            case "SHORT_BINBYTES" | "BINBYTES" | "BINBYTES8":
                found.append(Span(content.tell() - len(argument), len(argument)))
            case "MEMOIZE":
                memo[len(memo)] = found[-1:]
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = found[-1:]
            case "BINGET" | "LONG_BINGET":
                found += memo[argument]
            case other:
                raise FetchError("unsafe_pickle", f"{name}: the pickle needs {other}; {ALLOWED}")
    if dicts != 1 or len(found) % 2:
        raise FetchError("unsafe_pickle", f"{name}: not one dict; {ALLOWED}")
    return found
