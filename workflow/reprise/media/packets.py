"""A video's packets: which give a frame to show and when, and where decoding may begin in them."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import av
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from reprise.media.errors import MediaError, what
from reprise.media.settings import Limits

UNTIMED = {"avi", "mpegvideo"}  # containers that store no presentation times
MOST_REORDERED = 8  # frames between the order of decoding and that of display


def demux(container: InputContainer, stream: VideoStream | None = None) -> Iterator["Packet[Any]"]:
    """Yield the packets that hold data, of all streams or of one.

    Theora repeats a frame with an empty packet, which a decoder would take for the end.
    """
    try:
        for packet in container.demux() if stream is None else container.demux(stream):
            if packet.size:
                yield packet
    except IndexError:
        # PyAV fails after the last packet if a stream first appears in the middle of a file. All packets have come.
        return


class _Packet(NamedTuple):
    tick: int | None  # presentation time
    dts: int | None
    is_shown: bool


class Packets(NamedTuple):
    ticks: list[int]  # presentation times of the packets that a decoder shows
    total: int  # all of them, those that are discarded too
    end_s: float  # where the last stream ends
    is_cut: bool  # whether the last packet of a stream lacks bytes at the end of the file
    is_timed: bool
    duration: int  # of the last packet, 0 where it is unknown
    first: VideoFrame | None  # the first picture, which tells how the others are shown
    entries: list[tuple[int, int]]  # where decoding may begin


def read_packets(path: Path, container: InputContainer, stream: VideoStream, limits: Limits | None) -> Packets:
    """One pass over the packets; only the first picture is decoded.

    Nothing else tells its rotation, and whether a decoder shows leading pictures, which are displayed before the
    keyframe that they follow.
    """
    packets: list[_Packet] = []
    entries: list[tuple[int, int]] = []
    has_begun = False
    first: VideoFrame | None = None
    ends: dict[int, int] = {}
    cut: dict[int, bool] = {}
    duration = 0
    for packet in demux(container):
        tick = packet.pts if packet.pts is not None else packet.dts
        number = packet.stream_index
        cut[number] = packet.is_corrupt
        if tick is not None:
            ends[number] = max(ends.get(number, 0), tick + (packet.duration or 0))
        if number != stream.index:
            continue
        if limits is not None and len(packets) >= limits.frames:
            raise MediaError("too_long", f"{path.name}: more than {limits.frames} frames (limits.frames)")
        has_begun |= packet.is_keyframe
        duration = packet.duration or 0
        if tick is not None and may_begin_at(packet, stream):
            entries.append((len(packets), tick))
        packets.append(_Packet(tick, packet.dts, has_begun and not packet.is_discard and is_shown(packet, stream)))
        if first is None and has_begun:
            first = _first_frame(path, stream, packet)
    if first is None and has_begun:
        first = _first_frame(path, stream, None)
    shown = [packet for packet in packets if packet.is_shown]
    names = set(container.format.name.split(","))
    if "matroska" in names and first is not None and first.pts is not None:
        # ffmpeg gives no time to what comes before a file's zero, here leading pictures after a cut.
        shown = [packet for packet in shown if packet.tick is not None]
    _check_order(path, shown, stream)
    ticks, is_timed = _times(path, names, shown, first, stream)
    end_of = {number: float(last * (container.streams[number].time_base or 0)) for number, last in ends.items()}
    end_s = max(end_of.values(), default=0.0)
    return Packets(
        ticks=ticks,
        total=len(packets),
        end_s=end_s,
        # A stream that ends earlier, as before an advertisement, may end with a damaged packet in a whole file.
        is_cut=any(is_cut and end_of.get(number, 0.0) > end_s - 1 for number, is_cut in cut.items()),
        is_timed=is_timed,
        duration=duration,
        first=first,
        entries=entries,
    )


def _first_frame(path: Path, stream: VideoStream, packet: "Packet[Any] | None") -> VideoFrame | None:
    try:
        return next(iter(stream.decode(packet)), None)
    except av.error.FFmpegError as error:
        raise MediaError("corrupt", f"{path.name}: the first picture: {what(error)}") from error


def _check_order(path: Path, shown: list[_Packet], stream: VideoStream) -> None:
    """Refuse a file whose clock starts again, as where files were appended to each other byte by byte."""
    times = [float(packet.dts * (stream.time_base or 0)) for packet in shown if packet.dts is not None]
    for earlier, later in pairwise(times):
        if later < earlier - 1:
            raise MediaError(
                "corrupt", f"{path.name}: its times go back from {earlier:.2f} to {later:.2f} s, as in files that were "
                "appended; join them with ffmpeg's concat demuxer"
            )  # fmt: skip


def _times(
    path: Path, names: set[str], shown: list[_Packet], first: VideoFrame | None, stream: VideoStream
) -> tuple[list[int], bool]:
    """The times of the frames in display order, and whether they are those of the packets."""
    ticks = sorted(packet.tick for packet in shown if packet.tick is not None)
    decoded = [packet.dts for packet in shown if packet.dts is not None]
    if UNTIMED & names and len(decoded) == len(shown):
        return _times_in_order(decoded, first), False
    # A program stream states the times of some pictures only, and ffmpeg's guesses for the others may collide.
    is_partial = len(ticks) < len(shown)
    if is_partial or ({"mpeg", "mpegts"} & names and len(set(ticks)) < len(ticks)):
        regular = _regular_times(shown, stream)
        if regular is not None:
            return regular, False
        if is_partial:
            raise MediaError(
                "corrupt",
                f"{path.name}: some packets state no time and the frame rate varies; convert the file to MP4",
            )
    if first is not None and first.pts is not None:  # leading pictures before it are shown by no decoder
        ticks = [tick for tick in ticks if tick >= first.pts]
    return ticks, True


def _times_in_order(decoded: list[int], first: VideoFrame | None) -> list[int]:
    """The times of frames whose packets only say when they are decoded.

    As in ffmpeg, a frame takes the time of the packet after which the decoder returns it. Those that it returns after
    the last packet follow at the last distance.
    """
    delay = 0 if first is None or first.dts is None else bisect_left(decoded, first.dts)
    step = decoded[-1] - decoded[-2] if len(decoded) > 1 else 1
    return decoded[delay:] + [decoded[-1] + (number + 1) * step for number in range(delay)]


def _regular_times(shown: list[_Packet], stream: VideoStream) -> list[int] | None:
    """The times of frames at the stream's constant rate, None if the times of some packets contradict it."""
    rate, base = stream.average_rate or stream.guessed_rate, stream.time_base
    if not rate or not base:
        return None
    step = 1 / (rate * base)
    ahead = [packet.tick - number * step for number, packet in enumerate(shown) if packet.tick is not None]
    if ahead and max(ahead) - min(ahead) > MOST_REORDERED * step:
        return None
    return [round(number * step) for number in range(len(shown))]


# Where decoding may begin

# After a keyframe of these nothing refers to what came before it, but for pictures that are shown before it.
BY_FLAG = frozenset({
    "av1", "libdav1d", "mjpeg", "mpeg1video", "mpeg2video", "mpeg4", "png", "prores", "vp8", "vp9",
})  # fmt: skip
H264, HEVC = "h264", "hevc"
IDR = 5
# Of a record that says how long the numbers are which say how long units are.
LENGTH_AT = {H264: 4, HEVC: 21}


def may_begin_at(packet: "Packet[Any]", stream: VideoStream) -> bool:
    """Whether a decoder that is given this packet first shows it, and all that is shown after it, as it is.

    A container's keyframes are not enough: an H.264 picture that is marked as one may still be followed by pictures
    that refer to what came before it. What the codec's own bytes say is looked at.
    """
    if not packet.is_keyframe:
        return False
    codec = stream.codec_context.codec.canonical_name
    if codec in BY_FLAG:
        return True
    if codec not in LENGTH_AT:
        return False
    units = list(_units(bytes(packet), bytes(stream.codec_context.extradata or b""), LENGTH_AT[codec]))
    if codec == HEVC:
        return any((unit[0] >> 1) & 0x3F in range(16, 22) for unit in units)
    return any(unit[0] & 0x1F == IDR for unit in units)


def _units(content: bytes, record: bytes, length_at: int) -> Iterator[bytes]:
    """The units of a packet, each after its length, or after a code that begins it."""
    if record[:1] != b"\1" or len(record) <= length_at:
        yield from (unit for unit in content.split(b"\0\0\1")[1:] if unit)
        return
    size, at = (record[length_at] & 3) + 1, 0
    while at + size < len(content):
        length = int.from_bytes(content[at : at + size])
        unit = content[at + size : at + size + length]
        if unit:
            yield unit
        at += size + length


# Which packets are shown


def is_shown(packet: "Packet[Any]", stream: VideoStream) -> bool:
    """Whether a packet gives a frame to show; VP8 and VP9 also store frames that others only refer to."""
    codec = stream.codec_context.codec.canonical_name
    if codec == "vp8":
        return bool(memoryview(packet)[0] & 0x10)
    if codec == "vp9":
        return any(_is_vp9_frame_shown(frame) for frame in _vp9_frames(bytes(packet)))
    return True


def _vp9_frames(content: bytes) -> Iterator[bytes]:
    """The frames of a packet: one, or those that an index at its end lists (VP9 bitstream, annex B)."""
    marker = content[-1]
    count, width = (marker & 7) + 1, (marker >> 3 & 3) + 1
    index = content[-2 - count * width :]
    if marker >> 5 != 0b110 or len(index) != 2 + count * width or index[0] != marker:
        yield content
        return
    position = 0
    for place in range(1, 1 + count * width, width):
        size = int.from_bytes(index[place : place + width], "little")
        if size:
            yield content[position : position + size]
        position += size


def _is_vp9_frame_shown(frame: bytes) -> bool:
    bits = f"{frame[0]:08b}{frame[1] if len(frame) > 1 else 0:08b}"[2:]  # after the marker
    start = 3 if bits.startswith("11") else 2  # profile 3 has another bit
    shows_earlier_frame, is_visible = bits[start], bits[start + 2]
    return "1" in (shows_earlier_frame, is_visible)
