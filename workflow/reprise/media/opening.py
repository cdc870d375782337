"""Open media files safely: select the demuxer by a file's first bytes, and reject formats that are not listed.

ffmpeg itself guesses a file's format from its content. A playlist (ffconcat, m3u8, mpd, sdp) would make it read other
files of this machine, and it would show any text as a video. All files are therefore opened by this module,
which names the demuxer and allows it to open only this file.
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

# Types of the boxes with which an MP4 or MOV file may begin.
MOV_BOXES = (b"ftyp", b"moov", b"mdat", b"moof", b"styp", b"sidx", b"wide", b"free", b"skip", b"pnot")
# ffmpeg's demuxer -> signatures (offset, bytes) of the files that it reads.
VIDEO_SIGNATURES = {
    "mov": tuple((4, box) for box in MOV_BOXES),
    "matroska": ((0, b"\x1a\x45\xdf\xa3"),),
    "avi": ((8, b"AVI "), (8, b"AVIX")),
    "flv": ((0, b"FLV"),),
    "ogg": ((0, b"OggS"),),
    "asf": ((0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"),),
    "mpeg": ((0, b"\0\0\1\xba"),),
    "mpegvideo": ((0, b"\0\0\1\xb3"),),
    "gif": ((0, b"GIF87a"), (0, b"GIF89a")),
}
PICTURE_SIGNATURES = {
    "png_pipe": ((0, b"\x89PNG\r\n\x1a\n"),),
    "jpeg_pipe": ((0, b"\xff\xd8\xff"),),
    "webp_pipe": ((8, b"WEBP"),),
    "bmp_pipe": ((0, b"BM"),),
}
PILLOW_FORMATS = ("PNG", "JPEG", "WEBP", "BMP")
# Possible sizes of a transport stream's packets, the byte with which each begins, and how many of them must be there.
TRANSPORT_PACKET_SIZES, SYNC_BYTE, SYNC_COUNT = (188, 192, 204), 0x47, 4


def find_demuxer(path: Path) -> str:
    """Return the demuxer for a file by its first bytes.

    Special files are rejected, because a pipe would block and a device has no end.

    Raises:
        MediaError: the file is missing, empty, unreadable or of a format that is not listed.
    """
    try:
        status = path.stat()
    except ValueError as error:  # The name contains a NUL byte.
        raise MediaError("unreadable", f"{path.name}: not a valid file name") from error
    except FileNotFoundError as error:
        raise MediaError("missing", f"{path.name}: no such file") from error
    except OSError as error:
        raise MediaError("unreadable", f"{path.name}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise MediaError("not_media", f"{path.name}: not a regular file")
    if status.st_size == 0:
        raise MediaError("empty", f"{path.name}: 0 bytes")
    with path.open("rb") as file:
        head = file.read(4096)
    for name, signatures in (VIDEO_SIGNATURES | PICTURE_SIGNATURES).items():
        is_match = any(head.startswith(signature, offset) for offset, signature in signatures)
        if name in {"avi", "webp_pipe"}:  # These formats share the container RIFF.
            is_match &= head.startswith(b"RIFF")
        if is_match:
            if _is_animated(name, head):
                raise MediaError("not_media", f"{path.name}: an animated picture; convert it to GIF or MP4")
            return name
    for size in TRANSPORT_PACKET_SIZES:  # Search for sync bytes at this distance.
        # SYNC_COUNT whole packets, and one more byte, must lie within `head`.
        start_count = min(size, max(0, len(head) - SYNC_COUNT * size))
        for start in range(start_count):
            if all(head[offset] == SYNC_BYTE for offset in range(start, start + SYNC_COUNT * size, size)):
                return "mpegts"
    formats = ", ".join([*VIDEO_SIGNATURES, "mpegts", *(name.removesuffix("_pipe") for name in PICTURE_SIGNATURES)])
    raise MediaError("not_media", f"{path.name}: none of the supported formats ({formats})")


def _is_animated(demuxer: str, head: bytes) -> bool:
    """Return whether a PNG or WebP file is animated; ffmpeg would read only its first picture."""
    if demuxer == "webp_pipe":
        return head[12:16] == b"VP8X" and bool(head[20] & 2)
    return demuxer == "png_pipe" and b"acTL" in head.partition(b"IDAT")[0]


def open_container(path: Path, max_pixels: int | None = None) -> InputContainer:
    """Open a file with PyAV; its decoders reject pictures of more than `max_pixels` pixels."""
    demuxer = find_demuxer(path)
    if max_pixels is not None:
        check_pixels(path, _read_header_size(path, demuxer), max_pixels)
    options = _build_restrictions(demuxer) | build_decoder_options(max_pixels)
    container: InputContainer = av.open(file_url(path), format=demuxer, options=options, metadata_errors="replace")
    return container


def check_pixels(path: Path, size: tuple[int, int], max_pixels: int) -> None:
    """Raise an error if a picture has more pixels than allowed."""
    width, height = size
    if width * height > max_pixels:
        raise MediaError(
            "too_many_pixels", f"{path.name}: {width}x{height}, at most {max_pixels} pixels are allowed (limits.pixels)"
        )


def _read_header_size(path: Path, demuxer: str) -> tuple[int, int]:
    """Return the picture size that a file's header states, or (0, 0) if it states none, without decoding."""
    if demuxer in PICTURE_SIGNATURES:
        return _read_picture_size(path)
    options = _build_restrictions(demuxer) | {"codec_whitelist": "none"}
    with av.open(file_url(path), format=demuxer, options=options, metadata_errors="replace") as container:
        sizes = [
            (stream.width, stream.height) for stream in container.streams.video if stream.codec_context is not None
        ]
    return max(sizes, key=prod, default=(0, 0))


def _read_picture_size(path: Path) -> tuple[int, int]:
    """Return the size of a still image with Pillow, because ffmpeg would decode the image to determine it."""
    from PIL import Image, UnidentifiedImageError  # Few files are still images, so most processes do not need Pillow.

    Image.MAX_IMAGE_PIXELS = None  # The configured limit replaces Pillow's.
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(path, formats=PILLOW_FORMATS) as picture,
        ):
            return picture.size
    except (UnidentifiedImageError, OSError, EOFError, ValueError, SyntaxError, LookupError, struct.error) as error:
        raise MediaError("corrupt", f"{path.name}: no readable header") from error


def build_decoder_options(max_pixels: int | None) -> dict[str, str]:
    """Return the options that make a decoder reject larger pictures, even if the header states a smaller size."""
    return {} if max_pixels is None else {"max_pixels": str(max_pixels)}


def ffmpeg_input(path: Path, number: int = 0, **options: Any) -> Any:
    """Return an input of an ffmpeg command that reads a file.

    ffmpeg-python merges equal inputs and refuses to use one input twice. The number of an input within its command
    distinguishes equal files: it becomes the length of a queue, which does not affect the frames.
    """
    demuxer = find_demuxer(path)
    if number:
        options["thread_queue_size"] = 8 + number
    return ffmpeg.input(file_url(path), f=demuxer, threads=1, **_build_restrictions(demuxer), **options)


def picture_input(path: Path, number: int = 0, **options: Any) -> Any:
    """Return an input of an ffmpeg command that repeats a still image.

    Its demuxer takes the file's name literally; the usual one would read `%d` as the number of an image.
    """
    check_is_picture(path)
    return ffmpeg_input(path, number, loop=1, **options)


def lavfi_input(description: str) -> Any:
    """Return an input of an ffmpeg command that a filter graph generates."""
    return ffmpeg.input(description, f="lavfi")


def check_is_picture(path: Path) -> None:
    """Raise an error unless a file begins as a still image of a supported format."""
    if find_demuxer(path) not in PICTURE_SIGNATURES:
        raise MediaError("not_media", f"{path.name}: not a PNG, JPEG, WebP or BMP picture")


def check_picture(path: Path, max_pixels: int | None = None) -> None:
    """Raise an error unless a still image is complete and can be decoded."""
    check_is_picture(path)
    if max_pixels is not None:
        check_pixels(path, _read_picture_size(path), max_pixels)
    content = np.fromfile(path, dtype=np.uint8)
    try:
        is_whole = cv2.imdecode(content, cv2.IMREAD_COLOR) is not None
    except cv2.error as error:  # For example, the image has more pixels than OpenCV allows.
        if error.code == -4:  # This is OpenCV's StsNoMem, a lack of memory.
            raise MemoryError(error.err) from error
        raise MediaError("corrupt", f"{path.name}: {error.err}") from error
    if not is_whole:
        raise MediaError("corrupt", f"{path.name}: incomplete picture")


def file_url(path: Path) -> str:
    """Return a file's URL for ffmpeg, which could mistake a plain name for an option or a protocol."""
    return f"file:{path.absolute()}"


def _build_restrictions(demuxer: str) -> dict[str, str]:
    """Return the options that restrict a demuxer to its own format and to local files."""
    # The samples of a mov file may lie in other files. With these default options, ffmpeg never opens them.
    references = {"enable_drefs": "0", "use_absolute_path": "0"} if demuxer == "mov" else {}
    return {"format_whitelist": demuxer, "protocol_whitelist": "file", **references}
