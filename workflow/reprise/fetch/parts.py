"""Archives in several files, read as one without a joined copy: pieces of a zip, and the disks of a spanned zip.

Pieces are a zip cut at any byte (`a.zip.001`, `a_part_aa`): one after the other they are the zip. The disks of a
spanned zip (`a.z01`, `a.z02`, `a.zip`) say in the directory at their end on which disk a member begins and where on it,
which no reader of one file understands: here that directory is rewritten in memory, with places in the whole.
"""

import io
import re
import string
import struct
import zipfile
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
DISK = re.compile(r"(?P<stem>.+)\.z(?P<number>[0-9]{2,})")
LETTERS = string.ascii_lowercase

# Records of the zip format (APPNOTE 4.3): end of directory, its 64-bit form, the pointer to that, one member's entry.
END, END64, POINTER64, ENTRY = (struct.Struct(f"<{form}") for form in ("4s4H2LH", "4sQ2H2L4Q", "4sLQL", "4s6H3L5H2L"))
END_MARK, END64_MARK, POINTER64_MARK, ENTRY_MARK = b"PK\5\6", b"PK\6\6", b"PK\6\7", b"PK\1\2"
COMMENT_MAX = 0xFFFF
ELSEWHERE16, ELSEWHERE32 = 0xFFFF, 0xFFFFFFFF  # the real number stands in a 64-bit field
EXTRA64 = 1


@dataclass(frozen=True)
class Holder:
    """One archive: a file, or several files in their order."""

    parts: tuple[Path, ...]

    @property
    def name(self) -> str:
        first, last = self.parts[0].name, self.parts[-1].name
        return first if len(self.parts) == 1 else f"{first} ... {last}"

    @property
    def is_zip(self) -> bool:
        """Whether it is a zip, whole or in parts."""
        last = self.parts[-1].name
        return last.lower().endswith(".zip") or PIECE.fullmatch(last) is not None

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.parts)


def gather(files: Sequence[Path]) -> list[Holder]:
    """The archives that these files are; a file that its neighbours' names show to be missing is named."""
    pieces: dict[tuple[Path, bool], dict[str, Path]] = defaultdict(dict)
    disks: dict[Path, dict[str, Path]] = defaultdict(dict)
    whole = []
    for path in files:
        piece, disk = PIECE.fullmatch(path.name), DISK.fullmatch(path.name)
        if piece:
            pieces[path.with_name(piece["name"]), piece["number"].isdigit()][piece["number"]] = path
        elif disk:
            disks[path.with_name(f"{disk['stem']}.zip")][disk["number"]] = path
        else:
            whole.append(path)
    single = [Holder((path,)) for path in whole if path not in disks]
    cut = [Holder(_pieces(name, found)) for (name, _), found in pieces.items()]
    return single + cut + [Holder(_disks(last, found, last in whole)) for last, found in disks.items()]


def _pieces(name: Path, found: dict[str, Path]) -> tuple[Path, ...]:
    """The pieces in order. All but the last are of one size, so a smaller one was cut short on its way."""
    numbers = sorted(found)
    width = len(numbers[0])
    if numbers[0].isdigit():
        first = 0 if int(numbers[0]) == 0 else 1
        wanted = [f"{number:0{width}}" for number in range(first, max(map(int, numbers)) + 1)]
    else:
        every = ("".join(letters) for letters in product(LETTERS, repeat=width))
        wanted = [number for number in every if number <= numbers[-1]]
    _refuse_missing(name.with_name(f"{name.name}{number}") for number in wanted if number not in found)
    parts = tuple(found[number] for number in wanted)
    size = parts[0].stat().st_size
    for path in parts[1:-1]:
        if path.stat().st_size != size:
            raise UserError(
                f"{path}: {path.stat().st_size} bytes, but {parts[0].name} has {size}. "
                "All pieces but the last are of one size: get the smaller one again."
            )
    return parts


def _disks(last: Path, found: dict[str, Path], has_last: bool) -> tuple[Path, ...]:
    """The disks of a spanned zip in order; the file `.zip` is its last disk and says how many there are."""
    count = max(map(int, found))
    if has_last:
        count = _end_of(last).disk
    names = [last.with_name(f"{last.stem}.z{number:02}") for number in range(1, count + 1)]
    missing = [path for path in names if path not in found.values()]
    _refuse_missing([*missing, *([] if has_last else [last])])
    return (*names, last)


def _refuse_missing(paths: Iterator[Path] | Sequence[Path]) -> None:
    missing = list(paths)
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        names = ", ".join(path.name for path in missing[:5])
        raise UserError(f"{missing[0].parent}: part of an archive is missing: {names}{more}. Put it beside the others.")


@contextmanager
def opened_zip(holder: Holder) -> Iterator[zipfile.ZipFile]:
    """A zip, whole or in parts, to read members from."""
    with ExitStack() as stack:
        streams: list[BinaryIO] = [stack.enter_context(path.open("rb")) for path in holder.parts]
        sizes = [path.stat().st_size for path in holder.parts]
        is_cut = PIECE.fullmatch(holder.parts[-1].name) is not None
        if len(holder.parts) > 1 and not is_cut:
            streams, sizes = _as_one_disk(holder, streams, sizes)
        elif not is_cut:
            _refuse_a_lone_disk(holder.parts[0])
        stream = stack.enter_context(io.BufferedReader(Joined(streams, sizes), 1 << 20))
        yield stack.enter_context(zipfile.ZipFile(stream))


class Joined(io.RawIOBase):
    """Streams one after the other as one; of each only its first bytes, as many as are said."""

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


# --- spanned zips ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _End:
    """What a zip's last record says: its own disk, and where the directory of members is."""

    disk: int
    directory_disk: int
    size: int
    offset: int
    pointer: bytes
    """where the 64-bit form of this record is, if there is one"""


def _end_of(last: Path) -> _End:
    with last.open("rb") as stream:
        length = stream.seek(0, io.SEEK_END)
        start = stream.seek(max(0, length - END.size - COMMENT_MAX - POINTER64.size))
        tail = stream.read(length - start)
    at = tail.rfind(END_MARK)
    if at < 0 or len(tail) < at + END.size:
        raise UserError(f"{last}: not a whole zip (its end is missing). Delete it and get it again.")
    _, disk, directory_disk, _, _, size, offset, _ = END.unpack_from(tail, at)
    pointer = tail[max(0, at - POINTER64.size) : at]
    return _End(disk, directory_disk, size, offset, pointer if pointer.startswith(POINTER64_MARK) else b"")


def _refuse_a_lone_disk(path: Path) -> None:
    """A zip whose earlier disks are not there would be read as nonsense."""
    try:
        end = _end_of(path)
    except UserError:
        return  # zipfile says what is wrong with it
    if 0 < end.disk < ELSEWHERE16:
        _refuse_missing([path.with_name(f"{path.stem}.z{number:02}") for number in range(1, end.disk + 1)])


def _as_one_disk(holder: Holder, streams: Sequence[BinaryIO], sizes: Sequence[int]) -> tuple[list[BinaryIO], list[int]]:
    """The disks up to the directory, and the directory with places in the whole instead of places on a disk."""
    starts = [0, *accumulate(sizes)]
    whole = io.BufferedReader(Joined(streams, sizes))
    end = _end_of(holder.parts[-1])
    damaged = UserError(f"{holder.parts[-1]}: the zip's directory is damaged. Get all parts again.")
    directory_disk, size, offset = end.directory_disk, end.size, end.offset
    if end.pointer:
        _, disk, place, _ = POINTER64.unpack(end.pointer)
        whole.seek(starts[min(disk, len(sizes))] + place)
        record = whole.read(END64.size)
        if len(record) < END64.size or not record.startswith(END64_MARK):
            raise damaged
        _, _, _, _, _, directory_disk, _, _, size, offset = END64.unpack(record)
    begin = starts[min(directory_disk, len(sizes))] + offset
    whole.seek(begin)
    directory = whole.read(size)
    if len(directory) < size:
        raise damaged
    entries = list(_rewritten(holder, directory, starts))
    index = bisect_right(starts, begin) - 1
    tail = _directory(entries, begin)
    kept = [*sizes[:index], begin - starts[index], len(tail)]
    return [*streams[: index + 1], io.BytesIO(tail)], kept


def _rewritten(holder: Holder, directory: bytes, starts: Sequence[int]) -> Iterator[bytes]:
    """Every member's entry with its place in the whole, always as a 64-bit number."""
    at = 0
    while at < len(directory):
        if len(directory) < at + ENTRY.size or not directory.startswith(ENTRY_MARK, at):
            raise UserError(f"{holder.parts[-1]}: the zip's directory is damaged. Get all parts again.")
        fields = list(ENTRY.unpack_from(directory, at))
        packed, unpacked, name_size, extra_size, comment_size, disk, offset = *fields[8:13], fields[13], fields[16]
        name_at = at + ENTRY.size
        extra_at, comment_at = name_at + name_size, name_at + name_size + extra_size
        at = comment_at + comment_size
        wide, others = _extra64(directory[extra_at:comment_at])
        sizes = [wide.pop(0) for size in (unpacked, packed) if size == ELSEWHERE32]
        offset = wide.pop(0) if offset == ELSEWHERE32 else offset
        disk = wide.pop(0) & ELSEWHERE32 if disk == ELSEWHERE16 else disk
        if disk >= len(holder.parts) or offset >= starts[disk + 1] - starts[disk]:
            part = holder.parts[min(disk, len(holder.parts) - 1)]
            raise UserError(f"{part}: ends before a member that begins at its byte {offset}. Get this part again.")
        numbers = [*sizes, starts[disk] + offset]
        extra = struct.pack(f"<2H{len(numbers)}Q", EXTRA64, 8 * len(numbers), *numbers) + others
        fields[11], fields[13], fields[16] = len(extra), 0, ELSEWHERE32
        yield ENTRY.pack(*fields) + directory[name_at:extra_at] + extra + directory[comment_at:at]


def _extra64(extra: bytes) -> tuple[list[int], bytes]:
    """The 64-bit numbers of an entry's extra field (the last one may be a 32-bit disk), and the other extra fields."""
    wide: list[int] = []
    others = b""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        field = extra[at + 4 : at + 4 + size]
        if kind == EXTRA64:
            padded = field + bytes(-len(field) % 8)
            wide = list(struct.unpack(f"<{len(padded) // 8}Q", padded))
        else:
            others += extra[at : at + 4 + size]
        at += 4 + size
    return wide, others


def _directory(entries: Sequence[bytes], begin: int) -> bytes:
    """A directory of one disk with its end records."""
    content = b"".join(entries)
    count, size = len(entries), len(content)
    end64 = END64.pack(END64_MARK, END64.size - 12, 45, 45, 0, 0, count, count, size, begin)
    pointer = POINTER64.pack(POINTER64_MARK, 0, begin + size, 1)
    end = END.pack(END_MARK, 0, 0, ELSEWHERE16, ELSEWHERE16, ELSEWHERE32, ELSEWHERE32, 0)
    return content + end64 + pointer + end
