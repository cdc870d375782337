"""Clips made with ffmpeg: frame-exact trims, concatenations over a black span, pseudo-clips of still images."""

import re
import subprocess
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import ffmpeg

from reprise.core.errors import stop_on_fault_of_ffmpeg
from reprise.media.errors import MediaError
from reprise.media.ffmpeg import BIT_EXACT, QUIET, ffmpeg_executable
from reprise.media.opening import drawn_input, ffmpeg_input, file_url, picture_input
from reprise.media.probe import PacketIndex, open_video, packet_index
from reprise.media.settings import Concat, Encode, Images

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
    seek: dict[str, str | None] = {"copyts": None, "noaccurate_seek": None}
    if index.is_indexed and start_s > SEEK_MARGIN_S:  # skips what lies well before the span, where seeking is exact
        seek["ss"] = f"{start_s - SEEK_MARGIN_S:.6f}"
    clock = {"fps_mode": "cfr", "r": str(index.rate)}
    if index.variable_rate:  # ffmpeg's default drops frames that share a tick
        base = index.time_base
        clock = {"fps_mode": "passthrough", "enc_time_base": f"{base.numerator}:{base.denominator}"}
    # x264 in 4:2:0 wants even sizes; one row or column less is nearer to the source than a rescaled picture.
    even = ("trunc(iw/2)*2", "trunc(ih/2)*2")
    picture = _cut(ffmpeg_input(source, **seek).video, index, span).filter("crop", *even, 0, 0)
    _write(picture, target, settings, **clock)
    written = packet_index(target).frames
    if written != len(span):
        raise MediaError("encode_failed", f"{written} frames written, the span holds {len(span)}")
    return written


def frames_in_span(index: PacketIndex, start_s: float, end_s: float, overhang_s: float) -> range:
    """Frame numbers of a video in [start, end), or the named reason why the span cannot be cut from it."""
    if not 0 <= start_s < end_s:
        raise MediaError("bad_range", f"[{start_s:g}, {end_s:g}) s")
    moments = [index.lead_s + time for time in index.times]
    first, last = (bisect_left(moments, bound - 1e-4) for bound in (start_s, end_s))
    length = index.lead_s + index.duration_s
    if end_s > length + overhang_s or first == last:
        raise MediaError("out_of_range", f"[{start_s:g}, {end_s:g}) s of a video of {length:.2f} s")
    return range(first, last)


def _cut(stream: Any, index: PacketIndex, span: range) -> Any:
    if not index.is_timed:
        chosen = stream.filter("select", f"between(n,{span.start},{span.stop - 1})")
        return chosen.filter("setpts", f"N/({index.rate}*TB)")
    # Midway between two frames, where no rounding of times can take one more or one less.
    cut_in, cut_out = _before(index, span.start), _before(index, span.stop)
    return stream.filter("trim", start=f"{cut_in:.6f}", end=f"{cut_out:.6f}").filter("setpts", "PTS-STARTPTS")


def _before(index: PacketIndex, number: int) -> float:
    """A moment of the file's own clock between frame number-1 and frame number."""
    moments = [float(tick * index.time_base) for tick in index.ticks[max(0, number - 1) : number + 1]]
    if number == 0:
        return moments[0] - 1.0
    return sum(moments) / 2 if len(moments) == 2 else moments[0] + 1.0


def concatenate(first: Path, second: Path, target: Path, settings: Encode, concat: Concat) -> None:
    """First clip, black span, second clip in one encode, at the larger clip's size and the higher rate."""
    indexes = [packet_index(first), packet_index(second)]
    width, height = max((_even_square(path) for path in (first, second)), key=lambda size: size[0] * size[1])
    rate = max(index.rate for index in indexes)
    black = drawn_input(f"color=c=black:s={width}x{height}:r={rate}:d={concat.black_s}").video
    black = black.filter("setsar", 1).filter("format", "yuv420p").filter("settb", "AVTB")
    parts = [_uniform(ffmpeg_input(path).video, width, height, rate) for path in (first, second)]
    _write(ffmpeg.concat(parts[0], black, parts[1], v=1, a=0), target, settings, r=str(rate))


def still_clip(images: Sequence[Path], target: Path, settings: Encode, images_settings: Images) -> None:
    """Every image repeated, one after the other, at the first one's size; without loss: a frame is the image."""
    index = packet_index(images[0])
    rate = Fraction(images_settings.fps)
    length = images_settings.frames / images_settings.fps
    parts = [
        _inside(
            picture_input(path, framerate=str(rate), t=f"{length:.6f}").video.filter("format", "rgb24"),
            index.width,
            index.height,
            1,
        )
        for path in images
    ]
    joined = parts[0] if len(parts) == 1 else ffmpeg.concat(*parts, v=1, a=0)
    number = {"frames:v": images_settings.frames * len(images)}
    _write(joined, target, settings, r=str(rate), **number, vcodec="libx264rgb", crf=0, pix_fmt="rgb24")


def _even_square(path: Path) -> tuple[int, int]:
    """A clip's even size after its pixels are made square."""
    index = packet_index(path)
    with open_video(path) as (_, stream):
        shape = stream.sample_aspect_ratio or 1
    width = index.width * shape if index.rotation % 180 == 0 else Fraction(index.width)
    return int(width / 2) * 2, index.height // 2 * 2


def _uniform(stream: Any, width: int, height: int, rate: Fraction) -> Any:
    """One size, rate, pixel shape and clock for every part, so that nothing is glued together that differs."""
    square = (
        stream.filter("setpts", "PTS-STARTPTS")
        .filter("fps", str(rate))
        .filter("scale", "trunc(iw*sar/2)*2", "ih")
        .filter("setsar", 1)
    )
    return _inside(square, width, height, 2).filter("format", "yuv420p")


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


def _write(stream: Any, target: Path, settings: Encode, **options: Any) -> None:
    """Encode into `target`; ffmpeg's own words become the message of a named status."""
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
