"""Archives that were cut into pieces (`a.zip.001`, `a_part_aa`), read as one without a joined copy.

Concatenated, the pieces are the zip. Parts of a spanned zip (`a.z01`, ..., `a.zip`) are refused.
"""

import io
import lzma
import re
import string
import struct
import zipfile
import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate, product
from pathlib import Path
from typing import BinaryIO

from reprise.core.errors import UserError

PIECE = re.compile(r"(?P<name>.+(?:\.zip\.|[._-]part[._-]?))(?P<number>[0-9]+|[a-z]{2})")
SPANNED = re.compile(r".+\.z[0-9]{2,}")
LETTERS = string.ascii_lowercase
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
    """The archives that these files make up; an error names a piece that is missing between others."""
    pieces: dict[tuple[Path, bool], dict[str, Path]] = defaultdict(dict)
    whole = []
    for path in files:
        if SPANNED.fullmatch(path.name) or path.with_suffix(".z01").exists():
            raise _spanned_zip(path)
        piece = PIECE.fullmatch(path.name)
        if piece:
            pieces[path.with_name(piece["name"]), piece["number"].isdigit()][piece["number"]] = path
        else:
            whole.append(ArchiveFile((path,)))
    return whole + [ArchiveFile(_in_order(name, found)) for (name, _), found in pieces.items()]


def _spanned_zip(path: Path) -> UserError:
    last = path.with_suffix(".zip").name
    return UserError(
        f"{path}: part of a spanned zip, which is not read in parts. Join the parts first: "
        f"zip -s 0 {last} --out whole.zip, and name whole.zip in the suite's route."
    )


def _in_order(name: Path, found: dict[str, Path]) -> tuple[Path, ...]:
    """The pieces in order. All but the last are of one size, so a smaller one is incomplete."""
    numbers = sorted(found)
    width = len(numbers[0])
    if numbers[0].isdigit():
        first = 0 if int(numbers[0]) == 0 else 1
        wanted = [f"{number:0{width}}" for number in range(first, max(map(int, numbers)) + 1)]
    else:
        every = ("".join(letters) for letters in product(LETTERS, repeat=width))
        wanted = [number for number in every if number <= numbers[-1]]
    missing = [f"{name.name}{number}" for number in wanted if number not in found]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise UserError(
            f"{name.parent}: part of an archive is missing: {', '.join(missing[:5])}{more}. "
            "Put it into the folder of the others."
        )
    parts = tuple(found[number] for number in wanted)
    size = parts[0].stat().st_size
    for path in parts[1:-1]:
        if path.stat().st_size != size:
            raise UserError(
                f"{path}: {path.stat().st_size} bytes, but {parts[0].name} has {size}. "
                "All pieces but the last are of one size: get the smaller one again."
            )
    return parts


@contextmanager
def opened_zip(archive: ArchiveFile) -> Iterator[zipfile.ZipFile]:
    """A zip, whole or in pieces, to read members from."""
    with ExitStack() as stack:
        streams = [stack.enter_context(path.open("rb")) for path in archive.parts]
        joined = Joined(streams, [path.stat().st_size for path in archive.parts])
        opened = stack.enter_context(zipfile.ZipFile(stack.enter_context(_Bounded(joined, 1 << 20))))
        if any(entry.volume for entry in opened.infolist()):
            raise _spanned_zip(archive.parts[-1])
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
