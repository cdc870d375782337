"""Clips made with ffmpeg: frame-exact trims, concatenations over a black span, pseudo-clips of still images."""

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
from reprise.media.opening import drawn_input, ffmpeg_input, file_url, picture_input
from reprise.media.orientation import reset_display_matrix
from reprise.media.probe import PacketIndex, packet_index
from reprise.media.settings import Concat, Encode, Images

CONCAT_VERSION = 2  # part of the recipe of a concatenation; raised when the same parts give other frames
SEEK_MARGIN_S = 10.0
ONE_THREAD = ("-filter_complex_threads", "1")  # as a job has; what threads cost is a fifth of a small clip's encode
ADDRESS = re.compile(r" @ 0x[0-9a-f]+")


@cache
def ffmpeg_version() -> str:
    """First line of `ffmpeg -version`: encodes differ between versions, so it is part of every recipe."""
    done = subprocess.run([ffmpeg_executable(), "-version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0].split(" Copyright")[0]


def trim(source: Path, start_s: float, end_s: float, target: Path, settings: Encode) -> int:
    """Re-encode [start, end) of a video on its player's clock; returns the frames written."""
    index = packet_index(source)
    span = frames_in_span(index, start_s, end_s, settings.overhang_s)
    seek: dict[str, Any] = {"noaccurate_seek": None}
    if index.is_indexed and start_s > SEEK_MARGIN_S:  # skips what lies well before the span, where seeking is exact
        seek["ss"] = f"{start_s - SEEK_MARGIN_S:.6f}"
    clock = {"fps_mode": "cfr", "r": str(index.rate)}
    if index.variable_rate:  # ffmpeg's default drops frames that share a tick
        base = index.time_base
        clock = {"fps_mode": "passthrough", "enc_time_base": f"{base.numerator}:{base.denominator}"}
    frames = _cut(_decoded(ffmpeg_input(source, **AS_STORED, **seek), index), index, span)
    picture = _as_shown(_from_zero(frames, index), index)
    # x264 in 4:2:0 wants even sizes; one row or column less is nearer to the source than a rescaled picture.
    picture = picture.filter("crop", "trunc(iw/2)*2", "trunc(ih/2)*2", 0, 0)
    _write(picture, target, settings, len(span), **clock)
    return len(span)


# Times as the file states them, one graph of filters whatever the frames are like, and no rotation by ffmpeg, whose
# versions differ in it: what the packet index says of a file is then true of the frames that arrive.
AS_STORED: dict[str, Any] = {"copyts": None, "noautorotate": None, "reinit_filter": 0}


def _decoded(opened: Any, index: PacketIndex) -> Any:
    """Select the video stream that the packet index describes: ffmpeg's first one may be a cover."""
    return opened[str(index.stream)]


def _as_shown(stream: Any, index: PacketIndex) -> Any:
    """Scale frames to the size of the first picture, as every reader here does, and turn them upright."""
    width, height = (index.height, index.width) if index.orientation.is_sideways else (index.width, index.height)
    return index.orientation.filtered(stream.filter("scale", width, height, flags="bicubic"))


def frames_in_span(index: PacketIndex, start_s: float, end_s: float, overhang_s: float) -> range:
    """Frame numbers of a video in [start, end), or the named reason why the span cannot be cut from it."""
    if not 0 <= start_s < end_s:
        raise MediaError("bad_range", f"[{start_s:g}, {end_s:g}) s")
    moments = [index.lead_s + time for time in index.times]
    first, last = (bisect_left(moments, bound - 1e-4) for bound in (start_s, end_s))
    length = index.lead_s + index.duration_s
    if end_s > length + overhang_s or start_s >= length:
        raise MediaError("out_of_range", f"[{start_s:g}, {end_s:g}) s of a video of {length:.2f} s")
    if first == last:
        raise MediaError("out_of_range", f"no frame begins in [{start_s:g}, {end_s:g}) s; choose a longer span")
    return range(first, last)


def _cut(stream: Any, index: PacketIndex, span: range) -> Any:
    """Keep these frames of the packet index; a version of ffmpeg may show others before and after an edit list."""
    if not index.is_timed:
        return stream.filter("trim", start_frame=span.start, end_frame=span.stop)
    # Midway between two frames, where no rounding of times can take one more or one less.
    cut_in, cut_out = _before(index, span.start), _before(index, span.stop)
    return stream.filter("trim", start=f"{cut_in:.6f}", end=f"{cut_out:.6f}")


def _from_zero(stream: Any, index: PacketIndex) -> Any:
    return stream.filter("setpts", "PTS-STARTPTS" if index.is_timed else f"N/({index.rate}*TB)")


def _before(index: PacketIndex, number: int) -> float:
    """A moment of the file's own clock between frame number-1 and frame number."""
    moments = [float(tick * index.time_base) for tick in index.ticks]
    if 0 < number < len(moments):
        return (moments[number - 1] + moments[number]) / 2
    half = max(0.001, (index.duration_s - index.times[-1]) / 2)
    return moments[0] - half if number == 0 else moments[-1] + half


class Joint(NamedTuple):
    """How two clips are joined around a black span: one size, one rate, and the number of frames of each part."""

    width: int
    height: int
    rate: Fraction
    first: int
    black: int
    second: int

    @property
    def black_span(self) -> tuple[int, int]:
        """Frame numbers [start, end) of the black span."""
        return self.first, self.first + self.black

    @property
    def frames(self) -> int:
        return self.first + self.black + self.second


def joint_of(first: Path, second: Path, concat: Concat) -> Joint:
    """Plan a concatenation: the larger clip's size, the higher rate, and the length of each part at that rate."""
    indexes = [packet_index(first), packet_index(second)]
    larger = max(indexes, key=lambda index: index.width * index.height)
    rate = max(index.rate for index in indexes)
    lengths = [max(1, round(index.duration_s * rate)) for index in indexes]
    black = max(1, round(concat.black_s * rate))
    return Joint(larger.width // 2 * 2, larger.height // 2 * 2, rate, lengths[0], black, lengths[1])


def concatenate(first: Path, second: Path, target: Path, settings: Encode, concat: Concat) -> Joint:
    """Encode first clip, black span and second clip at once; returns how they are joined, which is verified."""
    joint = joint_of(first, second, concat)
    enough_s = float((joint.black + 1) / joint.rate)
    black = drawn_input(f"color=c=black:s={joint.width}x{joint.height}:r={joint.rate}:d={enough_s:.6f}").video
    black = _with_common_colours(
        black.filter("trim", end_frame=joint.black).filter("setsar", 1).filter("settb", "AVTB")
    )
    parts = [
        _part(path, number, frames, joint)
        for number, (path, frames) in enumerate(((first, joint.first), (second, joint.second)))
    ]
    joined = ffmpeg.concat(parts[0], black, parts[1], v=1, a=0)
    _write(joined, target, settings, joint.frames, r=str(joint.rate))
    check_black(target, *joint.black_span)
    return joint


def _part(path: Path, number: int, frames: int, joint: Joint) -> Any:
    """Bring a part to the size, rate and clock of the whole, and to its planned number of frames."""
    index = packet_index(path)
    stream = _cut(_decoded(ffmpeg_input(path, number, **AS_STORED), index), index, range(index.frames))
    # ffmpeg's versions differ in how long the last frame is shown, and may leave it out. It is repeated until the
    # planned length, for no longer than that takes: a part that lost frames stays too short, and is refused.
    last_frame = index.duration_s - index.times[-1] + 1 / joint.rate
    stream = stream.filter("tpad", stop_duration=f"{float(last_frame):.6f}", stop_mode="clone")
    stream = _from_zero(stream, index).filter("fps", str(joint.rate)).filter("trim", end_frame=frames)
    return _with_common_colours(_inside(_as_shown(stream, index), joint.width, joint.height, 2))


def _with_common_colours(stream: Any) -> Any:
    """Convert to one matrix and range: a video states only one, and some versions of ffmpeg join parts as they are."""
    converted = stream.filter("scale", out_color_matrix="bt601", out_range="tv", flags="bicubic")
    unstated = {"color_primaries": "unknown", "color_trc": "unknown"}
    return converted.filter("format", "yuv420p").filter("setparams", range="tv", colorspace="smpte170m", **unstated)


def still_clip(images: Sequence[Path], target: Path, settings: Encode, images_settings: Images) -> None:
    """Every image repeated, one after the other, at the first one's size; without loss: a frame is the image."""
    indexes = [packet_index(path) for path in images]
    rate = Fraction(images_settings.fps)
    enough_s = float((images_settings.frames + 1) / rate)
    parts = []
    for number, (path, index) in enumerate(zip(images, indexes, strict=True)):
        repeated = _decoded(picture_input(path, number, framerate=str(rate), t=f"{enough_s:.6f}", **AS_STORED), index)
        picture = _as_shown(repeated.filter("trim", end_frame=images_settings.frames).filter("format", "rgb24"), index)
        parts.append(_inside(picture, indexes[0].width, indexes[0].height, 1))
    joined = parts[0] if len(parts) == 1 else ffmpeg.concat(*parts, v=1, a=0)
    frames = images_settings.frames * len(images)
    _write(joined, target, settings, frames, r=str(rate), vcodec="libx264rgb", crf=0, pix_fmt="rgb24")


def _inside(stream: Any, width: int, height: int, divisor: int) -> Any:
    """A picture inside a frame of this size, with black around it where the shapes differ."""
    return (
        stream.filter(
            "scale", width, height, force_original_aspect_ratio="decrease", force_divisible_by=divisor, flags="bicubic"
        )
        .filter("pad", width, height, "(ow-iw)/2", "(oh-ih)/2", color="black")
        .filter("setsar", 1)
        .filter("settb", "AVTB")
    )


def _write(stream: Any, target: Path, settings: Encode, frames: int, **options: Any) -> None:
    """Encode so many frames into `target`; ffmpeg's own words become the message of a named status."""
    coding = {"vcodec": "libx264", "crf": settings.crf, "preset": settings.preset, "pix_fmt": "yuv420p"}
    output = ffmpeg.output(stream, file_url(target), an=None, **{**coding, **options}, **BIT_EXACT)
    command = ffmpeg.compile(output.global_args(*QUIET, *ONE_THREAD).overwrite_output(), cmd=ffmpeg_executable())
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    stop_on_fault_of_ffmpeg(done.returncode, done.stderr, target)
    if done.returncode != 0:
        target.unlink(missing_ok=True)
        # Without the addresses of ffmpeg's objects, so that the same failure is the same message.
        lines = [ADDRESS.sub("", line) for line in done.stderr.strip().splitlines()[-3:]]
        message = " | ".join(lines).replace(file_url(target.parent) + "/", "")
        raise MediaError("encode_failed", message)
    reset_display_matrix(target)
    written = packet_index(target).frames
    if written != frames:
        target.unlink()
        raise MediaError("encode_failed", f"{written} frames written, the clip should have {frames}")
