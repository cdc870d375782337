"""Check that a file holds all the bytes that its container's structure promises.

ffmpeg's demuxers report the end of a truncated file as an ordinary end of stream, so frames are lost without an error.
"""

from collections.abc import Callable
from pathlib import Path

from reprise.media.containers import (
    BrokenError,
    File,
    end_of_boxes,
    end_of_elements,
    end_of_objects,
    end_of_packs,
    end_of_pages,
    end_of_riff,
    end_of_tags,
    end_of_transport,
)
from reprise.media.errors import MediaError
from reprise.media.opening import demuxer_of


def check_complete(path: Path) -> None:
    """Refuse a file that ends before its container's structure does.

    Raises:
        MediaError: `truncated` if bytes are missing at the end, `corrupt` if the structure is broken before.
    """
    measure = STRUCTURES.get(demuxer_of(path))
    if measure is None:
        return
    with path.open("rb") as stream:
        file = File(stream, path.stat().st_size)
        try:
            promised = measure(file)
        except BrokenError as error:
            if not file.is_zero_from(error.position):
                raise MediaError("corrupt", f"{path.name}: no {error.expected} at byte {error.position}") from error
            raise MediaError("truncated", f"{path.name}: only zeros after byte {error.position}") from error
    if promised > file.size:
        raise MediaError(
            "truncated", f"{path.name}: has {file.size} bytes, its structure needs at least {promised}; get it again"
        )


# GIF and pictures


def _end_of_gif(file: File) -> int:
    position = 13 + _colours(file.read(10, 1))
    while position < file.size:
        kind = file.read(position, 1)
        if kind == b";":
            return position + 1
        if kind == b"!":
            position += 2
        elif kind == b",":
            position += 11 + _colours(file.read(position + 9, 1))
        else:
            raise BrokenError(position, "block")
        while (length := file.read(position, 1)) not in (b"\0", b""):
            position += 1 + length[0]
        position += 1
    return max(position, file.size) + 1  # its last byte is missing


def _colours(flags: bytes) -> int:
    """Bytes of a palette."""
    return 3 << (flags[0] & 7) + 1 if flags and flags[0] & 0x80 else 0


def _end_of_png(file: File) -> int:
    position, kind = 8, b""
    while kind != b"IEND":
        header = file.read(position, 8)
        if len(header) < 8:
            return position + 12
        kind = header[4:]
        position += 12 + int.from_bytes(header[:4])
    return position


def _end_of_jpeg(file: File) -> int:
    """The end marker after the first scan; thumbnails in the metadata before it have one too."""
    position = 2
    while (header := file.read(position, 4))[1:2] != b"\xda":
        if len(header) < 4:
            return position + 4
        if header[0] != 0xFF:
            return file.size  # left to the decoder
        # A marker may be filled up with more 0xff.
        position += 1 if header[1] == 0xFF else 2 + int.from_bytes(header[2:])
    scan = file.read(position, file.size)
    return file.size if b"\xff\xd9" in scan else file.size + 2


STRUCTURES: dict[str, Callable[[File], int]] = {
    "mov": end_of_boxes,
    "matroska": end_of_elements,
    "avi": end_of_riff,
    "flv": end_of_tags,
    "ogg": end_of_pages,
    "asf": end_of_objects,
    "mpeg": end_of_packs,
    "mpegts": end_of_transport,
    "gif": _end_of_gif,
    "png_pipe": _end_of_png,
    "jpeg_pipe": _end_of_jpeg,
    "webp_pipe": end_of_riff,
}
