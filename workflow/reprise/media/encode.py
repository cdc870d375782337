"""Encode clips with ffmpeg: frame-exact trims, concatenations around a black span, and clips of still images."""

import re
import subprocess
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ffmpeg

from reprise.core.errors import stop_on_fault_of_ffmpeg
from reprise.media.black import check_black
from reprise.media.errors import MediaError
from reprise.media.ffmpeg import BIT_EXACT, QUIET, ffmpeg_executable
from reprise.media.opening import ffmpeg_input, file_url, lavfi_input, picture_input
from reprise.media.orientation import reset_display_matrix
from reprise.media.probe import PacketIndex, read_packet_index
from reprise.media.settings import Concat, Encode, Images

CONCAT_VERSION = 2  # part of the recipe of a concatenation; increase it when the same parts give other frames
SEEK_MARGIN_S = 10.0
# A job has one CPU core. The overhead of more threads is a fifth of the time to encode a small clip.
ONE_THREAD = ("-filter_complex_threads", "1")
MEMORY_ADDRESS = re.compile(r" @ 0x[0-9a-f]+")


@cache
def ffmpeg_version() -> str:
    """Return the first line of `ffmpeg -version`, which is part of every recipe because versions encode differently."""
    process = subprocess.run([ffmpeg_executable(), "-version"], capture_output=True, text=True, check=True)
    return process.stdout.splitlines()[0].split(" Copyright")[0]


def trim(source: Path, start_s: float, end_s: float, target: Path, settings: Encode) -> int:
    """Re-encode [start, end) seconds of a video, by a player's clock, and return the number of frames written."""
    index = read_packet_index(source)
    span = frames_in_span(index, start_s, end_s, settings.overhang_s)
    seek: dict[str, Any] = {"noaccurate_seek": None}
    if index.is_indexed and start_s > SEEK_MARGIN_S:  # Skip what is well before the span if seeking is exact.
        seek["ss"] = f"{start_s - SEEK_MARGIN_S:.6f}"
    clock = {"fps_mode": "cfr", "r": str(index.rate)}
    if index.variable_rate:  # With its default clock ffmpeg drops frames that share a tick.
        base = index.time_base
        clock = {"fps_mode": "passthrough", "enc_time_base": f"{base.numerator}:{base.denominator}"}
    frames = _cut(_video_stream(ffmpeg_input(source, **UNMODIFIED_INPUT, **seek), index), index, span)
    picture = _scale_and_rotate(_restart_times(frames, index), index)
    # x264 needs even sizes in 4:2:0. Dropping a row or column is closer to the source than rescaling the picture.
    picture = picture.filter("crop", "trunc(iw/2)*2", "trunc(ih/2)*2", 0, 0)
    _write(picture, target, settings, len(span), **clock)
    return len(span)


# Keep the file's times and one filter graph, and do not let ffmpeg rotate frames, because its versions differ in that.
# The packet index then describes the frames that the filters receive.
UNMODIFIED_INPUT: dict[str, Any] = {"copyts": None, "noautorotate": None, "reinit_filter": 0}


def _video_stream(ffmpeg_source: Any, index: PacketIndex) -> Any:
    """Return the video stream that the packet index describes, because ffmpeg's first video stream may be a cover."""
    return ffmpeg_source[str(index.stream)]


def _scale_and_rotate(stream: Any, index: PacketIndex) -> Any:
    """Scale frames to the size of the first picture, as the decoder does, and rotate them as they are displayed."""
    width, height = (index.height, index.width) if index.orientation.is_sideways else (index.width, index.height)
    return index.orientation.apply_filter(stream.filter("scale", width, height, flags="bicubic"))


def frames_in_span(index: PacketIndex, start_s: float, end_s: float, overhang_s: float) -> range:
    """Return the frame numbers of a video in [start, end) seconds.

    Raises:
        MediaError: the span has no frames, or ends more than `overhang_s` seconds after the video.
    """
    if not 0 <= start_s < end_s:
        raise MediaError("bad_range", f"[{start_s:g}, {end_s:g}) s")
    times = [index.lead_s + frame_time for frame_time in index.times]
    first, last = (bisect_left(times, bound - 1e-4) for bound in (start_s, end_s))
    length = index.lead_s + index.duration_s
    if end_s > length + overhang_s or start_s >= length:
        raise MediaError("out_of_range", f"[{start_s:g}, {end_s:g}) s in a video of {length:.2f} s")
    if first == last:
        raise MediaError("out_of_range", f"no frame begins in [{start_s:g}, {end_s:g}) s; choose a longer span")
    return range(first, last)


def _cut(stream: Any, index: PacketIndex, span: range) -> Any:
    """Keep the frames of a span; some versions of ffmpeg also display frames before and after an edit list."""
    if not index.is_timed:
        return stream.filter("trim", start_frame=span.start, end_frame=span.stop)
    # Cutting midway between two frames prevents rounding from adding or dropping a frame.
    start_s, end_s = _time_before(index, span.start), _time_before(index, span.stop)
    return stream.filter("trim", start=f"{start_s:.6f}", end=f"{end_s:.6f}")


def _restart_times(stream: Any, index: PacketIndex) -> Any:
    return stream.filter("setpts", "PTS-STARTPTS" if index.is_timed else f"N/({index.rate}*TB)")


def _time_before(index: PacketIndex, number: int) -> float:
    """Return a time between frames number-1 and number, on the file's own clock."""
    times = [float(tick * index.time_base) for tick in index.ticks]
    if 0 < number < len(times):
        return (times[number - 1] + times[number]) / 2
    half_frame = max(0.001, (index.duration_s - index.times[-1]) / 2)
    return times[0] - half_frame if number == 0 else times[-1] + half_frame


class ConcatenationPlan(NamedTuple):
    """Plan of a concatenation: the common size and rate, and the number of frames of each part and the black span."""

    width: int
    height: int
    rate: Fraction
    first: int
    black: int
    second: int

    @property
    def black_span(self) -> tuple[int, int]:
        """Return the frame numbers [start, end) of the black span."""
        return self.first, self.first + self.black

    @property
    def frames(self) -> int:
        return self.first + self.black + self.second


def plan_concatenation(first: Path, second: Path, concat: Concat) -> ConcatenationPlan:
    """Plan a concatenation with the larger clip's size, the higher rate, and each part's length at that rate."""
    indexes = [read_packet_index(first), read_packet_index(second)]
    larger = max(indexes, key=lambda index: index.width * index.height)
    rate = max(index.rate for index in indexes)
    lengths = [max(1, round(index.duration_s * rate)) for index in indexes]
    black = max(1, round(concat.black_s * rate))
    return ConcatenationPlan(larger.width // 2 * 2, larger.height // 2 * 2, rate, lengths[0], black, lengths[1])


def concatenate(first: Path, second: Path, target: Path, settings: Encode, concat: Concat) -> ConcatenationPlan:
    """Encode the first clip, a black span and the second clip as one video, verify it, and return its plan."""
    plan = plan_concatenation(first, second, concat)
    duration_s = float((plan.black + 1) / plan.rate)
    black = lavfi_input(f"color=c=black:s={plan.width}x{plan.height}:r={plan.rate}:d={duration_s:.6f}").video
    black = _with_common_colours(black.filter("trim", end_frame=plan.black).filter("setsar", 1).filter("settb", "AVTB"))
    parts = [
        _prepare_part(path, number, frames, plan)
        for number, (path, frames) in enumerate(((first, plan.first), (second, plan.second)))
    ]
    stream = ffmpeg.concat(parts[0], black, parts[1], v=1, a=0)
    _write(stream, target, settings, plan.frames, r=str(plan.rate))
    check_black(target, *plan.black_span)
    return plan


def _prepare_part(path: Path, number: int, frames: int, plan: ConcatenationPlan) -> Any:
    """Return a part with the size, rate and clock of the concatenation and its planned number of frames."""
    index = read_packet_index(path)
    stream = _cut(_video_stream(ffmpeg_input(path, number, **UNMODIFIED_INPUT), index), index, range(index.frames))
    # Versions of ffmpeg show the last frame for different times, or drop it. It is repeated up to the planned length,
    # but no longer than it may last: a part that lost frames stays too short and is refused.
    last_frame_s = index.duration_s - index.times[-1] + 1 / plan.rate
    stream = stream.filter("tpad", stop_duration=f"{float(last_frame_s):.6f}", stop_mode="clone")
    stream = _restart_times(stream, index).filter("fps", str(plan.rate)).filter("trim", end_frame=frames)
    return _with_common_colours(_fit_into(_scale_and_rotate(stream, index), plan.width, plan.height, 2))


def _with_common_colours(stream: Any) -> Any:
    """Convert to one colour matrix and range: a video states only one, and some versions of ffmpeg convert no parts."""
    converted = stream.filter("scale", out_color_matrix="bt601", out_range="tv", flags="bicubic")
    unspecified = {"color_primaries": "unknown", "color_trc": "unknown"}
    return converted.filter("format", "yuv420p").filter("setparams", range="tv", colorspace="smpte170m", **unspecified)


def encode_still_clip(images: Sequence[Path], target: Path, settings: Encode, images_settings: Images) -> None:
    """Encode a lossless clip that repeats each image in turn, at the size of the first image."""
    indexes = [read_packet_index(path) for path in images]
    rate = Fraction(images_settings.fps)
    duration_s = float((images_settings.frames + 1) / rate)
    pictures = []
    for number, (path, index) in enumerate(zip(images, indexes, strict=True)):
        loop = _video_stream(
            picture_input(path, number, framerate=str(rate), t=f"{duration_s:.6f}", **UNMODIFIED_INPUT), index
        )
        picture = _scale_and_rotate(
            loop.filter("trim", end_frame=images_settings.frames).filter("format", "rgb24"), index
        )
        pictures.append(_fit_into(picture, indexes[0].width, indexes[0].height, 1))
    stream = pictures[0] if len(pictures) == 1 else ffmpeg.concat(*pictures, v=1, a=0)
    frames = images_settings.frames * len(images)
    _write(stream, target, settings, frames, r=str(rate), vcodec="libx264rgb", crf=0, pix_fmt="rgb24")


def _fit_into(stream: Any, width: int, height: int, divisor: int) -> Any:
    """Fit a picture into a frame of this size, with black borders if the aspect ratios differ."""
    return (
        stream.filter(
            "scale", width, height, force_original_aspect_ratio="decrease", force_divisible_by=divisor, flags="bicubic"
        )
        .filter("pad", width, height, "(ow-iw)/2", "(oh-ih)/2", color="black")
        .filter("setsar", 1)
        .filter("settb", "AVTB")
    )


def _write(stream: Any, target: Path, settings: Encode, frames: int, **options: Any) -> None:
    """Encode a stream of `frames` frames into `target`.

    Raises:
        MediaError: `encode_failed`, with ffmpeg's own message, or with the number of frames if it is wrong.
    """
    codec_options = {"vcodec": "libx264", "crf": settings.crf, "preset": settings.preset, "pix_fmt": "yuv420p"}
    output = ffmpeg.output(stream, file_url(target), an=None, **{**codec_options, **options}, **BIT_EXACT)
    command = ffmpeg.compile(output.global_args(*QUIET, *ONE_THREAD).overwrite_output(), cmd=ffmpeg_executable())
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    stop_on_fault_of_ffmpeg(process.returncode, process.stderr, target)
    if process.returncode != 0:
        target.unlink(missing_ok=True)
        # The addresses of ffmpeg's objects are removed, so that equal failures have equal messages.
        lines = [MEMORY_ADDRESS.sub("", line) for line in process.stderr.strip().splitlines()[-3:]]
        message = " | ".join(lines).replace(file_url(target.parent) + "/", "")
        raise MediaError("encode_failed", message)
    reset_display_matrix(target)
    frame_count = read_packet_index(target).frames
    if frame_count != frames:
        target.unlink()
        raise MediaError("encode_failed", f"wrote {frame_count} frames, expected {frames}")
