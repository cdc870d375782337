"""A video's real content, read from its packets and never from its header."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median

import av
from av.container import InputContainer
from av.video.reformatter import ColorTrc
from av.video.stream import VideoStream

from reprise.media.completeness import check_complete
from reprise.media.errors import MediaError, what
from reprise.media.opening import check_pixels, decoder_options, open_container
from reprise.media.orientation import UPRIGHT, Orientation, orientation_of
from reprise.media.packets import Packets, read_packets
from reprise.media.settings import Limits

LENGTH_STATED = {"matroska", "flv"}  # by their header
# By ffmpeg's numbers. HDR has smpte2084 or arib_std_b67.
TRANSFERS = {kind.value: kind.name.lower() for kind in ColorTrc if kind != ColorTrc.UNSPECIFIED}


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
    orientation: Orientation  # what is done to a decoded picture before it is shown
    codec: str
    duration_s: float  # from the first frame to the end of the last
    lead_s: float  # when the first frame is shown on a player's clock, which starts with the file's first stream
    is_timed: bool
    """Whether packets say when they are shown; in AVI files and raw streams they do not, and guesses are wrong."""
    is_indexed: bool  # whether the container lists its keyframes, so that seeking finds them
    stream: int  # number of the video stream in its file
    video_streams: int  # how many the file has, covers left out
    sample_aspect_ratio: str  # width to height of a pixel, such as 64:45; 1:1 where the file states none
    color_transfer: str  # transfer characteristics such as bt709, smpte2084, arib_std_b67; empty where unstated
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
        streams = _without_covers(container)
        if not streams:
            kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "no"
            raise MediaError("no_video", f"{path.name}: {kinds} streams only")
        if streams[0].codec_context is None:
            raise MediaError("not_media", f"{path.name}: its codec is not supported; convert the file to H.264")
        if streams[0].codec_context.width == 0:
            raise MediaError("not_media", f"{path.name}: the video stream has no picture size")
        if limits is not None:
            check_pixels(path, (streams[0].codec_context.width, streams[0].codec_context.height), limits.pixels)
        streams[0].codec_context.options = decoder_options(most_pixels)
        yield container, streams[0]


def _without_covers(container: InputContainer) -> list[VideoStream]:
    cover = av.stream.Disposition.attached_pic
    return [stream for stream in container.streams.video if not stream.disposition & cover]


def packet_index(path: Path, limits: Limits | None = None) -> PacketIndex:
    """Index a video by one pass over its packets, without decoding more than one frame."""
    check_complete(path)
    try:
        with open_video(path, limits) as (container, stream):
            stream.thread_count = 1
            packets = read_packets(path, container, stream, limits)
            _check_whole(path, container, packets)
            if not packets.ticks:
                raise MediaError("no_frames", f"{path.name}: {packets.total} packets, none is shown")
            if stream.time_base is None:
                raise MediaError("corrupt", f"{path.name}: no time base")
            index = _index(path, container, stream, packets, stream.time_base)
            for name, found in (("duration_s", index.duration_s), ("fps", max(index.fps, float(index.rate)))):
                if limits is not None and found > getattr(limits, name):
                    allowed = f"allowed are {getattr(limits, name):g} (limits.{name})"
                    raise MediaError("too_long", f"{path.name}: {name} is {found:g}, {allowed}")
            return index
    except av.error.FFmpegError as error:
        raise MediaError("truncated", f"{path.name}: {what(error)}") from error


def _check_whole(path: Path, container: InputContainer, packets: Packets) -> None:
    """Refuse a file that ends before its own index or header says."""
    if packets.is_cut:
        raise MediaError("truncated", f"{path.name}: the last packet lacks bytes")
    names = set(container.format.name.split(","))
    if "mov" in names:
        last = max((entry.pos + entry.size for each in container.streams for entry in each.index_entries), default=0)
        if last > container.size:
            raise MediaError("truncated", f"{path.name}: its index names {last} bytes, {container.size} are there")
    stated = (container.duration or 0) / av.time_base
    # The header of these states a length that a whole file keeps to; others guess it from the bit rate.
    if LENGTH_STATED & names and stated - packets.end_s > max(1.0, 0.05 * stated):
        raise MediaError(
            "truncated", f"{path.name}: the header says {stated:.2f} s, packets end at {packets.end_s:.2f} s"
        )


def _index(path: Path, container: InputContainer, stream: VideoStream, packets: Packets, base: Fraction) -> PacketIndex:
    ticks = packets.ticks
    names = set(container.format.name.split(","))
    nominal = Fraction(stream.average_rate or stream.guessed_rate or 1)
    times = tuple((tick - ticks[0]) * base.numerator / base.denominator for tick in ticks)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    last = median(gaps) if gaps else float(packets.duration * base) or float(1 / nominal)
    if gaps and times[-1] == 0:
        raise MediaError("corrupt", f"{path.name}: all {len(times)} frames have the same time; convert it with ffmpeg")
    fps = (len(times) - 1) / times[-1] if times[-1] > 0 else 1 / last
    duration = times[-1] + last
    orientation = UPRIGHT if packets.first is None else orientation_of(packets.first, path.name)
    shape = Fraction(stream.sample_aspect_ratio or 1)
    width, height = stream.codec_context.width, stream.codec_context.height
    start_s = (container.start_time or 0) / av.time_base
    return PacketIndex(
        times=times,
        ticks=tuple(ticks),
        time_base=base,
        fps=fps,
        rate=nominal if abs(nominal - fps) < 0.001 * fps else Fraction(fps).limit_denominator(1001),
        # Two distances may differ by the rounding of a millisecond time base.
        variable_rate=bool(gaps) and max(gaps) - min(gaps) > max(0.0021, 0.05 * last),
        width=height if orientation.is_sideways else width,
        height=width if orientation.is_sideways else height,
        orientation=orientation,
        codec=stream.codec_context.codec.canonical_name,
        duration_s=duration,
        # libvvenc gives the first keyframe a later time, which the container takes for its start.
        lead_s=max(0.0, float(ticks[0] * base) - start_s) if packets.is_timed else 0.0,
        is_timed=packets.is_timed,
        is_indexed=bool({"mov", "matroska"} & names),
        stream=stream.index,
        video_streams=len(_without_covers(container)),
        sample_aspect_ratio=f"{shape.numerator}:{shape.denominator}",
        color_transfer=TRANSFERS.get(int(packets.first.color_trc), "") if packets.first else "",
        entries=tuple(packets.entries),
    )
