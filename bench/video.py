"""Read, trim and join random kinds of videos, and compare frames and times with the ffmpeg command line.

`python -m bench.video [MINUTES [SEED]]` draws files until the time is over, and prints each difference with its seed.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
from reprise.media.black import is_black
from reprise.media.decoder import count_decodable, iter_frames, read_frames
from reprise.media.encode import ConcatenationPlan, concatenate, trim
from reprise.media.errors import MediaError
from reprise.media.ffmpeg import ffmpeg_executable
from reprise.media.probe import PacketIndex, read_packet_index
from reprise.media.settings import Concat, Encode

Images = npt.NDArray[np.uint8]

SECONDS, SIZE, BLOCK = 1.6, (96, 64), 16  # Length and frame size of a video, and side of a block in a picture.
OTHER_SIZE = (64, 96)  # Frame size after a change.
# Maximum mean difference of two pictures of the same frame after conversions, and after scaling or a lossy encode. Two
# consecutive frames differ by about 80.
MAX_DIFFERENCE, MAX_LOSSY_DIFFERENCE = 2.0, 12.0
ENCODE = Encode(preset="ultrafast", crf=8)

X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-crf", "8", "-g", "12")
X265 = ("-c:v", "libx265", "-preset", "ultrafast", "-crf", "8", "-x265-params", "keyint=12:log-level=error")
CODECS: dict[str, tuple[str, ...]] = {
    "H.264": (*X264, "-bf", "0"),
    "H.264 with B-frames": (*X264, "-bf", "2"),
    "H.264 with open groups": (*X264, "-bf", "2", "-x264-params", "open-gop=1:scenecut=0"),
    "H.265": X265,
    "VP8": ("-c:v", "libvpx", "-crf", "4", "-b:v", "2M", "-g", "12", "-cpu-used", "8", "-deadline", "realtime"),
    "VP9": ("-c:v", "libvpx-vp9", "-crf", "8", "-b:v", "0", "-g", "12", "-cpu-used", "8", "-deadline", "realtime"),
    "AV1": ("-c:v", "libaom-av1", "-crf", "8", "-g", "12", "-cpu-used", "8", "-usage", "realtime"),
    "MPEG-4": ("-c:v", "mpeg4", "-q:v", "2", "-g", "12"),
    "MPEG-2": ("-c:v", "mpeg2video", "-q:v", "2", "-g", "12", "-bf", "2"),
    "Motion JPEG": ("-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj420p"),
}
H264_CODECS = ("H.264", "H.264 with B-frames", "H.264 with open groups")
# Container -> codecs that it can hold.
CONTAINERS = {
    "mp4": (*H264_CODECS, "H.265", "VP9", "AV1", "MPEG-4"),
    "mov": (*H264_CODECS, "H.265", "MPEG-4", "Motion JPEG"),
    "mkv": tuple(CODECS),
    "webm": ("VP8", "VP9", "AV1"),
    "avi": (*H264_CODECS, "MPEG-4", "Motion JPEG"),
    "ts": (*H264_CODECS, "H.265", "MPEG-2"),
    "flv": H264_CODECS,
    "mpg": ("MPEG-2",),
}
SOUND = {"webm": "libvorbis", "avi": "mp2", "mpg": "mp2"}  # Container -> codec of sound, if it is not AAC.
# A display matrix (a, b, c, d) shows a decoded point (x, y) at (a x + c y, b x + d y).
ORIENTATIONS = {
    "upright": (1, 0, 0, 1), "clockwise": (0, 1, -1, 0),
    "half a turn": (-1, 0, 0, -1), "counter-clockwise": (0, -1, 1, 0),
    "mirrored": (-1, 0, 0, 1), "upside down": (1, 0, 0, -1),
    "transposed": (0, 1, 1, 0), "anti-transposed": (0, -1, -1, 0),
}  # fmt: skip
ROTATIONS = tuple(ORIENTATIONS)[:4]
UPRIGHT = ROTATIONS[:1]
PIXEL_SHAPES = ("1/1", "64/45", "8/9")
CONSTANT_RATES = ("24", "25", "30000/1001", "10", "60")
RATES = (*CONSTANT_RATES, "variable")
STARTS = ("at 0", "late", "after the sound", "within an edit list")
# Frame sizes change in WebRTC recordings and inserted advertisements. ffmpeg's MPEG-2 decoder loses a frame there, so
# such a file is refused.
SIZE_CHANGING_CODECS = (*H264_CODECS, "H.265", "VP8", "VP9")


class Case(NamedTuple):
    """One kind of video."""

    container: str
    codec: str
    orientation: str
    pixel_shape: str
    rate: str
    start: str
    changes_size: bool


def draw(generator: Random) -> Case:
    """Draw a kind of video that its container can hold."""
    container = generator.choice(tuple(CONTAINERS))
    codec = generator.choice(CONTAINERS[container])
    has_edit_lists = container in ("mp4", "mov")
    changes_size = codec in SIZE_CHANGING_CODECS and container != "avi" and generator.random() < 0.25
    orientations = UPRIGHT
    if has_edit_lists:
        orientations = tuple(ORIENTATIONS)
    elif container == "mkv" and codec != "VP8":
        orientations = ROTATIONS  # Only newer versions of ffmpeg read mirrored orientations from Matroska.
    rates = RATES
    if codec == "MPEG-2":
        rates = RATES[:3]
    elif container in ("avi", "flv") or changes_size:
        rates = CONSTANT_RATES
    starts = STARTS
    if container == "avi":
        starts = STARTS[:1]
    elif not has_edit_lists or changes_size:
        starts = STARTS[:3]  # all but an edit list
    return Case(
        container,
        codec,
        generator.choice(orientations),
        generator.choice(PIXEL_SHAPES),
        generator.choice(rates),
        generator.choice(starts),
        changes_size,
    )


def draw_covering_cases(seed: int) -> list[Case]:
    """Draw a few cases in which every value occurs."""
    generator = Random(seed)  # noqa: S311, no secret
    covered: set[tuple[str, object]] = set()
    cases: list[Case] = []
    all_values = (CONTAINERS, CODECS, ORIENTATIONS, PIXEL_SHAPES, RATES, STARTS, (False, True))
    target_count = sum(map(len, all_values))
    while len(covered) < target_count:
        case = draw(generator)
        values = set(case._asdict().items())
        if not values <= covered:
            covered |= values
            cases.append(case)
    return cases


# Files


def write_video(case: Case, folder: Path) -> Path:
    """Write a video of this kind with ffmpeg, by stream copies of one encode."""
    target = folder / f"video.{case.container}"
    if case.changes_size:
        extension = "mkv" if case.codec.startswith("VP") else "ts"
        parts = [
            _encode(case, folder / f"{number}.{extension}", size) for number, size in enumerate((SIZE, OTHER_SIZE))
        ]
        video = folder / f"pieces.{extension}"
        list_file = folder / "pieces.txt"
        list_file.write_text("".join(f"file {part.name}\n" for part in parts))
        _run("-f", "concat", "-i", str(list_file), "-c", "copy", str(video))
    else:
        video = _encode(case, folder / ("encoded.mkv" if case.codec == "VP8" else "encoded.mp4"), SIZE)
    if case.orientation != "upright":
        upright, video = video, folder / "oriented.mp4"
        _run("-i", str(upright), "-c", "copy", str(video))
        set_display_matrix(video, ORIENTATIONS[case.orientation])
    input_options = {"within an edit list": ("-ss", "0.7"), "after the sound": ("-itsoffset", "0.7")}.get(
        case.start, ()
    )
    sound = ("-f", "lavfi", "-i", "sine=d=3", "-map", "0:v", "-map", "1:a", "-c:a", SOUND.get(case.container, "aac"))
    output_options = {"late": ("-output_ts_offset", "1.5"), "after the sound": sound}.get(case.start, ())
    _run(*input_options, "-i", str(video), *output_options, "-c:v", "copy", str(target))
    return target


def _encode(case: Case, path: Path, size: tuple[int, int]) -> Path:
    """Encode random pictures of this size with the codec, pixel shape and frame rate of a case."""
    is_variable = case.rate == "variable"
    rate = "30" if is_variable else case.rate
    numerator, _, denominator = rate.partition("/")
    frames = round(SECONDS * int(numerator) / int(denominator or 1))
    filters = f"setsar={case.pixel_shape}"
    if is_variable:
        filters += ",select='not(mod(n,3))+lt(n,9)'"  # the first nine frames, then every third
    command = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", rate, "-i", "-"]
    command += ["-vf", filters, "-pix_fmt", "yuv420p", "-fps_mode", "passthrough", *CODECS[case.codec], str(path)]
    _run(*command, content=pictures(frames, size).tobytes())
    return path


def pictures(frames: int, size: tuple[int, int]) -> Images:
    """Return blocks of random grey that distinguish all frames and orientations."""
    width, height = size
    blocks = np.random.default_rng(0).integers(20, 236, (frames, height // BLOCK, width // BLOCK), dtype=np.uint8)
    return np.repeat(np.kron(blocks, np.ones((1, BLOCK, BLOCK), np.uint8))[..., None], 3, axis=-1)


def set_display_matrix(path: Path, matrix: Sequence[float]) -> Path:
    """Write a display matrix into the header of the first track of an MP4 file, as a phone does."""
    file_bytes = bytearray(path.read_bytes())
    header = file_bytes.index(b"tkhd") + 4
    # The matrix has fixed-point numbers: 16 fractional bits, and 30 in its last element.
    a, b, c, d = (round(value * 0x10000) for value in matrix)
    matrix_bytes = np.array([a, b, 0, c, d, 0, 0, 0, 1 << 30], ">i4").tobytes()
    # The first byte of the header is its version. Version 1 has longer times and durations before the matrix.
    start = header + (52 if file_bytes[header] else 40)
    file_bytes[start : start + len(matrix_bytes)] = matrix_bytes
    path.write_bytes(file_bytes)
    return path


def _run(
    *options: str, content: bytes | None = None, executable: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run ffmpeg with these options, and raise an error if it fails; `content` is its standard input."""
    command = [executable or ffmpeg_executable(), "-hide_banner", "-y", *(() if content else ("-nostdin",)), *options]
    process = subprocess.run(command, input=content, capture_output=True)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{process.stderr.decode(errors='replace')[-2000:]}")
    return process


# Comparisons


class Reference(NamedTuple):
    """The frames and times that the ffmpeg command line reads from a video."""

    frames: Images
    times: list[float]  # presentation times as stored in the file, in seconds
    start_s: float  # start time of the file


def read_reference(path: Path) -> Reference:
    """Decode with the ffmpeg of a wheel, which is as new as PyAV's; older versions handle edit lists differently."""
    process = _run(
        *("-copyts", "-i", str(path), "-map", "0:V:0", "-vf", "showinfo", "-fps_mode", "passthrough"),
        *("-pix_fmt", "rgb24", "-f", "rawvideo", "-"),
        executable=imageio_ffmpeg.get_ffmpeg_exe(),
    )
    log = process.stderr.decode(errors="replace")
    width, height = re.findall(r"Video: rawvideo.*?, (\d+)x(\d+)", log)[-1]
    times = [float(moment) for moment in re.findall(r" n: *\d+ .*?pts_time:(\S+)", log)]
    start = re.search(r"start: (-?[\d.]+)", log)
    frames = np.frombuffer(process.stdout, np.uint8).reshape(-1, int(height), int(width), 3)
    return Reference(frames, times, float(start[1]) if start else 0.0)


def problems(case: Case, folder: Path) -> Iterator[str]:
    """Write a video, and yield every way in which reading, trimming or joining it differs from ffmpeg."""
    path = write_video(case, folder)
    try:
        index, reference = read_packet_index(path), read_reference(path)
        count_decodable(path)
        frames = np.stack([frame.image for frame in iter_frames(path)])
        yield from _reading(case, path, index, frames, reference)
        yield from _trimming(case, path, index, frames, folder / "cut.mp4")
        yield from _joining(case, path, index, frames, folder / "joined.mp4")
    except MediaError as error:
        yield f"{error.status}: {error.message}"


def _reading(case: Case, path: Path, index: PacketIndex, frames: Images, reference: Reference) -> Iterator[str]:
    """Yield the differences of frames and times from those of ffmpeg."""
    if frames.shape != reference.frames.shape:
        yield f"frames are {frames.shape}, ffmpeg's {reference.frames.shape}"
        return
    difference = _mean_differences(frames, reference.frames).max()
    if difference > (MAX_LOSSY_DIFFERENCE if case.changes_size else MAX_DIFFERENCE):
        yield f"a frame differs from ffmpeg's by {difference:.1f}"
    if index.is_timed:
        times = np.array(reference.times)
        delay = float(np.abs(np.array(index.times) - (times - times[0])).max())
        if delay > 0.0015:
            yield f"a time differs from ffmpeg's by {delay:.4f} s"
        if abs(index.start_offset_s - (times[0] - reference.start_s)) > 0.0015:
            yield f"start_offset_s is {index.start_offset_s:.4f}, ffmpeg's {times[0] - reference.start_s:.4f}"
    elif index.fps != float(index.rate) or abs(index.fps - _rate(case)) > 0.001 * index.fps:
        yield f"{index.fps} frames a second, expected {_rate(case)}"
    sample = sorted({0, len(frames) // 3, len(frames) // 2, len(frames) - 1})
    if not np.array_equal(read_frames(path, sample), frames[sample]):
        yield f"frames {sample} differ when they are read alone"


def _rate(case: Case) -> float:
    """Return the frames per second of a case with a constant rate."""
    numerator, _, denominator = case.rate.partition("/")
    return int(numerator) / int(denominator or 1)


def _trimming(case: Case, path: Path, index: PacketIndex, frames: Images, target: Path) -> Iterator[str]:
    """Trim the video from 30 to 80 % of its length, and yield the differences from the frames of this span."""
    start, end = index.start_offset_s + 0.3 * index.duration_s, index.start_offset_s + 0.8 * index.duration_s
    selected = [
        number for number, time_s in enumerate(index.times) if start <= time_s + index.start_offset_s + 1e-4 < end
    ]
    trim(path, start, end, target, ENCODE)
    expected, clip = frames[selected], np.stack([frame.image for frame in iter_frames(target)])
    if clip.shape != expected.shape:
        yield f"a trimmed clip is {clip.shape}, its span {expected.shape}"
        return
    if (difference := _mean_differences(expected, clip).max()) > MAX_LOSSY_DIFFERENCE:
        yield f"a frame of a trimmed clip differs from the video's by {difference:.1f}"
    offsets = np.array(index.times)[selected] - index.times[selected[0]]
    if np.abs(np.array(read_packet_index(target).times) - offsets).max() > 0.002:
        yield "a trimmed clip has other times"


def _joining(case: Case, path: Path, index: PacketIndex, frames: Images, target: Path) -> Iterator[str]:
    """Join the video with itself, and yield the differences of both parts from its frames."""
    plan = concatenate(path, path, target, ENCODE, Concat(black_s=0.5))
    joined = read_frames(target, range(plan.frame_count))
    if not all(is_black(np.asarray(frame.mean(axis=-1), np.uint8)) for frame in joined[slice(*plan.black_span)]):
        yield f"frames {plan.black_span} of a concatenation are not black"
    for name, part in (("first", joined[: plan.first_frame_count]), ("second", joined[plan.black_span[1] :])):
        # A time midway between two frames of the concatenation may be rounded to either.
        differences = [_mean_differences(frames[_resampled(index, plan, shift)], part) for shift in (-0.05, 0.0, 0.05)]
        if (largest := np.min(differences, axis=0).max()) > MAX_LOSSY_DIFFERENCE:
            yield f"a frame of the {name} part differs from the video's by {largest:.1f}"


def _resampled(index: PacketIndex, plan: ConcatenationPlan, shift: float) -> npt.NDArray[np.int64]:
    """Return the numbers of the frames of a part that a concatenation shows at its own rate.

    `shift` moves the boundary at which a time is rounded up, in frames of the concatenation.
    """
    slots = np.floor(np.array(index.times) * float(plan.rate) + 0.5 + shift)
    return np.maximum(np.searchsorted(slots, np.arange(plan.first_frame_count), side="right") - 1, 0)


def _mean_differences(frames: Images, references: Images) -> npt.NDArray[np.float64]:
    """Return the mean difference of each pair of pictures."""
    return np.asarray(np.abs(frames.astype(np.int16) - references).mean(axis=(1, 2, 3)), np.float64)


def main(minutes: float = 5.0, seed: int = 0) -> int:
    """Compare random videos until the time is over, and return 1 if there is any difference."""
    end, problem_count, number = time.monotonic() + 60 * minutes, 0, 0
    for number in count():
        if time.monotonic() > end:
            break
        case = draw(Random(f"{seed}.{number}"))  # noqa: S311, no secret
        with TemporaryDirectory() as folder:
            for problem in problems(case, Path(folder)):
                problem_count += 1
                print(f"{seed}.{number} {case}: {problem}", flush=True)
    print(f"{number} videos, {problem_count} problems")
    return min(problem_count, 1)


if __name__ == "__main__":
    minutes_and_seed = [kind(word) for kind, word in zip((float, int), sys.argv[1:3], strict=False)]
    sys.exit(main(*minutes_and_seed))
