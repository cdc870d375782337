"""The one place that opens media: a file's first bytes tell its format, and only listed formats are opened.

ffmpeg believes what a file says of itself: a playlist (ffconcat, m3u8, mpd, sdp) would make it read other files of this
machine, and any text would become a video of letters. Here the demuxer is named for every file, never guessed, and may
open nothing but this one file.
"""

import stat
import struct
import warnings
from math import prod
from pathlib import Path
from typing import Any

import av
import cv2
import ffmpeg
import numpy as np
from av.container import InputContainer

from reprise.media.errors import MediaError

# How a file begins (offset, bytes) and the demuxer that reads it.
BOXES = (b"ftyp", b"moov", b"mdat", b"moof", b"styp", b"sidx", b"wide", b"free", b"skip", b"pnot")
VIDEOS = {
    "mov": tuple((4, box) for box in BOXES),
    "matroska": ((0, b"\x1a\x45\xdf\xa3"),),
    "avi": ((8, b"AVI "), (8, b"AVIX")),
    "flv": ((0, b"FLV"),),
    "ogg": ((0, b"OggS"),),
    "asf": ((0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"),),
    "mpeg": ((0, b"\0\0\1\xba"),),
    "mpegvideo": ((0, b"\0\0\1\xb3"),),
    "gif": ((0, b"GIF87a"), (0, b"GIF89a")),
}
PICTURES = {
    "png_pipe": ((0, b"\x89PNG\r\n\x1a\n"),),
    "jpeg_pipe": ((0, b"\xff\xd8\xff"),),
    "webp_pipe": ((8, b"WEBP"),),
    "bmp_pipe": ((0, b"BM"),),
}
HEADERS = ("PNG", "JPEG", "WEBP", "BMP")
TRANSPORT_PACKETS, SYNC, SYNCS = (188, 192, 204), 0x47, 4


def demuxer_of(path: Path) -> str:
    """The demuxer for a file by its first bytes; everything that is not listed is refused.

    So are special files: a pipe would block, and a device has no end.
    """
    try:
        status = path.stat()
    except ValueError as error:  # a NUL byte
        raise MediaError("unreadable", f"{path.name}: no file has such a name") from error
    except FileNotFoundError as error:
        raise MediaError("missing", f"{path.name}: no such file") from error
    except OSError as error:
        raise MediaError("unreadable", f"{path.name}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise MediaError("not_media", f"{path.name}: no regular file")
    if status.st_size == 0:
        raise MediaError("empty", f"{path.name}: 0 bytes")
    with path.open("rb") as stream:
        head = stream.read(4096)
    for name, beginnings in (VIDEOS | PICTURES).items():
        is_fitting = any(head.startswith(mark, at) for at, mark in beginnings)
        if is_fitting and (name not in {"avi", "webp_pipe"} or head.startswith(b"RIFF")):
            if _is_animated(name, head):
                raise MediaError("not_media", f"{path.name}: an animated picture; convert it to GIF or MP4")
            return name
    for size in TRANSPORT_PACKETS:  # whether packets of this size begin one after the other somewhere in the head
        for start in range(min(size, max(0, len(head) - SYNCS * size))):
            if all(head[at] == SYNC for at in range(start, start + SYNCS * size, size)):
                return "mpegts"
    formats = ", ".join([*VIDEOS, "mpegts", *(name.removesuffix("_pipe") for name in PICTURES)])
    raise MediaError("not_media", f"{path.name}: begins as none of the formats that are read ({formats})")


def _is_animated(demuxer: str, head: bytes) -> bool:
    """Whether a PNG or WebP file holds more pictures than the first, which alone would be read."""
    if demuxer == "webp_pipe":
        return head[12:16] == b"VP8X" and bool(head[20] & 2)
    return demuxer == "png_pipe" and b"acTL" in head.partition(b"IDAT")[0]


def open_container(path: Path, most_pixels: int | None = None) -> InputContainer:
    """A file opened for PyAV; decoders refuse larger pictures."""
    demuxer = demuxer_of(path)
    if most_pixels is not None:
        check_pixels(path, _size_by_header(path, demuxer), most_pixels)
    options = _restrictions(demuxer) | decoder_options(most_pixels)
    container: InputContainer = av.open(file_url(path), format=demuxer, options=options, metadata_errors="replace")
    return container


def check_pixels(path: Path, size: tuple[int, int], most: int) -> None:
    width, height = size
    if width * height > most:
        raise MediaError("too_many_pixels", f"{path.name}: {width}x{height}, allowed are {most} pixels (limits.pixels)")


def _size_by_header(path: Path, demuxer: str) -> tuple[int, int]:
    """The size that a file states, (0, 0) where it states none; nothing is decoded."""
    if demuxer in PICTURES:
        return _size_of_picture(path)
    options = _restrictions(demuxer) | {"codec_whitelist": "none"}
    with av.open(file_url(path), format=demuxer, options=options, metadata_errors="replace") as container:
        sizes = [
            (stream.width, stream.height) for stream in container.streams.video if stream.codec_context is not None
        ]
    return max(sizes, key=prod, default=(0, 0))


def _size_of_picture(path: Path) -> tuple[int, int]:
    """The same of a still picture, which ffmpeg would decode to find out."""
    from PIL import Image, UnidentifiedImageError  # few files are pictures

    Image.MAX_IMAGE_PIXELS = None  # the limit is the configured one
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(path, formats=HEADERS) as picture,
        ):
            return picture.size
    except (UnidentifiedImageError, OSError, EOFError, ValueError, SyntaxError, LookupError, struct.error) as error:
        raise MediaError("corrupt", f"{path.name}: no readable header") from error


def decoder_options(most_pixels: int | None) -> dict[str, str]:
    """What keeps a decoder from larger pictures than these, whatever the file says of itself."""
    return {} if most_pixels is None else {"max_pixels": str(most_pixels)}


def ffmpeg_input(path: Path, number: int = 0, **options: Any) -> Any:
    """Open a file as an input of an ffmpeg command.

    ffmpeg-python merges equal inputs, and refuses to use one input twice. The number of an input within its command
    tells equal files apart: it becomes the length of a queue, which shapes no frame.
    """
    demuxer = demuxer_of(path)
    if number:
        options["thread_queue_size"] = 8 + number
    return ffmpeg.input(file_url(path), f=demuxer, threads=1, **_restrictions(demuxer), **options)


def picture_input(path: Path, number: int = 0, **options: Any) -> Any:
    """A still picture, repeated without end, as an input of an ffmpeg command; the name is no pattern."""
    check_is_picture(path)
    return ffmpeg_input(path, number, loop=1, **options)


def drawn_input(description: str) -> Any:
    return ffmpeg.input(description, f="lavfi")


def check_is_picture(path: Path) -> None:
    if demuxer_of(path) not in PICTURES:
        raise MediaError("not_media", f"{path.name}: no PNG, JPEG, WebP or BMP picture")


def check_picture(path: Path, most_pixels: int | None = None) -> None:
    """Accept a still picture only after it decodes."""
    check_is_picture(path)
    if most_pixels is not None:
        check_pixels(path, _size_of_picture(path), most_pixels)
    content = np.fromfile(path, dtype=np.uint8)
    try:
        is_whole = cv2.imdecode(content, cv2.IMREAD_COLOR) is not None
    except cv2.error as error:  # for one, more pixels than OpenCV takes
        if error.code == -4:  # OpenCV's StsNoMem
            raise MemoryError(error.err) from error
        raise MediaError("corrupt", f"{path.name}: {error.err}") from error
    if not is_whole:
        raise MediaError("corrupt", f"{path.name}: not a whole picture")


def file_url(path: Path) -> str:
    """A file for ffmpeg: a name that begins like an option or a protocol is still a name."""
    return f"file:{path.absolute()}"


def _restrictions(demuxer: str) -> dict[str, str]:
    """Options that keep a demuxer to its own format and to files."""
    # A mov file may name others that hold its samples: never followed, as by ffmpeg's own default.
    references = {"enable_drefs": "0", "use_absolute_path": "0"} if demuxer == "mov" else {}
    return {"format_whitelist": demuxer, "protocol_whitelist": "file", **references}
