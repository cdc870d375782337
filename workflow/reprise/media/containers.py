"""Find the end that a container declares, from the sizes that it stores and without decoding pictures.

Each section parses one family of containers. Every `find_end_of_...` returns the number of bytes that the file must
have at least; a larger number than the file's size means that the file is truncated.
"""

import re
import struct
from io import BufferedReader
from typing import NamedTuple
from zlib import crc32

from reprise.media.opening import SYNC_BYTE, SYNC_COUNT, TRANSPORT_PACKET_SIZES

NON_ZERO = re.compile(rb"[^\0]")


class ContainerFile(NamedTuple):
    """An open file with its size."""

    stream: BufferedReader
    size: int

    def read(self, position: int, count: int) -> bytes:
        """Return up to `count` bytes at a position; fewer at the end of the file."""
        if position >= self.size:  # A damaged size may also point beyond the largest offset that seek() accepts.
            return b""
        self.stream.seek(position)
        return self.stream.read(count)

    def is_zero_from(self, position: int) -> bool:
        """Return whether only zeros follow, as in an incomplete download to preallocated space."""
        self.stream.seek(position)
        return not any(NON_ZERO.search(block) for block in iter(lambda: self.stream.read(1 << 20), b""))


class BrokenStructureError(Exception):
    """The structure of a container has no `expected` element at a position."""

    def __init__(self, position: int, expected: str) -> None:
        self.position = position
        self.expected = expected
        super().__init__(expected)


# ISO base media files: MP4, MOV, 3GP

# Types of the top-level boxes of a media file; anything else at its end was appended by another program.
MEDIA_BOXES = {b"moov", b"mdat", b"moof", b"mfra", b"sidx", b"styp", b"meta", b"uuid", b"emsg", b"prft", b"ftyp"}


def find_end_of_boxes(file: ContainerFile) -> int:
    """Return the end of the last media box; other bytes after it, which some cameras append, are ignored."""
    position, declared_end, is_fragmented = 0, 0, False
    while position + 8 <= file.size:
        size, kind = struct.unpack(">I4s", file.read(position, 8))
        if size == 1:  # The size is in the 8 bytes after the type.
            size = int.from_bytes(file.read(position + 8, 8))
        if size < 8:
            break  # A box of size 0 extends to the end of the file.
        is_fragmented |= kind == b"moof"
        if kind in MEDIA_BOXES:
            declared_end = max(declared_end, position + size)
        if kind == b"sidx":
            declared_end = max(
                declared_end, _find_end_of_segments(file.read(position, min(size, 1 << 20)), position + size)
            )
        position += size
    if is_fragmented and position < file.size:  # Bytes after the last box are the only sign of missing fragments.
        if file.size - position < 8:
            return position + 8
        if file.is_zero_from(position):
            raise BrokenStructureError(position, "box")
    return declared_end


def _find_end_of_segments(box: bytes, end: int) -> int:
    """Return the end of the segments that a segment index lists."""
    cursor = 20  # Skip size, name, version and flags, reference id, and time scale.
    is_wide = box[8:9] != b"\0"
    offset = int.from_bytes(box[cursor + 8 : cursor + 16] if is_wide else box[cursor + 4 : cursor + 8])
    cursor += 16 if is_wide else 8
    count = int.from_bytes(box[cursor + 2 : cursor + 4])
    entry_positions = range(cursor + 4, cursor + 4 + 12 * count, 12)
    # The first bit of a size says whether the entry refers to another index.
    sizes = (int.from_bytes(box[position : position + 4]) & 0x7FFFFFFF for position in entry_positions)
    return end + offset + sum(sizes)


# Matroska and WebM

SEGMENT, CLUSTER = 0x18538067, 0x1F43B675  # ids of elements
MAX_BUFFERED_CLUSTER = 1 << 26  # bytes that are read at once; a usual cluster has 5 MB
GLOBAL_ELEMENTS = {0xEC, 0xBF}  # padding and checksums
SEGMENT_CHILD_ID_LENGTH = 4  # bytes of the ids of a segment's children; the ids of a cluster's children are shorter


class _Element(NamedTuple):
    """An element of Matroska: an id and a size, followed by its body."""

    element_id: int
    id_length: int  # bytes
    body_start: int  # position in the file
    end: int | None  # None if the size is unknown, as in a live stream


def _read_element(file: ContainerFile, position: int) -> _Element | None:
    """Return the element at a position, or None if the file ends within its header."""
    return _parse_element(file.read(position, 12), 0, position)


def _parse_element(content: bytes, start: int, position: int) -> _Element | None:
    """Return the element at index `start` of `content`; `position` is its offset in the file."""
    if start >= len(content):
        return None
    # In the ids and sizes of Matroska, the leading zero bits of the first byte state how many bytes follow it.
    id_length = 9 - content[start].bit_length()
    if id_length > SEGMENT_CHILD_ID_LENGTH:
        raise BrokenStructureError(position, "element")
    cursor = start + id_length
    if cursor >= len(content):
        return None
    size_length = 9 - content[cursor].bit_length()
    if size_length > 8:
        raise BrokenStructureError(position, "element")
    if cursor + size_length > len(content):
        return None
    unknown_size = (1 << 7 * size_length) - 1
    size = int.from_bytes(content[cursor : cursor + size_length]) & unknown_size
    body_start = position + id_length + size_length
    end = None if size == unknown_size else body_start + size
    return _Element(int.from_bytes(content[start:cursor]), id_length, body_start, end)


def find_end_of_elements(file: ContainerFile) -> int:
    """Return the end of the first segment.

    Clusters are checked block by block, because a demuxer skips the blocks that it cannot read.
    """
    position = 0
    while position < file.size:
        element = _read_element(file, position)
        if element is None:
            return file.size + 1
        if element.element_id == SEGMENT:
            if element.end is not None and element.end > file.size:
                return element.end
            return _find_end_of_children(file, element.body_start, element.end or file.size)
        if element.end is None:
            raise BrokenStructureError(position, "segment")
        position = element.end
    return position + 1  # There is no segment, so the file lacks bytes.


def _find_end_of_children(file: ContainerFile, position: int, end: int) -> int:
    """Return the end of a segment's children."""
    # Within a cluster of unknown size, the segment's next child directly follows the cluster's children.
    is_in_cluster = False
    while position < end:
        element = _read_element(file, position)
        if element is None:
            return file.size + 1
        if element.element_id == CLUSTER and element.end is not None and element.end <= file.size:
            _check_cluster(file, element.body_start, element.end)
        is_of_cluster = element.id_length < SEGMENT_CHILD_ID_LENGTH
        if element.element_id == CLUSTER and element.end is None:
            is_in_cluster, position = True, element.body_start
            continue
        if element.end is None or (is_of_cluster and not is_in_cluster and element.element_id not in GLOBAL_ELEMENTS):
            raise BrokenStructureError(position, "element of a segment")
        if element.end > file.size:
            return element.end
        is_in_cluster, position = is_in_cluster and is_of_cluster, element.end
    return position


def _check_cluster(file: ContainerFile, start: int, end: int) -> None:
    """Raise an error unless a cluster consists of whole elements."""
    is_small = end - start <= MAX_BUFFERED_CLUSTER
    content = file.read(start, end - start) if is_small else b""
    position = start
    while position < end:
        element = _parse_element(content, position - start, position) if is_small else _read_element(file, position)
        if element is None or element.end is None or element.end > end:
            raise BrokenStructureError(position, "element of a cluster")
        position = element.end


# AVI and WebP

UNKNOWN_SIZES = {0, 0xFFFFFFFF}  # sizes by a writer that cannot seek back to the header, or that was killed


def find_end_of_riff(file: ContainerFile) -> int:
    """Return the end of the last chunk; a large file has several RIFF lists."""
    position, declared_end = 0, 0
    while file.read(position, 4) == b"RIFF":
        size = int.from_bytes(file.read(position + 4, 4), "little")
        # Some programs include the list's header in its size. A list without a size extends to the end of the file.
        end = file.size if size in UNKNOWN_SIZES else position + size
        declared_end, position = max(declared_end, end), position + 12
        while position + 8 <= min(end, file.size):
            kind, length = struct.unpack("<4sI", file.read(position, 8))
            if kind == bytes(4) and file.is_zero_from(position):
                raise BrokenStructureError(position, "chunk")
            if kind == b"LIST" and length in UNKNOWN_SIZES:
                position += 12  # Continue with the chunks within the list.
                continue
            position += 8 + length + length % 2
            declared_end = max(declared_end, position - length % 2)
        if size in UNKNOWN_SIZES and position < file.size:  # The file ends within the header of a chunk.
            declared_end = position + 8
    return declared_end


# FLV

AUDIO_TAG, VIDEO_TAG, METADATA_TAG = 8, 9, 18  # types of tags


def find_end_of_tags(file: ContainerFile) -> int:
    """Return the end of the last tag, or the file size that the metadata state if it is larger."""
    position = int.from_bytes(file.read(5, 4)) + 4  # Skip the header, and the size of a tag before the first: 0.
    declared_end = position
    while position < file.size:
        header = file.read(position, 11)
        kind = header[0] & 0x1F
        if kind not in (AUDIO_TAG, VIDEO_TAG, METADATA_TAG):
            if file.is_zero_from(position):
                raise BrokenStructureError(position, "tag")
            break  # ffmpeg searches for the next tag.
        length = int.from_bytes(header[1:4])
        if kind == METADATA_TAG:
            declared_end = max(declared_end, _parse_stated_size(file.read(position + 11, length)))
        position += 11 + length
        declared_end = max(declared_end, position)
        position += 4  # The size of the tag follows it once more.
        if position - 4 < file.size:
            declared_end = max(declared_end, position)
    return declared_end


def _parse_stated_size(script: bytes) -> int:
    """Return the file size that the metadata states, or 0 if they state none."""
    value = script.partition(b"\0\x08filesize\0")[2][:8]
    size = struct.unpack(">d", value)[0] if len(value) == 8 else 0.0
    return int(size) if 0 < size < 2**53 else 0


# Ogg

LAST_PAGE_FLAG = 4  # bit in a page's header
# Translation table: byte -> the byte with its bits in reverse order.
REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def find_end_of_pages(file: ContainerFile) -> int:
    """Return the end of the last page; every stream must end with a page that is flagged as its last."""
    position, is_open_by_stream = 0, dict[bytes, bool]()
    while position < file.size:
        header = file.read(position, 27)
        if header[:4] != b"OggS"[: len(header)]:
            if is_open_by_stream and not any(is_open_by_stream.values()):
                break  # Some programs append a tag.
            raise BrokenStructureError(position, "page")
        if len(header) < 27:
            return position + 27
        segments = file.read(position + 27, header[26])
        start, position = position, position + 27 + header[26] + sum(segments)
        if position > file.size or len(segments) < header[26]:
            return max(position, file.size + 1)
        page = file.read(start, position - start)
        if _compute_page_checksum(page) != page[22:26]:  # A demuxer would skip this page and its frames.
            raise BrokenStructureError(start, "whole page")
        is_open_by_stream[header[14:18]] = not header[5] & LAST_PAGE_FLAG
    return file.size + any(is_open_by_stream.values())  # A stream without its last page lacks at least one byte.


def _compute_page_checksum(page: bytes) -> bytes:
    """Return the checksum of a page: zlib's CRC with reversed bits, over a page whose checksum field is zero."""
    content = (page[:22] + bytes(4) + page[26:]).translate(REVERSED_BITS)
    return (crc32(content, 0xFFFFFFFF) ^ 0xFFFFFFFF).to_bytes(4).translate(REVERSED_BITS)


# ASF: WMV

# The 16 bytes that identify the kinds of top-level objects.
ASF_HEADER = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")
ASF_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
ASF_DATA = bytes.fromhex("3626b2758e66cf11a6d900aa0062ce6c")
ASF_INDEXES = {
    bytes.fromhex("90080033b1e5cf1189f400a0c90349cb"),
    bytes.fromhex("d329e2d6da35d111903400a0c90349be"),
}
ASF_DATA_HEADER = 50  # bytes before the packets


def find_end_of_objects(file: ContainerFile) -> int:
    """Return the end of the last known top-level object."""
    position = 0
    while (object_id := file.read(position, 16)) in {ASF_HEADER, ASF_DATA} | ASF_INDEXES:
        size = int.from_bytes(file.read(position + 16, 8), "little")
        if object_id == ASF_DATA and size <= ASF_DATA_HEADER:  # written by a live broadcast
            position = _find_end_of_broadcast(file, position)
        elif size < 24:  # An object is at least as long as its id (16 bytes) and size (8 bytes).
            break
        else:
            position += size
    if position < file.size and file.is_zero_from(position):
        raise BrokenStructureError(position, "object")
    return position


def _find_end_of_broadcast(file: ContainerFile, position: int) -> int:
    """Return the end of a data object of unknown length, whose packets have equal sizes."""
    properties = file.read(0, position).partition(ASF_PROPERTIES)[2]  # the bytes after the object's id
    packet_size = int.from_bytes(properties[76:80], "little")  # the minimum size, which equals the maximum
    if packet_size == 0:
        return file.size
    position += ASF_DATA_HEADER
    while position < file.size and file.read(position, 16) not in ASF_INDEXES:
        position += packet_size
    return position


# MPEG program and transport streams

PACK, END_OF_PROGRAM = 0xBA, 0xB9  # fourth byte of a start code
MAX_STUFFING = 4096  # bytes of zeros that may follow a program
START_CODE = b"\0\0\1"


def find_end_of_packs(file: ContainerFile) -> int:
    """Return the end of the last packet of a program stream."""
    position = 0
    while position < file.size:
        header = file.read(position, 14)
        if not header.startswith(START_CODE[: len(header)]):
            next_code = file.read(position, 1 << 20).find(START_CODE)
            if next_code < 0:
                if file.size - position > MAX_STUFFING and file.is_zero_from(position):
                    raise BrokenStructureError(position, "packet")
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


def find_end_of_transport(file: ContainerFile) -> int:
    """Return the end of the last packet, which is found by the sync bytes at the end of the file.

    Packets are not counted from the file's start, because a recording may lack bytes in the middle.
    """
    window = min(file.size, 8192)
    start = file.size - window
    tail_bytes = file.read(start, window)
    zero_count = window - len(tail_bytes.rstrip(b"\0"))
    if zero_count > max(TRANSPORT_PACKET_SIZES):  # Each packet has a sync byte, so these zeros are no packets.
        raise BrokenStructureError(file.size - zero_count, "packet")
    for size in TRANSPORT_PACKET_SIZES:
        for phase in range(size):  # the offset of the sync bytes within the window is unknown
            sync_candidates = tail_bytes[phase::size]
            if len(sync_candidates) >= SYNC_COUNT and sync_candidates.endswith(bytes([SYNC_BYTE] * SYNC_COUNT)):
                # Packets of 192 bytes are those of a Blu-ray, in which a time stamp of 4 bytes precedes the sync byte.
                first_packet = start + phase - (size == 192) * 4
                packet_count = -(-(file.size - first_packet) // size)  # rounded up
                return first_packet + packet_count * size
    return file.size
