"""Check that a file has all the bytes that its container declares.

ffmpeg's demuxers report the end of a truncated file as an ordinary end of stream. Without this check, frames would be
lost without an error.
"""

from collections.abc import Callable
from pathlib import Path

from reprise.media.containers import (
    BrokenStructureError,
    ContainerFile,
    find_end_of_boxes,
    find_end_of_elements,
    find_end_of_objects,
    find_end_of_packs,
    find_end_of_pages,
    find_end_of_riff,
    find_end_of_tags,
    find_end_of_transport,
)
from reprise.media.errors import MediaError
from reprise.media.opening import find_demuxer


def check_complete(path: Path) -> None:
    """Raise an error if a file is shorter than its container declares.

    Raises:
        MediaError: `truncated` if bytes are missing at the end, `corrupt` if the structure is broken earlier.
    """
    find_end = END_FINDER_BY_DEMUXER.get(find_demuxer(path))
    if find_end is None:
        return
    with path.open("rb") as stream:
        file = ContainerFile(stream, path.stat().st_size)
        try:
            declared_end = find_end(file)
        except BrokenStructureError as error:
            if not file.is_zero_from(error.position):
                raise MediaError("corrupt", f"{path.name}: no {error.expected} at byte {error.position}") from error
            raise MediaError("truncated", f"{path.name}: only zeros after byte {error.position}") from error
    if declared_end > file.size:
        raise MediaError(
            "truncated",
            f"{path.name}: has {file.size} bytes, its structure needs at least {declared_end}; fetch it again",
        )


# GIF and still images


def _find_end_of_gif(file: ContainerFile) -> int:
    """Return the end of the last block, or more than the file size if the final byte is missing."""
    position = 13 + _count_palette_bytes(file.read(10, 1))  # the header, the screen's size and flags, its colour table
    while position < file.size:
        kind = file.read(position, 1)
        if kind == b";":
            return position + 1
        if kind == b"!":  # an extension, with its label
            position += 2
        elif kind == b",":  # an image: its descriptor, colour table and code size
            position += 11 + _count_palette_bytes(file.read(position + 9, 1))
        else:
            raise BrokenStructureError(position, "block")
        while (length := file.read(position, 1)) not in (b"\0", b""):  # data in blocks that state their lengths
            position += 1 + length[0]
        position += 1
    return max(position, file.size) + 1  # The trailer byte is missing.


def _count_palette_bytes(flags: bytes) -> int:
    """Return the number of bytes of a colour table."""
    return 3 << ((flags[0] & 7) + 1) if flags and flags[0] & 0x80 else 0


def _find_end_of_png(file: ContainerFile) -> int:
    """Return the end of the chunk IEND, or more than the file size if it is missing."""
    position, kind = 8, b""
    while kind != b"IEND":
        header = file.read(position, 8)
        if len(header) < 8:
            return position + 12  # The smallest chunk has 12 bytes.
        kind = header[4:]
        position += 12 + int.from_bytes(header[:4])
    return position


def _find_end_of_jpeg(file: ContainerFile) -> int:
    """Return the file size if an end marker follows the start of the first scan, or more if there is no end marker.

    Thumbnails in the metadata before the first scan have end markers of their own. The size is also returned if a
    marker before the scan is invalid: checking such a file is left to the decoder.
    """
    position = 2
    while (header := file.read(position, 4))[1:2] != b"\xda":
        if len(header) < 4:
            return position + 4
        if header[0] != 0xFF:
            return file.size
        # Any number of 0xff bytes may precede a marker.
        position += 1 if header[1] == 0xFF else 2 + int.from_bytes(header[2:])
    scan = file.read(position, file.size)
    return file.size if b"\xff\xd9" in scan else file.size + 2


END_FINDER_BY_DEMUXER: dict[str, Callable[[ContainerFile], int]] = {
    "mov": find_end_of_boxes,
    "matroska": find_end_of_elements,
    "avi": find_end_of_riff,
    "flv": find_end_of_tags,
    "ogg": find_end_of_pages,
    "asf": find_end_of_objects,
    "mpeg": find_end_of_packs,
    "mpegts": find_end_of_transport,
    "gif": _find_end_of_gif,
    "png_pipe": _find_end_of_png,
    "jpeg_pipe": _find_end_of_jpeg,
    "webp_pipe": find_end_of_riff,
}
