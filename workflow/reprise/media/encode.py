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

from reprise.core.errors import raise_if_ffmpeg_machine_fault
from reprise.media.black import check_black
from reprise.media.errors import MediaError
from reprise.media.ffmpeg import BIT_EXACT, QUIET, ffmpeg_executable
from reprise.media.opening import ffmpeg_input, file_url, lavfi_input, picture_input
from reprise.media.orientation import reset_display_matrix
from reprise.media.probe import PacketIndex, read_packet_index
from reprise.media.settings import Concat, Encode, Images

CONCAT_VERSION = 2  # part of the recipe of a concatenation; increase it if a change of the code changes the frames
SEEK_MARGIN_S = 10.0  # A trim begins to read this much before its span, because seeking may be inexact.
# A job has one CPU core. The overhead of more threads is a fifth of the time to encode a small clip.
ONE_THREAD = ("-filter_complex_threads", "1")
MEMORY_ADDRESS = re.compile(r" @ 0x[0-9a-f]+")


@cache
def ffmpeg_version() -> str:
    """Return ffmpeg's version, which is part of every recipe because versions encode differently."""
    process = subprocess.run([ffmpeg_executable(), "-version"], capture_output=True, text=True, check=True)
    return process.stdout.splitlines()[0].split(" Copyright")[0]


def trim(source: Path, start_s: float, end_s: float, target: Path, settings: Encode) -> int:
    """Re-encode [start, end) seconds of a video on a player's clock, and return the number of written frames."""
    packet_index = read_packet_index(source)
    span = find_frames_in_span(packet_index, start_s, end_s, settings.overhang_s)
    seek_options: dict[str, Any] = {"noaccurate_seek": None}
    if packet_index.is_indexed and start_s > SEEK_MARGIN_S:  # Skip frames well before the span if seeking is exact.
        seek_options["ss"] = f"{start_s - SEEK_MARGIN_S:.6f}"
    timing_options = {"fps_mode": "cfr", "r": str(packet_index.rate)}
    if packet_index.is_variable_rate:  # With its default clock ffmpeg drops frames that share a tick.
        base = packet_index.time_base
        timing_options = {"fps_mode": "passthrough", "enc_time_base": f"{base.numerator}:{base.denominator}"}
    source_input = ffmpeg_input(source, **UNMODIFIED_INPUT, **seek_options)
    frames = _keep_span(_select_video_stream(source_input, packet_index), packet_index, span)
    picture = _scale_and_rotate(_restart_times(frames, packet_index), packet_index)
    # x264 needs even sizes in 4:2:0. Dropping a row or column is closer to the source than rescaling the picture.
    picture = picture.filter("crop", "trunc(iw/2)*2", "trunc(ih/2)*2", 0, 0)
    _encode_stream(picture, target, settings, len(span), **timing_options)
    return len(span)


# Keep the file's times and one filter graph. Do not let ffmpeg rotate frames, because its versions rotate differently.
# With these options, the packet index describes the frames that the filters receive.
UNMODIFIED_INPUT: dict[str, Any] = {"copyts": None, "noautorotate": None, "reinit_filter": 0}


def _select_video_stream(source_input: Any, packet_index: PacketIndex) -> Any:
    """Return the video stream of the packet index; ffmpeg's first video stream may be a cover picture."""
    return source_input[str(packet_index.stream_number)]


def _scale_and_rotate(stream: Any, packet_index: PacketIndex) -> Any:
    """Scale frames to the size of the first picture, as the decoder does, and rotate them for display."""
    width, height = (
        (packet_index.height, packet_index.width)
        if packet_index.orientation.is_sideways
        else (packet_index.width, packet_index.height)
    )
    return packet_index.orientation.apply_filter(stream.filter("scale", width, height, flags="bicubic"))


def find_frames_in_span(packet_index: PacketIndex, start_s: float, end_s: float, overhang_s: float) -> range:
    """Return the frame numbers of a video in [start, end) seconds.

    Raises:
        MediaError: the span has no frames, or ends more than `overhang_s` seconds after the video.
    """
    if not 0 <= start_s < end_s:
        raise MediaError("bad_range", f"[{start_s:g}, {end_s:g}) s")
    times = [packet_index.start_offset_s + frame_time for frame_time in packet_index.times]
    # The tolerance is for frames at a bound, whose times are rounded.
    first, stop = (bisect_left(times, bound - 1e-4) for bound in (start_s, end_s))
    length = packet_index.start_offset_s + packet_index.duration_s
    if end_s > length + overhang_s or start_s >= length:
        raise MediaError("out_of_range", f"[{start_s:g}, {end_s:g}) s in a video of {length:.2f} s")
    if first == stop:
        raise MediaError("out_of_range", f"no frame begins in [{start_s:g}, {end_s:g}) s; choose a longer span")
    return range(first, stop)


def _keep_span(stream: Any, packet_index: PacketIndex, span: range) -> Any:
    """Keep only the frames of a span; some versions of ffmpeg also output frames outside an edit list."""
    if not packet_index.is_timed:
        return stream.filter("trim", start_frame=span.start, end_frame=span.stop)
    # Cutting midway between two frames prevents rounding from adding or dropping a frame.
    start_s, end_s = _find_time_before(packet_index, span.start), _find_time_before(packet_index, span.stop)
    return stream.filter("trim", start=f"{start_s:.6f}", end=f"{end_s:.6f}")


def _restart_times(stream: Any, packet_index: PacketIndex) -> Any:
    """Let the times of a stream start at 0; without stored times, number the frames at the nominal rate."""
    return stream.filter("setpts", "PTS-STARTPTS" if packet_index.is_timed else f"N/({packet_index.rate}*TB)")


def _find_time_before(packet_index: PacketIndex, frame_number: int) -> float:
    """Return a time between the frames `frame_number - 1` and `frame_number` on the file's clock."""
    times = [float(tick * packet_index.time_base) for tick in packet_index.ticks]
    if 0 < frame_number < len(times):
        return (times[frame_number - 1] + times[frame_number]) / 2
    half_frame = max(0.001, (packet_index.duration_s - packet_index.times[-1]) / 2)
    return times[0] - half_frame if frame_number == 0 else times[-1] + half_frame


class ConcatenationPlan(NamedTuple):
    """Plan of a concatenation: the common size and rate, and the number of frames of each part and the black span."""

    width: int
    height: int
    rate: Fraction
    first_frame_count: int
    black_frame_count: int
    second_frame_count: int

    @property
    def black_span(self) -> tuple[int, int]:
        """Return the frame numbers [start, end) of the black span."""
        return self.first_frame_count, self.first_frame_count + self.black_frame_count

    @property
    def frame_count(self) -> int:
        return self.first_frame_count + self.black_frame_count + self.second_frame_count


def plan_concatenation(first: Path, second: Path, concat: Concat) -> ConcatenationPlan:
    """Plan a concatenation with the larger clip's size, the higher rate, and each part's length at that rate."""
    packet_indexes = [read_packet_index(first), read_packet_index(second)]
    larger_video = max(packet_indexes, key=lambda packet_index: packet_index.width * packet_index.height)
    rate = max(packet_index.rate for packet_index in packet_indexes)
    frame_counts = [max(1, round(packet_index.duration_s * rate)) for packet_index in packet_indexes]
    black_frame_count = max(1, round(concat.black_s * rate))
    return ConcatenationPlan(  # with an even size, which x264 needs
        larger_video.width // 2 * 2,
        larger_video.height // 2 * 2,
        rate,
        frame_counts[0],
        black_frame_count,
        frame_counts[1],
    )


def concatenate(first: Path, second: Path, target: Path, settings: Encode, concat: Concat) -> ConcatenationPlan:
    """Encode the first clip, a black span and the second clip as one video, verify it, and return its plan."""
    plan = plan_concatenation(first, second, concat)
    duration_s = float((plan.black_frame_count + 1) / plan.rate)  # `trim` removes the additional frame.
    black_stream = lavfi_input(f"color=c=black:s={plan.width}x{plan.height}:r={plan.rate}:d={duration_s:.6f}").video
    black_stream = _with_common_colours(
        black_stream.filter("trim", end_frame=plan.black_frame_count).filter("setsar", 1).filter("settb", "AVTB")
    )
    parts = [
        _prepare_part(path, number, frames, plan)
        for number, (path, frames) in enumerate(((first, plan.first_frame_count), (second, plan.second_frame_count)))
    ]
    stream = ffmpeg.concat(parts[0], black_stream, parts[1], v=1, a=0)
    _encode_stream(stream, target, settings, plan.frame_count, r=str(plan.rate))
    check_black(target, *plan.black_span)
    return plan


def _prepare_part(path: Path, number: int, frame_count: int, plan: ConcatenationPlan) -> Any:
    """Return a part with the size, rate and clock of the concatenation and its planned number of frames."""
    packet_index = read_packet_index(path)
    stream = _keep_span(
        _select_video_stream(ffmpeg_input(path, number, **UNMODIFIED_INPUT), packet_index),
        packet_index,
        range(packet_index.frame_count),
    )
    # Some versions of ffmpeg shorten or drop the last frame, so it is repeated up to the planned length. The repetition
    # lasts only as long as that frame: a part that lost more frames stays too short, and the encoding then fails.
    last_frame_s = packet_index.duration_s - packet_index.times[-1] + 1 / plan.rate
    stream = stream.filter("tpad", stop_duration=f"{float(last_frame_s):.6f}", stop_mode="clone")
    stream = _restart_times(stream, packet_index).filter("fps", str(plan.rate)).filter("trim", end_frame=frame_count)
    return _with_common_colours(_fit_into(_scale_and_rotate(stream, packet_index), plan.width, plan.height, 2))


def _with_common_colours(stream: Any) -> Any:
    """Convert to a common colour matrix and range, because some versions of ffmpeg concatenate without conversion."""
    converted = stream.filter("scale", out_color_matrix="bt601", out_range="tv", flags="bicubic")
    unspecified = {"color_primaries": "unknown", "color_trc": "unknown"}
    return converted.filter("format", "yuv420p").filter("setparams", range="tv", colorspace="smpte170m", **unspecified)


def encode_still_clip(images: Sequence[Path], target: Path, settings: Encode, images_settings: Images) -> None:
    """Encode a lossless clip that repeats each image in turn, at the size of the first image."""
    packet_indexes = [read_packet_index(path) for path in images]
    rate = Fraction(images_settings.fps)
    duration_s = float((images_settings.frames + 1) / rate)
    pictures = []
    for number, (path, packet_index) in enumerate(zip(images, packet_indexes, strict=True)):
        loop = _select_video_stream(
            picture_input(path, number, framerate=str(rate), t=f"{duration_s:.6f}", **UNMODIFIED_INPUT), packet_index
        )
        picture = _scale_and_rotate(
            loop.filter("trim", end_frame=images_settings.frames).filter("format", "rgb24"), packet_index
        )
        pictures.append(_fit_into(picture, packet_indexes[0].width, packet_indexes[0].height, 1))
    stream = pictures[0] if len(pictures) == 1 else ffmpeg.concat(*pictures, v=1, a=0)
    frame_count = images_settings.frames * len(images)
    _encode_stream(stream, target, settings, frame_count, r=str(rate), vcodec="libx264rgb", crf=0, pix_fmt="rgb24")


def _fit_into(stream: Any, width: int, height: int, divisor: int) -> Any:
    """Fit a picture into a frame of this size, with black borders if the aspect ratios differ.

    The scaled width and height are multiples of `divisor`.
    """
    return (
        stream.filter(
            "scale", width, height, force_original_aspect_ratio="decrease", force_divisible_by=divisor, flags="bicubic"
        )
        .filter("pad", width, height, "(ow-iw)/2", "(oh-ih)/2", color="black")
        .filter("setsar", 1)
        .filter("settb", "AVTB")
    )


def _encode_stream(stream: Any, target: Path, settings: Encode, expected_frame_count: int, **options: Any) -> None:
    """Encode a stream of `expected_frame_count` frames into `target`.

    Raises:
        MediaError: `encode_failed`, with ffmpeg's own message, or with the number of frames if it is wrong.
    """
    codec_options = {"vcodec": "libx264", "crf": settings.crf, "preset": settings.preset, "pix_fmt": "yuv420p"}
    output = ffmpeg.output(stream, file_url(target), an=None, **{**codec_options, **options}, **BIT_EXACT)
    command = ffmpeg.compile(output.global_args(*QUIET, *ONE_THREAD).overwrite_output(), cmd=ffmpeg_executable())
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    raise_if_ffmpeg_machine_fault(process.returncode, process.stderr, target)
    if process.returncode != 0:
        target.unlink(missing_ok=True)
        # Memory addresses are removed, because equal failures must have equal messages.
        lines = [MEMORY_ADDRESS.sub("", line) for line in process.stderr.strip().splitlines()[-3:]]
        message = " | ".join(lines).replace(file_url(target.parent) + "/", "")
        raise MediaError("encode_failed", message)
    reset_display_matrix(target)
    written_frame_count = read_packet_index(target).frame_count
    if written_frame_count != expected_frame_count:
        target.unlink()
        raise MediaError("encode_failed", f"wrote {written_frame_count} frames, expected {expected_frame_count}")
