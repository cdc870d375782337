"""Read a video's packets: which of them give a displayed frame and when, and where decoding may begin."""

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

from reprise.media.errors import MediaError, ffmpeg_message
from reprise.media.settings import Limits

CONTAINERS_WITHOUT_PTS = {"avi", "mpegvideo"}  # containers that store no presentation times
MAX_REORDERED = 8  # frames by which the order of decoding may differ from that of display


def demux(container: InputContainer, stream: VideoStream | None = None) -> Iterator["Packet[Any]"]:
    """Yield the packets with data of one stream, or of all streams.

    Theora repeats a frame with an empty packet, which a decoder would take for the end of the stream.
    """
    try:
        for packet in container.demux() if stream is None else container.demux(stream):
            if packet.size:
                yield packet
    except IndexError:
        # PyAV fails after the last packet if a stream first appears in the middle of a file. No packet is lost.
        return


class _Packet(NamedTuple):
    tick: int | None  # presentation time
    dts: int | None
    is_displayed: bool


class Packets(NamedTuple):
    """Properties of a video stream that follow from its packets."""

    ticks: list[int]  # presentation times of the displayed frames
    total: int  # all packets, including discarded ones
    end_s: float  # end of the last stream in seconds
    is_cut: bool  # whether the last packet of a stream lacks bytes at the end of the file
    is_timed: bool
    duration: int  # of the last packet, or 0 if it is unknown
    first: VideoFrame | None  # the first picture, whose orientation applies to all
    entries: list[tuple[int, int]]  # positions and times of the packets at which decoding may begin


def read_packets(path: Path, container: InputContainer, stream: VideoStream, limits: Limits | None) -> Packets:
    """Read all packets once and decode only the first picture.

    Only a decoded picture shows its rotation, and whether a decoder outputs leading pictures. Leading pictures follow a
    keyframe in the file and are displayed before it.

    Raises:
        MediaError: the video exceeds a limit, or its first picture or its times are damaged.
    """
    packets: list[_Packet] = []
    entries: list[tuple[int, int]] = []
    has_begun = False
    first_frame: VideoFrame | None = None
    end_ticks: dict[int, int] = {}
    is_cut_by_stream: dict[int, bool] = {}
    duration = 0
    for packet in demux(container):
        tick = packet.pts if packet.pts is not None else packet.dts
        stream_index = packet.stream_index
        is_cut_by_stream[stream_index] = packet.is_corrupt
        if tick is not None:
            end_ticks[stream_index] = max(end_ticks.get(stream_index, 0), tick + (packet.duration or 0))
        if stream_index != stream.index:
            continue
        if limits is not None and len(packets) >= limits.frames:
            raise MediaError("too_long", f"{path.name}: more than {limits.frames} frames (limits.frames)")
        has_begun |= packet.is_keyframe
        duration = packet.duration or 0
        if tick is not None and is_random_access(packet, stream):
            entries.append((len(packets), tick))
        packets.append(_Packet(tick, packet.dts, has_begun and not packet.is_discard and is_displayed(packet, stream)))
        if first_frame is None and has_begun:
            first_frame = _first_frame(path, stream, packet)
    if first_frame is None and has_begun:
        first_frame = _first_frame(path, stream, None)
    displayed = [packet for packet in packets if packet.is_displayed]
    formats = set(container.format.name.split(","))
    if "matroska" in formats and first_frame is not None and first_frame.pts is not None:
        # ffmpeg gives no time to packets before the file's zero, such as leading pictures after a cut.
        displayed = [packet for packet in displayed if packet.tick is not None]
    _check_no_restart(path, displayed, stream)
    ticks, is_timed = _display_times(path, formats, displayed, first_frame, stream)
    end_s_by_stream = {
        stream_index: float(end_tick * (container.streams[stream_index].time_base or 0))
        for stream_index, end_tick in end_ticks.items()
    }
    end_s = max(end_s_by_stream.values(), default=0.0)
    return Packets(
        ticks=ticks,
        total=len(packets),
        end_s=end_s,
        # In a complete file a stream that ends early, as before an advertisement, may end with a damaged packet.
        is_cut=any(
            is_cut and end_s_by_stream.get(stream_index, 0.0) > end_s - 1
            for stream_index, is_cut in is_cut_by_stream.items()
        ),
        is_timed=is_timed,
        duration=duration,
        first=first_frame,
        entries=entries,
    )


def _first_frame(path: Path, stream: VideoStream, packet: "Packet[Any] | None") -> VideoFrame | None:
    try:
        return next(iter(stream.decode(packet)), None)
    except av.error.FFmpegError as error:
        raise MediaError("corrupt", f"{path.name}: first picture: {ffmpeg_message(error)}") from error


def _check_no_restart(path: Path, displayed: list[_Packet], stream: VideoStream) -> None:
    """Raise an error if the times restart, as in files that were concatenated byte by byte."""
    times = [float(packet.dts * (stream.time_base or 0)) for packet in displayed if packet.dts is not None]
    for earlier, later in pairwise(times):
        if later < earlier - 1:
            raise MediaError(
                "corrupt", f"{path.name}: its times go back from {earlier:.2f} to {later:.2f} s, as in files that were "
                "concatenated byte by byte; join them with ffmpeg's concat demuxer"
            )  # fmt: skip


def _display_times(
    path: Path, formats: set[str], displayed: list[_Packet], first_frame: VideoFrame | None, stream: VideoStream
) -> tuple[list[int], bool]:
    """Return the times of the frames in display order, and whether they are the packets' own times."""
    ticks = sorted(packet.tick for packet in displayed if packet.tick is not None)
    decoding_times = [packet.dts for packet in displayed if packet.dts is not None]
    if CONTAINERS_WITHOUT_PTS & formats and len(decoding_times) == len(displayed):
        return _times_in_order(decoding_times, first_frame), False
    # A program stream states the times of only some pictures, and ffmpeg's guesses for the others may collide.
    is_partial = len(ticks) < len(displayed)
    if is_partial or ({"mpeg", "mpegts"} & formats and len(set(ticks)) < len(ticks)):
        regular_ticks = _regular_times(displayed, stream)
        if regular_ticks is not None:
            return regular_ticks, False
        if is_partial:
            raise MediaError(
                "corrupt",
                f"{path.name}: some packets state no time and the frame rate varies; convert the file to MP4",
            )
    if first_frame is not None and first_frame.pts is not None:  # No decoder outputs leading pictures before it.
        ticks = [tick for tick in ticks if tick >= first_frame.pts]
    return ticks, True


def _times_in_order(decoding_times: list[int], first_frame: VideoFrame | None) -> list[int]:
    """Return the times of frames whose packets state only decoding times.

    As in ffmpeg, a frame gets the time of the packet after which the decoder returns it. Frames that are returned after
    the last packet follow at the distance of the last two packets.
    """
    delay = 0 if first_frame is None or first_frame.dts is None else bisect_left(decoding_times, first_frame.dts)
    step = decoding_times[-1] - decoding_times[-2] if len(decoding_times) > 1 else 1
    return decoding_times[delay:] + [decoding_times[-1] + (number + 1) * step for number in range(delay)]


def _regular_times(displayed: list[_Packet], stream: VideoStream) -> list[int] | None:
    """Return the times of frames at the stream's constant rate, or None if packet times contradict that rate."""
    rate, base = stream.average_rate or stream.guessed_rate, stream.time_base
    if not rate or not base:
        return None
    step = 1 / (rate * base)
    offsets = [packet.tick - number * step for number, packet in enumerate(displayed) if packet.tick is not None]
    if offsets and max(offsets) - min(offsets) > MAX_REORDERED * step:
        return None
    return [round(number * step) for number in range(len(displayed))]


# Where decoding may begin

# After a keyframe of these codecs, only pictures that are displayed before it may refer to earlier ones.
KEYFRAME_CODECS = frozenset({
    "av1", "libdav1d", "mjpeg", "mpeg1video", "mpeg2video", "mpeg4", "png", "prores", "vp8", "vp9",
})  # fmt: skip
H264, HEVC = "h264", "hevc"
IDR = 5
# Offsets in the decoder configuration record of the field with the size of the NAL units' length prefixes.
LENGTH_SIZE_OFFSETS = {H264: 4, HEVC: 21}


def is_random_access(packet: "Packet[Any]", stream: VideoStream) -> bool:
    """Return whether a decoder that starts at a packet outputs it, and all frames displayed after it, correctly.

    The container's keyframe flag is not enough: pictures after a flagged H.264 picture may refer to pictures before it.
    H.264 and HEVC are therefore judged by the types of their NAL units.
    """
    if not packet.is_keyframe:
        return False
    codec = stream.codec_context.codec.canonical_name
    if codec in KEYFRAME_CODECS:
        return True
    if codec not in LENGTH_SIZE_OFFSETS:
        return False
    units = list(_nal_units(bytes(packet), bytes(stream.codec_context.extradata or b""), LENGTH_SIZE_OFFSETS[codec]))
    if codec == HEVC:
        return any((unit[0] >> 1) & 0x3F in range(16, 22) for unit in units)
    return any(unit[0] & 0x1F == IDR for unit in units)


def _nal_units(content: bytes, record: bytes, length_size_offset: int) -> Iterator[bytes]:
    """Yield the NAL units of a packet, which follow either their lengths or start codes."""
    if record[:1] != b"\1" or len(record) <= length_size_offset:
        yield from (unit for unit in content.split(b"\0\0\1")[1:] if unit)
        return
    size, position = (record[length_size_offset] & 3) + 1, 0
    while position + size < len(content):
        length = int.from_bytes(content[position : position + size])
        unit = content[position + size : position + size + length]
        if unit:
            yield unit
        position += size + length


# Which packets are displayed


def is_displayed(packet: "Packet[Any]", stream: VideoStream) -> bool:
    """Return whether a packet gives a displayed frame; VP8 and VP9 also store frames that serve only as references."""
    codec = stream.codec_context.codec.canonical_name
    if codec == "vp8":
        return bool(memoryview(packet)[0] & 0x10)
    if codec == "vp9":
        return any(_is_vp9_frame_displayed(frame) for frame in _vp9_frames(bytes(packet)))
    return True


def _vp9_frames(content: bytes) -> Iterator[bytes]:
    """Yield the frames of a packet: one, or those that an index at its end lists (VP9 bitstream, annex B)."""
    marker = content[-1]
    count, width = (marker & 7) + 1, (marker >> 3 & 3) + 1
    index = content[-2 - count * width :]
    if marker >> 5 != 0b110 or len(index) != 2 + count * width or index[0] != marker:
        yield content
        return
    position = 0
    for entry in range(1, 1 + count * width, width):
        size = int.from_bytes(index[entry : entry + width], "little")
        if size:
            yield content[position : position + size]
        position += size


def _is_vp9_frame_displayed(frame: bytes) -> bool:
    bits = f"{frame[0]:08b}{frame[1] if len(frame) > 1 else 0:08b}"[2:]  # Skip the frame marker.
    start = 3 if bits.startswith("11") else 2  # Profile 3 has one more bit.
    shows_earlier_frame, is_visible = bits[start], bits[start + 2]
    return "1" in (shows_earlier_frame, is_visible)
