"""A video's real content, read from its packets and never from its header, and where decoding may begin in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import av
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from reprise.media.errors import MediaError
from reprise.media.opening import check_pixels, decoder_options, open_container
from reprise.media.settings import Limits


@dataclass(frozen=True)
class PacketIndex:
    """A video stream by its packets: frames that a decoder shows, in display order."""

    times: tuple[float, ...]  # seconds from the first frame shown
    ticks: tuple[int, ...]  # the same as presentation times in units of `time_base`
    time_base: Fraction
    fps: float  # frames a second over the whole clip
    rate: Fraction  # the same as a fraction: the stream's nominal rate where that is true
    variable_rate: bool
    width: int
    height: int  # size as shown, after rotation
    rotation: int  # degrees counter-clockwise that a decoded picture must be turned to be shown
    codec: str
    duration_s: float  # from the first frame to the end of the last
    lead_s: float  # when the first frame is shown on a player's clock, which starts with the file's first stream
    is_timed: bool
    """Whether packets say when they are shown; in AVI files they do not, and guesses are wrong for B-frames."""
    is_indexed: bool  # whether the container lists its keyframes, so that seeking finds them
    entries: tuple[tuple[int, int], ...] = ()
    """Where decoding may begin: the place of a packet in the file, and its time in ticks."""

    @property
    def frames(self) -> int:
        return len(self.times)


@contextmanager
def open_video(path: Path, limits: Limits | None = None) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a file at its first video stream; what is wrong with it becomes a named status."""
    most_pixels = None if limits is None else limits.pixels
    try:
        container = open_container(path, most_pixels)
    except (av.error.FFmpegError, ValueError, OverflowError) as error:
        with path.open("rb") as file:  # cut off before its index, or no video at all
            is_mp4 = file.read(12)[4:8] in (b"ftyp", b"mdat", b"moov", b"wide", b"free")
        raise MediaError("truncated" if is_mp4 else "not_media", f"{path.name}: {what(error)}") from error
    with container:
        cover = av.stream.Disposition.attached_pic
        streams = [stream for stream in container.streams.video if not stream.disposition & cover]
        if not streams:
            kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "no"
            raise MediaError("no_video", f"{path.name}: {kinds} streams only")
        if streams[0].codec_context is None or streams[0].codec_context.width == 0:
            raise MediaError("not_media", f"{path.name}: the video stream has no picture size")
        if limits is not None:
            # As it is joined with others, which is once its pixels are square.
            width, height = streams[0].codec_context.width, streams[0].codec_context.height
            check_pixels(path, (int(width * max(1, streams[0].sample_aspect_ratio or 1)), height), limits.pixels)
        streams[0].codec_context.options = decoder_options(most_pixels)
        yield container, streams[0]


def packet_index(path: Path, limits: Limits | None = None) -> PacketIndex:
    """Index a video by one pass over its packets, without decoding more than one frame."""
    try:
        with open_video(path, limits) as (container, stream):
            stream.thread_count = 1
            packets = _read_packets(path, container, stream, limits)
            _check_whole(path, container, stream, packets)
            if not packets.ticks:
                raise MediaError("no_frames", f"{path.name}: {packets.total} packets, none is shown")
            if stream.time_base is None:
                raise MediaError("corrupt", f"{path.name}: no time base")
            index = _index(container, stream, packets, stream.time_base)
            for name, found in (("duration_s", index.duration_s), ("fps", max(index.fps, float(index.rate)))):
                if limits is not None and found > getattr(limits, name):
                    allowed = f"allowed are {getattr(limits, name):g} (limits.{name})"
                    raise MediaError("too_long", f"{path.name}: {name} is {found:g}, {allowed}")
            return index
    except av.error.FFmpegError as error:
        raise MediaError("truncated", f"{path.name}: {what(error)}") from error


def what(error: Exception) -> str:
    """An error of ffmpeg without the path that it names."""
    return getattr(error, "strerror", None) or str(error)


class _Packets(NamedTuple):
    ticks: list[int]  # presentation times of the packets that a decoder shows
    total: int  # all of them, those that are discarded too
    end_s: float  # where the last stream ends
    rotation: int
    entries: list[tuple[int, int]]  # where decoding may begin


def _read_packets(path: Path, container: InputContainer, stream: VideoStream, limits: Limits | None) -> _Packets:
    """One pass over the packets; only the first picture is decoded, since nothing else tells its rotation.

    Packets before the first keyframe, and leading pictures that refer to what came before it, are shown by no decoder.
    """
    packets: list[tuple[int, bool]] = []
    entries: list[tuple[int, int]] = []
    first_key: int | None = None
    rotation: int | None = None
    ends: dict[int, int] = {}
    for packet in container.demux():
        tick = packet.pts if packet.pts is not None else packet.dts
        if tick is None or packet.size == 0:
            continue
        number = packet.stream_index
        ends[number] = max(ends.get(number, 0), tick + (packet.duration or 0))
        if number != stream.index:
            continue
        if first_key is None and packet.is_keyframe:
            first_key = tick
        if limits is not None and len(packets) >= limits.frames:
            raise MediaError("too_long", f"{path.name}: more than {limits.frames} frames (limits.frames)")
        if may_begin_at(packet, stream):
            entries.append((len(packets), tick))
        packets.append((tick, packet.is_discard or first_key is None or tick < first_key))
        if rotation is None and first_key is not None:
            try:
                decoded: Any = packet.decode()
            except av.error.FFmpegError as error:
                raise MediaError("corrupt", f"{path.name}: the first picture: {what(error)}") from error
            rotation = round(decoded[0].rotation / 90) * 90 % 360 if decoded else None
    ticks = sorted(tick for tick, is_discarded in packets if not is_discarded)
    end = max((float(last * (container.streams[number].time_base or 0)) for number, last in ends.items()), default=0.0)
    return _Packets(ticks, len(packets), end, rotation or 0, entries)


def _check_whole(path: Path, container: InputContainer, stream: VideoStream, packets: _Packets) -> None:
    """Refuse a file that ends before its own index or header says."""
    names = container.format.name.split(",")
    if "mov" in names and stream.frames > packets.total:
        raise MediaError(
            "truncated", f"{path.name}: {packets.total} of the {stream.frames} frames in its index are there"
        )
    stated = (container.duration or 0) / av.time_base + (container.start_time or 0) / av.time_base
    # The header of these states a length that a whole file keeps to; others guess it from the bit rate.
    if {"matroska", "avi"} & set(names) and stated - packets.end_s > max(1.0, 0.05 * stated):
        raise MediaError(
            "truncated", f"{path.name}: the header says {stated:.2f} s, packets end at {packets.end_s:.2f} s"
        )


def _index(container: InputContainer, stream: VideoStream, packets: _Packets, base: Fraction) -> PacketIndex:
    shown = packets.ticks
    names = set(container.format.name.split(","))
    is_timed = "avi" not in names
    nominal = Fraction(stream.average_rate or stream.guessed_rate or 1)
    times = tuple((tick - shown[0]) * base.numerator / base.denominator for tick in shown)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    last = median(gaps) if gaps else float(1 / nominal)
    fps = (len(times) - 1) / times[-1] if times[-1] > 0 else float(nominal)
    duration = times[-1] + last
    is_turned = packets.rotation % 180 == 90
    width, height = stream.codec_context.width, stream.codec_context.height
    return PacketIndex(
        times=times,
        ticks=tuple(shown),
        time_base=base,
        fps=fps,
        rate=nominal if abs(nominal - fps) < 0.001 * fps else Fraction(fps).limit_denominator(1001),
        # Two distances may differ by the rounding of a millisecond time base.
        variable_rate=bool(gaps) and max(gaps) - min(gaps) > max(0.0021, 0.05 * last),
        width=height if is_turned else width,
        height=width if is_turned else height,
        rotation=packets.rotation,
        codec=stream.codec_context.codec.canonical_name,
        duration_s=duration,
        lead_s=float(shown[0] * base) - (container.start_time or 0) / av.time_base if is_timed else 0.0,
        is_timed=is_timed,
        is_indexed=bool({"mov", "matroska"} & names),
        entries=tuple(packets.entries),
    )


# Where decoding may begin

# After a keyframe of these nothing refers to what came before it, but for pictures that are shown before it.
BY_FLAG = frozenset({
    "av1", "libdav1d", "gif", "mjpeg", "mpeg1video", "mpeg2video", "mpeg4", "png", "prores", "vp8", "vp9",
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
