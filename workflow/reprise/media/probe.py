"""Index a video by its packets, because its header may be wrong."""

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
from reprise.media.errors import MediaError, ffmpeg_message
from reprise.media.opening import build_decoder_options, check_pixels, open_container
from reprise.media.orientation import UPRIGHT, Orientation, read_orientation
from reprise.media.packets import Packets, read_packets
from reprise.media.settings import Limits

CONTAINERS_WITH_DURATION = {"matroska", "flv"}  # Their header states a length that a complete file has.
# Names of ffmpeg's transfer characteristics by number. HDR has smpte2084 or arib_std_b67.
TRANSFER_NAMES = {kind.value: kind.name.lower() for kind in ColorTrc if kind != ColorTrc.UNSPECIFIED}


@dataclass(frozen=True)
class PacketIndex:
    """Index of a video stream: the frames that a decoder outputs, in display order, and the stream's properties."""

    times: tuple[float, ...]  # seconds from the first displayed frame
    ticks: tuple[int, ...]  # presentation times of the frames in units of `time_base`
    time_base: Fraction
    fps: float  # measured frames per second over the whole clip
    rate: Fraction  # the stream's nominal frame rate if it agrees with `fps`, else `fps` as a fraction
    is_variable_rate: bool
    width: int
    height: int  # displayed size, after rotation
    orientation: Orientation  # to apply to a decoded picture before it is displayed
    codec: str
    duration_s: float  # from the first frame to the end of the last
    start_offset_s: float  # time of the first frame on a player's clock, which starts with the file's first stream
    is_timed: bool
    """Whether packets state presentation times. AVI files and raw streams do not, and ffmpeg's guesses are wrong."""
    is_indexed: bool  # whether the container lists its keyframes, so that seeking finds them
    stream_number: int  # number of the video stream in its file
    video_stream_count: int  # number of video streams in the file, without covers
    sample_aspect_ratio: str  # width to height of a pixel, such as 64:45; 1:1 if the file states none
    color_transfer: str  # transfer characteristics such as bt709, smpte2084, arib_std_b67; empty if unstated
    random_access_points: tuple[tuple[int, int], ...] = ()
    """Packets at which decoding may begin: their position in the stream, and their time in ticks."""

    @property
    def frame_count(self) -> int:
        return len(self.times)


@contextmanager
def open_video(path: Path, limits: Limits | None = None) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a file at its first video stream.

    Raises:
        MediaError: the file has no usable video stream, or exceeds a limit.
    """
    max_pixels = None if limits is None else limits.pixels
    try:
        container = open_container(path, max_pixels)
    except (av.error.FFmpegError, ValueError, OverflowError) as error:
        with path.open("rb") as file:  # An MP4 file without its index is truncated; any other file is no video.
            is_mp4 = file.read(12)[4:8] in (b"ftyp", b"mdat", b"moov", b"wide", b"free")
        raise MediaError("truncated" if is_mp4 else "not_media", f"{path.name}: {ffmpeg_message(error)}") from error
    with container:
        streams = _list_video_streams(container)
        if not streams:
            kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "no"
            raise MediaError("no_video", f"{path.name}: {kinds} streams only")
        if streams[0].codec_context is None:
            raise MediaError("not_media", f"{path.name}: its codec is not supported; convert the file to H.264")
        if streams[0].codec_context.width == 0:
            raise MediaError("not_media", f"{path.name}: the video stream has no picture size")
        if limits is not None:
            check_pixels(path, (streams[0].codec_context.width, streams[0].codec_context.height), limits.pixels)
        streams[0].codec_context.options = build_decoder_options(max_pixels)
        yield container, streams[0]


def _list_video_streams(container: InputContainer) -> list[VideoStream]:
    """Return the video streams of a file without cover pictures, which audio and video files may contain."""
    cover = av.stream.Disposition.attached_pic
    return [stream for stream in container.streams.video if not stream.disposition & cover]


def read_packet_index(path: Path, limits: Limits | None = None) -> PacketIndex:
    """Index a video in one pass over its packets, and decode at most one frame.

    Raises:
        MediaError: the file is not a complete video, or exceeds a limit.
    """
    check_complete(path)
    try:
        with open_video(path, limits) as (container, stream):
            stream.thread_count = 1
            packets = read_packets(path, container, stream, limits)
            _check_not_truncated(path, container, packets)
            if not packets.ticks:
                raise MediaError("no_frames", f"{path.name}: {packets.packet_count} packets, none is displayed")
            if stream.time_base is None:
                raise MediaError("corrupt", f"{path.name}: no time base")
            index = _build_index(path, container, stream, packets, stream.time_base)
            for name, measured in (("duration_s", index.duration_s), ("fps", max(index.fps, float(index.rate)))):
                if limits is not None and measured > getattr(limits, name):
                    allowed = f"at most {getattr(limits, name):g} is allowed (limits.{name})"
                    raise MediaError("too_long", f"{path.name}: {name} is {measured:g}, {allowed}")
            return index
    except av.error.FFmpegError as error:
        raise MediaError("truncated", f"{path.name}: {ffmpeg_message(error)}") from error


def _check_not_truncated(path: Path, container: InputContainer, packets: Packets) -> None:
    """Raise an error if a file is shorter than its index or header states."""
    if packets.is_truncated:
        raise MediaError("truncated", f"{path.name}: the last packet lacks bytes")
    formats = set(container.format.name.split(","))
    if "mov" in formats:
        index_end = max(
            (entry.pos + entry.size for track in container.streams for entry in track.index_entries), default=0
        )
        if index_end > container.size:
            raise MediaError(
                "truncated", f"{path.name}: its index needs {index_end} bytes, the file has {container.size}"
            )
    declared_s = (container.duration or 0) / av.time_base
    # The other demuxers guess the length from the bit rate.
    if CONTAINERS_WITH_DURATION & formats and declared_s - packets.end_s > max(1.0, 0.05 * declared_s):
        raise MediaError(
            "truncated", f"{path.name}: the header states {declared_s:.2f} s, packets end at {packets.end_s:.2f} s"
        )


def _build_index(
    path: Path, container: InputContainer, stream: VideoStream, packets: Packets, time_base: Fraction
) -> PacketIndex:
    """Compute the index of a video from its packets and its first picture."""
    ticks = packets.ticks
    formats = set(container.format.name.split(","))
    nominal_rate = Fraction(stream.average_rate or stream.guessed_rate or 1)
    times = tuple((tick - ticks[0]) * time_base.numerator / time_base.denominator for tick in ticks)
    frame_gaps_s = [next_time_s - time_s for time_s, next_time_s in pairwise(times)]
    typical_gap_s = (  # also the assumed length of the last frame
        median(frame_gaps_s)
        if frame_gaps_s
        else float(packets.last_duration_ticks * time_base) or float(1 / nominal_rate)
    )
    if frame_gaps_s and times[-1] == 0:
        raise MediaError("corrupt", f"{path.name}: all {len(times)} frames have the same time; convert it with ffmpeg")
    fps = (len(times) - 1) / times[-1] if times[-1] > 0 else 1 / typical_gap_s
    duration_s = times[-1] + typical_gap_s
    orientation = UPRIGHT if packets.first_frame is None else read_orientation(packets.first_frame, path.name)
    pixel_aspect = Fraction(stream.sample_aspect_ratio or 1)
    width, height = stream.codec_context.width, stream.codec_context.height
    start_s = (container.start_time or 0) / av.time_base
    return PacketIndex(
        times=times,
        ticks=tuple(ticks),
        time_base=time_base,
        fps=fps,
        rate=nominal_rate if abs(nominal_rate - fps) < 0.001 * fps else Fraction(fps).limit_denominator(1001),
        # Gaps may differ by the rounding of a millisecond time base.
        is_variable_rate=bool(frame_gaps_s)
        and max(frame_gaps_s) - min(frame_gaps_s) > max(0.0021, 0.05 * typical_gap_s),
        width=height if orientation.is_sideways else width,
        height=width if orientation.is_sideways else height,
        orientation=orientation,
        codec=stream.codec_context.codec.canonical_name,
        duration_s=duration_s,
        # libvvenc gives the first keyframe a later time, which the container takes for its start time.
        start_offset_s=max(0.0, float(ticks[0] * time_base) - start_s) if packets.is_timed else 0.0,
        is_timed=packets.is_timed,
        is_indexed=bool({"mov", "matroska"} & formats),
        stream_number=stream.index,
        video_stream_count=len(_list_video_streams(container)),
        sample_aspect_ratio=f"{pixel_aspect.numerator}:{pixel_aspect.denominator}",
        color_transfer=TRANSFER_NAMES.get(int(packets.first_frame.color_trc), "") if packets.first_frame else "",
        random_access_points=tuple(packets.random_access_points),
    )
