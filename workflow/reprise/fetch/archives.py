"""Read archives: zips, whole or split into parts (`a.zip.001`, `a_part_aa`), and pickles of {name: bytes}.

The parts of a split zip are read without a joined copy. A pickle is a program: it is disassembled with the standard
library, and only the instructions for one dict of bytes are accepted. Nothing is unpickled: no code runs, and a size in
the file reserves no memory.
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

PART_NAME = re.compile(r"(?P<name>.+(?:\.zip\.|[._-]part[._-]?))(?P<number>[0-9]+|[a-z]{2})")
# Exceptions of the standard library for a damaged or encrypted zip, or an unsupported compression.
ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, RuntimeError, ValueError, OverflowError,
)  # fmt: skip
# zipfile reads the whole list of members (the central directory), which is at the end of a zip.
MAX_DIRECTORY_BYTES = 1 << 26
BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class ArchiveFile:
    """An archive: a single file, or its parts in order."""

    parts: tuple[Path, ...]

    @property
    def name(self) -> str:
        first, last = self.parts[0].name, self.parts[-1].name
        return first if len(self.parts) == 1 else f"{first} ... {last}"

    @property
    def is_zip(self) -> bool:
        last = self.parts[-1].name
        return last.lower().endswith(".zip") or PART_NAME.fullmatch(last) is not None


def group_parts(files: Sequence[Path]) -> list[ArchiveFile]:
    """Group files into archives, of which some are split into parts."""
    split_parts: dict[tuple[Path, bool], list[Path]] = defaultdict(list)
    whole_archives = []
    for path in files:
        if match := PART_NAME.fullmatch(path.name):  # Numbered parts and lettered parts are two archives.
            split_parts[path.with_name(match["name"]), match["number"].isdigit()].append(path)
        else:
            whole_archives.append(ArchiveFile((path,)))
    return whole_archives + [ArchiveFile(tuple(sorted(parts))) for parts in split_parts.values()]


@contextmanager
def open_zip(archive: ArchiveFile) -> Iterator[zipfile.ZipFile]:
    """Open a zip, whole or split into parts, to read its members."""
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("rb")) for path in archive.parts]
        stream = ConcatenatedStream(streams, [path.stat().st_size for path in archive.parts])
        reader = stack.enter_context(_BoundedReader(stream, BUFFER_BYTES))
        zip_file = stack.enter_context(zipfile.ZipFile(reader))
        # zipfile counts offsets from the list of members at the end, so a missing beginning makes them negative.
        if any(member.header_offset < 0 for member in zip_file.infolist()):
            raise zipfile.BadZipFile("shorter than its list of members states")
        yield zip_file


class _BoundedReader(io.BufferedReader):
    """Reader that rejects a list of members so long that it would create millions of objects."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"a list of members of {size} bytes, more than {MAX_DIRECTORY_BYTES}")
        return super().read(size)


class ConcatenatedStream(io.RawIOBase):
    """Concatenation of streams of known sizes."""

    def __init__(self, streams: Sequence[BinaryIO], sizes: Sequence[int]) -> None:
        self._streams = streams
        self._starts = [0, *accumulate(sizes)]
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._starts[-1]}[whence]
        if origin + offset < 0:
            raise OSError(f"seek to {origin + offset}, before the beginning")
        self._position = origin + offset
        return self._position

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Read bytes into a buffer, at most to the end of the current stream, and return their number."""
        index = bisect_right(self._starts, self._position) - 1
        if index >= len(self._streams):
            return 0
        stream = self._streams[index]
        stream.seek(self._position - self._starts[index])
        chunk = stream.read(min(len(buffer), self._starts[index + 1] - self._position))
        buffer[: len(chunk)] = chunk
        self._position += len(chunk)
        return len(chunk)


# Limits of a pickle: its instructions, and the bytes of a name.
MAX_INSTRUCTIONS = 400_000
MAX_NAME_BYTES = 4096
ALLOWED_CONTENT = "only a dict of str and bytes is allowed"


class Span(NamedTuple):
    """Position of a video's bytes in a file."""

    start: int
    length: int


def locate_videos(path: Path) -> dict[str, Span]:
    """Return name -> position of each video in a pickle.

    Raises:
        FetchError: the file is not a pickle, is damaged, or has other content than a dict of str and bytes.
    """
    with path.open("rb") as stream:
        if stream.read(1) != b"\x80":  # the instruction PROTO, with which a pickle begins since protocol 2
            raise FetchError("failed", f"{path.name}: neither a zip nor a pickle of protocol 2 or later")
        try:
            entries = _dict_entries(_LazyFile(stream.fileno(), 0, access=ACCESS_READ), path.name)
        except (ValueError, KeyError) as error:
            raise FetchError("failed", f"{path.name}: not a complete pickle ({error})") from error
    videos: dict[str, Span] = {}
    for video_name, span in zip(entries[::2], entries[1::2], strict=True):
        if not isinstance(video_name, str) or not isinstance(span, Span):
            raise FetchError(
                "unsafe_pickle", f"{path.name}: {video_name!r:.60} is not a name with bytes; {ALLOWED_CONTENT}"
            )
        videos[video_name] = span
    return videos


class _LazyFile(mmap):
    """A file whose reads of more than MAX_NAME_BYTES return views instead of copies."""

    def read(self, count: int | None = None) -> Any:
        start = self.tell()
        if count is None or count <= MAX_NAME_BYTES:
            return super().read(count)
        self.seek(min(start + count, len(self)))
        return memoryview(self)[start : self.tell()]


def _dict_entries(pickle_file: _LazyFile, file_name: str) -> list[str | Span]:
    """Return the keys and values of the dict that a pickle describes, in turn."""
    dict_count, entries = 0, list[str | Span]()
    # Number of a memo -> the value that it stores, as a list: the last entry at that time. The list is empty if this is
    # the dict, which comes before all entries.
    memo: dict[int, list[str | Span]] = {}
    for instruction_count, (opcode, raw_argument, _) in enumerate(pickletools.genops(pickle_file)):  # type: ignore[arg-type]
        if instruction_count == MAX_INSTRUCTIONS:
            raise FetchError("too_large", f"{file_name}: more than {MAX_INSTRUCTIONS} instructions")
        argument: Any = raw_argument
        match opcode.name:
            case "PROTO" | "FRAME" | "MARK" | "SETITEM" | "SETITEMS" | "STOP":
                continue
            case "EMPTY_DICT":
                dict_count += 1
            case "SHORT_BINUNICODE" | "BINUNICODE" | "BINUNICODE8":
                # encode() raises for an unpaired surrogate, which pickletools accepts.
                if len(argument.encode()) > MAX_NAME_BYTES:
                    raise FetchError(
                        "unsafe_pickle", f"{file_name}: a name of more than {MAX_NAME_BYTES} bytes; {ALLOWED_CONTENT}"
                    )
                entries.append(argument)
            case "SHORT_BINBYTES" | "BINBYTES" | "BINBYTES8":
                # genops() has just read the bytes, so they end at the current position.
                entries.append(Span(pickle_file.tell() - len(argument), len(argument)))
            case "MEMOIZE":
                memo[len(memo)] = entries[-1:]
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = entries[-1:]
            case "BINGET" | "LONG_BINGET":
                entries += memo[argument]
            case opcode_name:
                raise FetchError("unsafe_pickle", f"{file_name}: the pickle needs {opcode_name}; {ALLOWED_CONTENT}")
    if dict_count != 1 or len(entries) % 2:
        raise FetchError("unsafe_pickle", f"{file_name}: not one dict; {ALLOWED_CONTENT}")
    return entries
