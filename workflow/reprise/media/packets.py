"""Read a video's packets to find the displayed frames, their times, and the packets at which decoding may begin."""

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
    """Yield the packets of one stream, or of all streams; skip empty packets.

    Theora repeats a frame with an empty packet, which a decoder would mistake for the end of the stream.
    """
    streams = () if stream is None else (stream,)  # PyAV yields the packets of all streams if none is named.
    try:
        for packet in container.demux(*streams):
            if packet.size:
                yield packet
    except IndexError:
        # PyAV fails after the last packet if a stream first appears in the middle of a file. No packet is lost.
        return


class _Packet(NamedTuple):
    """A packet's times, in units of the stream's time base, which is the unit of all ticks."""

    tick: int | None  # presentation time
    dts: int | None  # decoding time
    is_displayed: bool


class Packets(NamedTuple):
    """Properties of a video stream that follow from its packets."""

    ticks: list[int]  # presentation times of the displayed frames
    packet_count: int  # all packets, including discarded ones
    end_s: float  # when the stream that ends last ends, in seconds
    is_truncated: bool  # whether the last packet of a stream lacks bytes at the end of the file
    is_timed: bool  # whether the packets state presentation times; otherwise `ticks` are derived
    last_duration_ticks: int  # of the last packet, or 0 if it is unknown
    first_frame: VideoFrame | None  # the first picture, whose orientation applies to all
    random_access_points: list[tuple[int, int]]  # positions and times of the packets at which decoding may begin


def read_packets(path: Path, container: InputContainer, stream: VideoStream, limits: Limits | None) -> Packets:
    """Read all packets once and decode only the first picture.

    Only a decoded picture shows its rotation, and whether a decoder outputs leading pictures. Leading pictures follow a
    keyframe in the file and are displayed before it.

    Raises:
        MediaError: the video exceeds a limit, or its first picture or its times are damaged.
    """
    packets: list[_Packet] = []
    random_access_points: list[tuple[int, int]] = []
    has_begun = False  # whether a keyframe was read; packets before the first keyframe cannot be decoded
    first_frame: VideoFrame | None = None
    end_ticks: dict[int, int] = {}  # stream -> end of its latest packet
    is_cut_by_stream: dict[int, bool] = {}  # stream -> whether its last packet lacks bytes
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
            random_access_points.append((len(packets), tick))
        packets.append(_Packet(tick, packet.dts, has_begun and not packet.is_discard and is_displayed(packet, stream)))
        if first_frame is None and has_begun:
            first_frame = _decode_first_frame(path, stream, packet)
    if first_frame is None and has_begun:
        first_frame = _decode_first_frame(path, stream, None)
    displayed_packets = [packet for packet in packets if packet.is_displayed]
    formats = set(container.format.name.split(","))
    if "matroska" in formats and first_frame is not None and first_frame.pts is not None:
        # ffmpeg gives no time to packets before time zero of the file, such as leading pictures after a cut.
        displayed_packets = [packet for packet in displayed_packets if packet.tick is not None]
    _check_no_restart(path, displayed_packets, stream)
    ticks, is_timed = _find_display_ticks(path, formats, displayed_packets, first_frame, stream)
    end_s_by_stream = {
        stream_index: float(end_tick * (container.streams[stream_index].time_base or 0))
        for stream_index, end_tick in end_ticks.items()
    }
    end_s = max(end_s_by_stream.values(), default=0.0)
    return Packets(
        ticks=ticks,
        packet_count=len(packets),
        end_s=end_s,
        # Only a stream that ends with the file counts: in a complete file, a stream that ends early (as before an
        # advertisement) may end with a damaged packet.
        is_truncated=any(
            is_cut and end_s_by_stream.get(stream_index, 0.0) > end_s - 1
            for stream_index, is_cut in is_cut_by_stream.items()
        ),
        is_timed=is_timed,
        last_duration_ticks=duration,
        first_frame=first_frame,
        random_access_points=random_access_points,
    )


def _decode_first_frame(path: Path, stream: VideoStream, packet: "Packet[Any] | None") -> VideoFrame | None:
    """Return the first picture if the decoder outputs one after this packet; None as packet means the end."""
    try:
        return next(iter(stream.decode(packet)), None)
    except av.error.FFmpegError as error:
        raise MediaError("corrupt", f"{path.name}: first picture: {ffmpeg_message(error)}") from error


def _check_no_restart(path: Path, displayed_packets: list[_Packet], stream: VideoStream) -> None:
    """Raise an error if the times restart, as in files that were concatenated byte by byte."""
    times = [float(packet.dts * (stream.time_base or 0)) for packet in displayed_packets if packet.dts is not None]
    for time_s, next_time_s in pairwise(times):
        if next_time_s < time_s - 1:
            raise MediaError(
                "corrupt",
                f"{path.name}: its times go back from {time_s:.2f} to {next_time_s:.2f} s, as in files that were "
                "concatenated byte by byte; join them with ffmpeg's concat demuxer",
            )


def _find_display_ticks(
    path: Path, formats: set[str], displayed_packets: list[_Packet], first_frame: VideoFrame | None, stream: VideoStream
) -> tuple[list[int], bool]:
    """Return the times of the frames in display order, and whether the packets state these times."""
    ticks = sorted(packet.tick for packet in displayed_packets if packet.tick is not None)
    decoding_times = [packet.dts for packet in displayed_packets if packet.dts is not None]
    if CONTAINERS_WITHOUT_PTS & formats and len(decoding_times) == len(displayed_packets):
        return _find_ticks_by_decoding_order(decoding_times, first_frame), False
    # A program stream states the times of only some pictures. ffmpeg guesses the other times, and may repeat a time.
    is_partial = len(ticks) < len(displayed_packets)
    if is_partial or ({"mpeg", "mpegts"} & formats and len(set(ticks)) < len(ticks)):
        regular_ticks = _find_regular_ticks(displayed_packets, stream)
        if regular_ticks is not None:
            return regular_ticks, False
        if is_partial:
            raise MediaError(
                "corrupt",
                f"{path.name}: some packets state no time and the frame rate varies; convert the file to MP4",
            )
    if first_frame is not None and first_frame.pts is not None:  # Leading pictures before the first frame are dropped.
        ticks = [tick for tick in ticks if tick >= first_frame.pts]
    return ticks, True


def _find_ticks_by_decoding_order(decoding_times: list[int], first_frame: VideoFrame | None) -> list[int]:
    """Return the times of frames whose packets state only decoding times.

    As in ffmpeg, a frame gets the time of the packet after which the decoder returns it. The remaining frames follow at
    the distance of the last two packets.
    """
    # Packets that the decoder takes before it returns the first frame.
    delay = 0 if first_frame is None or first_frame.dts is None else bisect_left(decoding_times, first_frame.dts)
    step = decoding_times[-1] - decoding_times[-2] if len(decoding_times) > 1 else 1
    return decoding_times[delay:] + [decoding_times[-1] + (number + 1) * step for number in range(delay)]


def _find_regular_ticks(displayed_packets: list[_Packet], stream: VideoStream) -> list[int] | None:
    """Return the times of frames at the stream's constant rate, or None if packet times contradict that rate."""
    rate, time_base = stream.average_rate or stream.guessed_rate, stream.time_base
    if not rate or not time_base:
        return None
    step = 1 / (rate * time_base)
    offsets = [
        packet.tick - number * step for number, packet in enumerate(displayed_packets) if packet.tick is not None
    ]
    if offsets and max(offsets) - min(offsets) > MAX_REORDERED * step:
        return None
    return [round(number * step) for number in range(len(displayed_packets))]


# Where decoding may begin

# In these codecs, pictures that are displayed after a keyframe never refer to pictures before it.
KEYFRAME_CODECS = frozenset({
    "av1", "libdav1d", "mjpeg", "mpeg1video", "mpeg2video", "mpeg4", "png", "prores", "vp8", "vp9",
})  # fmt: skip
H264, HEVC = "h264", "hevc"
# Types of the NAL units at which decoding may begin.
H264_IDR_UNIT_TYPE = 5
HEVC_RANDOM_ACCESS_UNIT_TYPES = range(16, 22)
# Offset in the decoder configuration record of the field that states the size of the NAL units' length prefixes.
LENGTH_SIZE_OFFSETS = {H264: 4, HEVC: 21}


def is_random_access(packet: "Packet[Any]", stream: VideoStream) -> bool:
    """Return whether a decoder that starts at a packet correctly outputs its frame and all frames displayed after it.

    The container's keyframe flag is not enough: pictures after a flagged H.264 picture may refer to pictures before it.
    For H.264 and HEVC, the types of the NAL units decide.
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
        return any((unit[0] >> 1) & 0x3F in HEVC_RANDOM_ACCESS_UNIT_TYPES for unit in units)
    return any(unit[0] & 0x1F == H264_IDR_UNIT_TYPE for unit in units)


def _nal_units(content: bytes, record: bytes, length_size_offset: int) -> Iterator[bytes]:
    """Yield the NAL units of a packet.

    Each follows its length if the stream has a decoder configuration record, and a start code otherwise.
    """
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
    """Return whether a packet gives a displayed frame; VP8 and VP9 also store frames that are only references."""
    codec = stream.codec_context.codec.canonical_name
    if codec == "vp8":
        return bool(memoryview(packet)[0] & 0x10)
    if codec == "vp9":
        return any(_is_vp9_frame_displayed(frame) for frame in _vp9_frames(bytes(packet)))
    return True


def _vp9_frames(content: bytes) -> Iterator[bytes]:
    """Yield the frames of a packet: one, or those that an index at its end lists (VP9 bitstream, annex B)."""
    # The index begins and ends with a marker: the bits 110, the bytes per size minus 1, the number of frames minus 1.
    marker = content[-1]
    count, width = (marker & 7) + 1, (marker >> 3 & 3) + 1
    index = content[-2 - count * width :]
    if marker >> 5 != 0b110 or len(index) != 2 + count * width or index[0] != marker:
        yield content
        return
    position = 0
    for size_position in range(1, 1 + count * width, width):  # The frames' sizes stand between the two markers.
        size = int.from_bytes(index[size_position : size_position + width], "little")
        if size:
            yield content[position : position + size]
        position += size


def _is_vp9_frame_displayed(frame: bytes) -> bool:
    """Return whether the header of a VP9 frame says that the frame, or an earlier one, is displayed."""
    bits = f"{frame[0]:08b}{frame[1] if len(frame) > 1 else 0:08b}"[2:]  # Skip the frame marker.
    start = 3 if bits.startswith("11") else 2  # The profile takes two bits, and three if it is profile 3.
    # The bit between the two flags is the frame's type.
    shows_earlier_frame, is_visible = bits[start], bits[start + 2]
    return "1" in (shows_earlier_frame, is_visible)
