"""Where the structure of a container ends, by the sizes that it stores; the coded pictures are not read."""

import re
import struct
from io import BufferedReader
from typing import NamedTuple
from zlib import crc32

from reprise.media.opening import SYNC, SYNCS, TRANSPORT_PACKETS

NON_ZERO = re.compile(rb"[^\0]")


class File(NamedTuple):
    stream: BufferedReader
    size: int

    def read(self, position: int, count: int) -> bytes:
        if position >= self.size:  # also where a damaged size points beyond what can be sought
            return b""
        self.stream.seek(position)
        return self.stream.read(count)

    def is_zero_from(self, position: int) -> bool:
        """Whether only zeros follow, as in a download whose space was reserved and never filled."""
        self.stream.seek(position)
        return not any(NON_ZERO.search(block) for block in iter(lambda: self.stream.read(1 << 20), b""))


class BrokenError(Exception):
    """The structure ends at a position where it has to go on."""

    def __init__(self, position: int, expected: str) -> None:
        self.position = position
        self.expected = expected
        super().__init__(expected)


# ISO base media files: MP4, MOV, 3GP

MEDIA_BOXES = {b"moov", b"mdat", b"moof", b"mfra", b"sidx", b"styp", b"meta", b"uuid", b"emsg", b"prft", b"ftyp"}


def end_of_boxes(file: File) -> int:
    """The end of the last box that matters; what some cameras write after it is no box and is ignored."""
    position, promised, is_fragmented = 0, 0, False
    while position + 8 <= file.size:
        size, kind = struct.unpack(">I4s", file.read(position, 8))
        if size == 1:
            size = int.from_bytes(file.read(position + 8, 8))
        if size < 8:
            break  # 0 is a box up to the end of the file
        is_fragmented |= kind == b"moof"
        if kind in MEDIA_BOXES:
            promised = max(promised, position + size)
        if kind == b"sidx":
            promised = max(promised, _end_of_segments(file.read(position, min(size, 1 << 20)), position + size))
        position += size
    if is_fragmented and position < file.size:  # nothing else tells that fragments are missing
        if file.size - position < 8:
            return position + 8
        if file.is_zero_from(position):
            raise BrokenError(position, "box")
    return promised


def _end_of_segments(box: bytes, end: int) -> int:
    """The end of all the segments that a segment index lists."""
    at = 20  # size, name, version and flags, reference, time scale
    wide = box[8:9] != b"\0"
    offset = int.from_bytes(box[at + 8 : at + 16] if wide else box[at + 4 : at + 8])
    at += 16 if wide else 8
    count = int.from_bytes(box[at + 2 : at + 4])
    sizes = (int.from_bytes(box[place : place + 4]) & 0x7FFFFFFF for place in range(at + 4, at + 4 + 12 * count, 12))
    return end + offset + sum(sizes)


# Matroska and WebM

SEGMENT, CLUSTER = 0x18538067, 0x1F43B675
LARGEST_CLUSTER = 1 << 26  # bytes that are read at once; usual ones have 5 MB
ANYWHERE = {0xEC, 0xBF}  # padding and checksums
LEVEL_1_LENGTH = 4  # bytes of the names of a segment's children; those of a cluster's are shorter


class _Element(NamedTuple):
    name: int
    name_length: int
    body: int
    end: int | None  # None: its size is unknown, as in a live stream


def _element(file: File, position: int) -> _Element | None:
    """The element at a position, None where the file ends within its header."""
    return _parse_element(file.read(position, 12), 0, position)


def _parse_element(content: bytes, start: int, position: int) -> _Element | None:
    """The element that begins at a place of some content; `position` is where it begins in the file."""
    if start >= len(content):
        return None
    name_length = 9 - content[start].bit_length()
    if name_length > LEVEL_1_LENGTH:
        raise BrokenError(position, "element")
    at = start + name_length
    if at >= len(content):
        return None
    size_length = 9 - content[at].bit_length()
    if size_length > 8:
        raise BrokenError(position, "element")
    if at + size_length > len(content):
        return None
    largest = (1 << 7 * size_length) - 1
    size = int.from_bytes(content[at : at + size_length]) & largest
    body = position + name_length + size_length
    return _Element(int.from_bytes(content[start:at]), name_length, body, None if size == largest else body + size)


def end_of_elements(file: File) -> int:
    """The end of the segments; their clusters are read block by block, since a demuxer skips what it cannot read."""
    position = 0
    while position < file.size:
        element = _element(file, position)
        if element is None:
            return file.size + 1
        if element.name == SEGMENT:
            if element.end is not None and element.end > file.size:
                return element.end
            return _end_of_children(file, element.body, element.end or file.size)
        if element.end is None:
            raise BrokenError(position, "segment")
        position = element.end
    return position + 1  # no segment


def _end_of_children(file: File, position: int, end: int) -> int:
    """The end of a segment's children."""
    is_in_cluster = False  # within one of unknown size, whose children are followed by the segment's next child
    while position < end:
        element = _element(file, position)
        if element is None:
            return file.size + 1
        if element.name == CLUSTER and element.end is not None and element.end <= file.size:
            _check_cluster(file, element.body, element.end)
        is_of_cluster = element.name_length < LEVEL_1_LENGTH
        if element.name == CLUSTER and element.end is None:
            is_in_cluster, position = True, element.body
            continue
        if element.end is None or (is_of_cluster and not is_in_cluster and element.name not in ANYWHERE):
            raise BrokenError(position, "element of a segment")
        if element.end > file.size:
            return element.end
        is_in_cluster, position = is_in_cluster and is_of_cluster, element.end
    return position


def _check_cluster(file: File, position: int, end: int) -> None:
    is_small = end - position <= LARGEST_CLUSTER
    content, offset = file.read(position, end - position) if is_small else b"", position
    while position < end:
        element = _parse_element(content, position - offset, position) if is_small else _element(file, position)
        if element is None or element.end is None or element.end > end:
            raise BrokenError(position, "element of a cluster")
        position = element.end


# AVI and WebP

UNFINISHED = {0, 0xFFFFFFFF}  # sizes that a program writes which cannot go back, or was killed


def end_of_riff(file: File) -> int:
    """The end of the last chunk, over all the RIFF lists of a large file."""
    position, promised = 0, 0
    while file.read(position, 4) == b"RIFF":
        size = int.from_bytes(file.read(position + 4, 4), "little")
        # Some programs count the list's own header as well. An unfinished list has no size, its chunks still count.
        end = file.size if size in UNFINISHED else position + size
        promised, position = max(promised, end), position + 12
        while position + 8 <= min(end, file.size):
            kind, length = struct.unpack("<4sI", file.read(position, 8))
            if kind == bytes(4) and file.is_zero_from(position):
                raise BrokenError(position, "chunk")
            if kind == b"LIST" and length in UNFINISHED:
                position += 12
                continue
            position += 8 + length + length % 2
            promised = max(promised, position - length % 2)
        if size in UNFINISHED and position < file.size:  # within the header of a chunk
            promised = position + 8
    return promised


# FLV


def end_of_tags(file: File) -> int:
    position = int.from_bytes(file.read(5, 4)) + 4
    promised = position
    while position < file.size:
        header = file.read(position, 11)
        if header[0] & 0x1F not in (8, 9, 18):
            if file.is_zero_from(position):
                raise BrokenError(position, "tag")
            break  # ffmpeg finds the next tag
        length = int.from_bytes(header[1:4])
        if header[0] & 0x1F == 18:
            promised = max(promised, _stated_size(file.read(position + 11, length)))
        position += 11 + length
        promised = max(promised, position)
        position += 4  # the size of the tag again
        if position - 4 < file.size:
            promised = max(promised, position)
    return promised


def _stated_size(script: bytes) -> int:
    """The size of the whole file by its metadata, 0 where they do not state it."""
    value = script.partition(b"\0\x08filesize\0")[2][:8]
    size = struct.unpack(">d", value)[0] if len(value) == 8 else 0.0
    return int(size) if 0 < size < 2**53 else 0


# Ogg

LAST_PAGE = 4
REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def end_of_pages(file: File) -> int:
    """The end of the last page; every stream has to end with a page that says so."""
    position, unfinished = 0, dict[bytes, bool]()
    while position < file.size:
        header = file.read(position, 27)
        if header[:4] != b"OggS"[: len(header)]:
            if unfinished and not any(unfinished.values()):
                break  # another program's tag
            raise BrokenError(position, "page")
        if len(header) < 27:
            return position + 27
        segments = file.read(position + 27, header[26])
        start, position = position, position + 27 + header[26] + sum(segments)
        if position > file.size or len(segments) < header[26]:
            return max(position, file.size + 1)
        page = file.read(start, position - start)
        if _checksum_of_page(page) != page[22:26]:  # a demuxer passes over such a page, and over its frames
            raise BrokenError(start, "whole page")
        unfinished[header[14:18]] = not header[5] & LAST_PAGE
    return file.size + any(unfinished.values())


def _checksum_of_page(page: bytes) -> bytes:
    """Return the checksum of a page, which counts its own bytes as zeros: zlib's, with the bits in reverse order."""
    content = (page[:22] + bytes(4) + page[26:]).translate(REVERSED_BITS)
    return (crc32(content, 0xFFFFFFFF) ^ 0xFFFFFFFF).to_bytes(4).translate(REVERSED_BITS)


# ASF: WMV

ASF_HEADER = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")
ASF_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
ASF_DATA = bytes.fromhex("3626b2758e66cf11a6d900aa0062ce6c")
ASF_INDEXES = {
    bytes.fromhex("90080033b1e5cf1189f400a0c90349cb"),
    bytes.fromhex("d329e2d6da35d111903400a0c90349be"),
}
ASF_DATA_HEADER = 50  # bytes before the packets


def end_of_objects(file: File) -> int:
    position = 0
    while (name := file.read(position, 16)) in {ASF_HEADER, ASF_DATA} | ASF_INDEXES:
        size = int.from_bytes(file.read(position + 16, 8), "little")
        if name == ASF_DATA and size <= ASF_DATA_HEADER:
            position = _end_of_broadcast(file, position)
        elif size < 24:
            break
        else:
            position += size
    if position < file.size and file.is_zero_from(position):
        raise BrokenError(position, "object")
    return position


def _end_of_broadcast(file: File, position: int) -> int:
    """The end of data whose length is not stated: packets of one size up to an index or the end of the file."""
    properties = file.read(0, position).partition(ASF_PROPERTIES)[2]
    packet = int.from_bytes(properties[76:80], "little")
    if packet == 0:
        return file.size
    position += ASF_DATA_HEADER
    while position < file.size and file.read(position, 16) not in ASF_INDEXES:
        position += packet
    return position


# MPEG program and transport streams

PACK, END_OF_PROGRAM = 0xBA, 0xB9
STUFFING = 4096  # bytes of zeros that may follow a program
START_CODE = b"\0\0\1"


def end_of_packs(file: File) -> int:
    """The end of the last packet of a program stream."""
    position = 0
    while position < file.size:
        header = file.read(position, 14)
        if not header.startswith(START_CODE[: len(header)]):
            next_code = file.read(position, 1 << 20).find(START_CODE)
            if next_code < 0:
                if file.size - position > STUFFING and file.is_zero_from(position):
                    raise BrokenError(position, "packet")
                return position
            position += next_code
            continue
        if len(header) < 6:
            return position + 6
        if header[3] == END_OF_PROGRAM:
            position += 4
        elif header[3] != PACK:
            position += 6 + int.from_bytes(header[4:6])
        elif header[4] >> 4 == 2:  # MPEG-1
            position += 12
        else:
            position += 14 + (header[13] & 7 if len(header) == 14 else 0)
    return position


def end_of_transport(file: File) -> int:
    """The end of the last packet, counted from the last ones: a recording may have lost bytes before."""
    window = min(file.size, 8192)
    start = file.size - window
    tail = file.read(start, window)
    zeros = window - len(tail.rstrip(b"\0"))
    if zeros > max(TRANSPORT_PACKETS):  # longer than a packet without its sync byte
        raise BrokenError(file.size - zeros, "packet")
    for size in TRANSPORT_PACKETS:
        for phase in range(size):
            syncs = tail[phase::size]
            if len(syncs) >= SYNCS and syncs.endswith(bytes([SYNC] * SYNCS)):
                first = start + phase - (size == 192) * 4  # a time stamp precedes each packet of a Blu-ray
                return first + -(-(file.size - first) // size) * size
    return file.size
