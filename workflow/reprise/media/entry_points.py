"""Where decoding may begin in a video, so that every later frame has the pixels that a decoding from the start gives.

A container's keyframes are not enough: an H.264 picture that is marked as one may still be followed by pictures that
refer to what came before it. What the codec's own bytes say is looked at.
"""

from collections.abc import Iterator
from typing import Any

from av.packet import Packet
from av.video.stream import VideoStream

# After a keyframe of these nothing refers to what came before it, but for pictures that are shown before it.
BY_FLAG = frozenset({
    "av1", "libdav1d", "gif", "mjpeg", "mpeg1video", "mpeg2video", "mpeg4", "png", "prores", "vp8", "vp9",
})  # fmt: skip
H264, HEVC = "h264", "hevc"
IDR, SEI = 5, 6
RECOVERY_POINT = 6
IRAP = range(16, 22)
# Of a record that says how long the numbers are which say how long units are.
LENGTH_AT = {H264: 4, HEVC: 21}
START_CODE = b"\0\0\1"


def may_begin_at(packet: "Packet[Any]", stream: VideoStream) -> bool:
    """Whether a decoder that is given this packet first shows it, and all that is shown after it, as it is."""
    if not packet.is_keyframe:
        return False
    codec = stream.codec_context.codec.canonical_name
    if codec in BY_FLAG:
        return True
    if codec not in LENGTH_AT:
        return False
    units = list(_units(bytes(packet), bytes(stream.codec_context.extradata or b""), LENGTH_AT[codec]))
    if codec == HEVC:
        return any((unit[0] >> 1) & 0x3F in IRAP for unit in units)
    kinds = [unit[0] & 0x1F for unit in units]
    return IDR in kinds or any(_is_exact(unit) for kind, unit in zip(kinds, units, strict=True) if kind == SEI)


def _units(content: bytes, record: bytes, length_at: int) -> Iterator[bytes]:
    """The units of a packet, each after its length, or after a code that begins it."""
    if record[:1] != b"\1" or len(record) <= length_at:
        yield from (unit for unit in content.split(START_CODE)[1:] if unit)
        return
    size, at = (record[length_at] & 3) + 1, 0
    while at + size < len(content):
        length = int.from_bytes(content[at : at + size])
        unit = content[at + size : at + size + length]
        if unit:
            yield unit
        at += size + length


def _is_exact(unit: bytes) -> bool:
    """Whether a unit of additional information says that all is exact from this picture on: `recovery_frame_cnt` is 0,
    which is the bit 1, and `exact_match_flag` is the next one."""
    at = 1
    while at + 2 < len(unit):
        kind, at = _sum_of_bytes(unit, at)
        size, at = _sum_of_bytes(unit, at)
        if kind == RECOVERY_POINT:
            return at < len(unit) and unit[at] >> 6 == 0b11
        at += size
    return False


def _sum_of_bytes(unit: bytes, at: int) -> tuple[int, int]:
    """A number that is written as 255 so many times and a rest; and the place behind it."""
    total = 0
    while at < len(unit) and unit[at] == 255:
        total, at = total + 255, at + 1
    return total + (unit[at] if at < len(unit) else 0), at + 1
