"""Frames and their times are those of the ffmpeg command line, for files whose packets do not tell them plainly."""

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from reprise.media.decoder import count_decodable, iter_frames, read_frames
from reprise.media.encode import trim
from reprise.media.errors import MediaError
from reprise.media.ffmpeg import QUIET, ffmpeg_executable
from reprise.media.probe import read_packet_index
from reprise.media.settings import Encode

from bench.video import ORIENTATIONS, set_display_matrix
from tests.unit.videos import RATE, barcode_video, numbers, run_ffmpeg

COUNT = 96
X264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-g", "24", "-bf", "3")
X265 = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params")
EVERY_THIRD = ("-vf", "select='not(mod(n,3))+lt(n,9)'", "-fps_mode", "vfr")
TOLERANCE_S = 0.0011  # a time base of milliseconds


def by_ffmpeg(path: Path) -> list[float]:
    """The times of the frames that the command line decodes, from the first."""
    command = [ffmpeg_executable(), *QUIET, "-copyts", "-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough"]
    command += ["-enc_time_base", "1:1000000", "-f", "framehash", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(",") for line in done.stdout.splitlines() if not line.startswith("#")]
    times = [int(fields[2]) / 1e6 for fields in lines]
    return [time - times[0] for time in times]


def check_like_ffmpeg(path: Path, shown: Sequence[int]) -> None:
    index, expected = read_packet_index(path), by_ffmpeg(path)
    assert index.frames == count_decodable(path) == len(expected) == len(shown)
    assert np.allclose(index.times, expected, atol=TOLERANCE_S)
    whole = np.stack([frame.image for frame in iter_frames(path)])
    assert numbers(whole) == list(shown)
    plan = sorted({0, 7, index.frames // 2, index.frames - 1})
    assert np.array_equal(read_frames(path, plan), whole[plan])


def two_passes(path: Path, codec: str, *options: str) -> Path:
    """A video with alternate reference frames, which no decoder shows."""
    source = barcode_video(path.with_name("source.mkv"), COUNT, ("-c:v", "ffv1"))
    log = path.with_name("log")
    for number in ("1", "2"):
        passes = ("-auto-alt-ref", "1", "-lag-in-frames", "16", "-pass", number, "-passlogfile", log)
        run_ffmpeg("-i", source, "-c:v", codec, "-b:v", "300k", "-cpu-used", "4", "-g", "48", *passes, *options, path)
    return path


@pytest.mark.parametrize("target", ["a.webm", "a.mkv", "a.avi", "a.ogg"])
def test_hidden_frames_of_vp8_are_not_counted(target: str, tmp_path: Path) -> None:
    webm = two_passes(tmp_path / "vp8.webm", "libvpx")
    path = tmp_path / target
    run_ffmpeg("-i", webm, "-c", "copy", path)
    check_like_ffmpeg(path, range(COUNT))


@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("pixels", ["yuv420p", "yuv444p10le"])
def test_hidden_frames_of_vp9_are_not_counted(is_split: bool, pixels: str, tmp_path: Path) -> None:
    """They share a packet with the next frame, or have one of their own."""
    path = two_passes(tmp_path / "vp9.webm", "libvpx-vp9", "-pix_fmt", pixels)
    if is_split:
        split = ("-c", "copy", "-fflags", "-autobsf", "-bsf:v", "vp9_superframe_split")
        run_ffmpeg("-i", path, *split, tmp_path / "split.mkv")
        path = tmp_path / "split.mkv"
    check_like_ffmpeg(path, range(COUNT))


@pytest.mark.parametrize(("name", "options"), [
    ("a.mkv", X264), ("a.webm", ("-c:v", "libvpx", "-b:v", "300k")), ("a.mp4", X264), ("a.ts", X264), ("a.flv", X264),
    ("a.avi", X264), ("a.ogv", ("-c:v", "libtheora", "-q:v", "8")),
])  # fmt: skip
def test_a_late_first_time_is_no_missing_end(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    path = barcode_video(tmp_path / name, COUNT, (*options, "-output_ts_offset", "30"))
    check_like_ffmpeg(path, range(COUNT))
    assert trim(path, 1, 2, tmp_path / "cut.mp4", Encode(preset="ultrafast")) == RATE
    assert numbers(read_frames(tmp_path / "cut.mp4", range(RATE))) == list(range(RATE, 2 * RATE))


@pytest.mark.parametrize("before", [(), EVERY_THIRD])
@pytest.mark.parametrize("codec", [X264, ("-c:v", "mpeg4", "-bf", "2", "-q:v", "2"), (*X264, "-bf", "0")])
@pytest.mark.parametrize("is_copied", [False, True])
def test_avi_has_the_times_at_which_frames_come_out(
    before: tuple[str, ...], codec: tuple[str, ...], is_copied: bool, tmp_path: Path
) -> None:
    """AVI states no presentation times: with B-frames, guesses collide, and the rate comes out too high."""
    path = tmp_path / "a.avi"
    shown = [n for n in range(COUNT) if not before or n % 3 == 0 or n < 9]
    barcode_video(tmp_path / "a.mp4" if is_copied else path, COUNT, codec, before=before)
    if is_copied:
        run_ffmpeg("-i", tmp_path / "a.mp4", "-c", "copy", path)
    check_like_ffmpeg(path, shown)
    index = read_packet_index(path)
    assert index.variable_rate == bool(before) and (before or index.fps == pytest.approx(RATE, rel=1e-6))
    assert index.rate == RATE or before


@pytest.mark.parametrize("name", ["a.m1v", "a.m2v"])
@pytest.mark.parametrize("between", ["0", "2"])
def test_raw_mpeg_streams_begin_with_their_first_frame(name: str, between: str, tmp_path: Path) -> None:
    codec = "mpeg1video" if name == "a.m1v" else "mpeg2video"
    path = barcode_video(tmp_path / name, COUNT, ("-c:v", codec, "-bf", between, "-q:v", "2"))
    check_like_ffmpeg(path, range(COUNT))
    assert read_packet_index(path).fps == pytest.approx(RATE)
    assert trim(path, 1, 2, tmp_path / "cut.mp4", Encode(preset="ultrafast")) == RATE
    assert numbers(read_frames(tmp_path / "cut.mp4", range(RATE))) == list(range(RATE, 2 * RATE))


@pytest.mark.parametrize("codec", ["h264", "mpeg1video"])
def test_a_program_stream_with_few_times_keeps_its_rate(codec: str, tmp_path: Path) -> None:
    """It states the time of some pictures; ffmpeg's guesses for the others collide, and some have none."""
    path = barcode_video(
        tmp_path / "a.mpg", 2 * COUNT, ("-c:v", codec, "-bf", "2", "-g", "24", "-b:v", "2M"), rate="25"
    )
    assert count_decodable(path) == 2 * COUNT
    assert numbers(read_frames(path, range(2 * COUNT))) == list(range(2 * COUNT))
    assert np.allclose(read_packet_index(path).times, [number / 25 for number in range(2 * COUNT)])


def with_edits(path: Path, target: Path, *edits: tuple[int, int]) -> Path:
    """A copy of an MP4 file whose video has these edits: milliseconds, and where they begin in ticks (-1: nothing)."""

    def box(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I4s", 8 + len(content), kind) + content

    def children(content: bytes) -> list[tuple[bytes, bytes]]:
        parts = []
        while content:
            size, kind = struct.unpack(">I4s", content[:8])
            parts.append((kind, content[8:size]))
            content = content[size:]
        return parts

    rows = b"".join(struct.pack(">IiI", length, start, 1 << 16) for length, start in edits)
    edited = box(b"edts", box(b"elst", struct.pack(">II", 0, len(edits)) + rows))

    def rebuilt(kind: bytes, content: bytes) -> bytes:
        if kind == b"moov":
            return box(kind, b"".join(rebuilt(*part) for part in children(content)))
        if kind == b"trak":
            parts = [(name, part) for name, part in children(content) if name != b"edts"]
            return box(kind, b"".join(box(*part) + edited * (part[0] == b"tkhd") for part in parts))
        return box(kind, content)

    target.write_bytes(b"".join(rebuilt(*part) for part in children(path.read_bytes())))
    return target


@pytest.mark.parametrize(("edits", "shown"), [
    ([(2000, 1024)], [*range(48)]),
    ([(1000, 12288 + 1024)], [*range(24, 48)]),
    ([(500, -1), (1500, 1024)], [*range(36)]),
    ([(1000, 1024), (1000, 2 * 12288 + 1024)], [*range(24), *range(48, 72)]),
    ([(1000, 1024), (1000, 1024)], [*range(24), *range(24)]),
    ([(9000, 1024)], [*range(COUNT)]),
])  # fmt: skip
def test_an_edit_list_chooses_the_frames(edits: list[tuple[int, int]], shown: list[int], tmp_path: Path) -> None:
    """Phones and editors cut a video by its edit list, and leave all the frames in the file."""
    whole = barcode_video(tmp_path / "whole.mp4", COUNT, X264)
    check_like_ffmpeg(with_edits(whole, tmp_path / "edited.mp4", *edits), shown)


def test_vvc_is_read(tmp_path: Path) -> None:
    """Its encoder in ffmpeg gives the first keyframe a later time than the frames that follow it."""
    source = barcode_video(tmp_path / "a.mkv", 33, ("-c:v", "ffv1"))
    encoder = imageio_ffmpeg.get_ffmpeg_exe()  # distributions leave VVC out
    command = [encoder, *QUIET, "-i", source, "-c:v", "libvvenc", "-preset", "faster", tmp_path / "a.mp4"]
    subprocess.run(command, check=True)
    index = read_packet_index(tmp_path / "a.mp4")
    assert np.allclose(index.times, [number / RATE for number in range(33)]) and index.lead_s == 0
    assert count_decodable(tmp_path / "a.mp4") == 33
    assert numbers(read_frames(tmp_path / "a.mp4", range(33))) == list(range(33))


@pytest.mark.parametrize(("name", "codec", "first"), [
    ("a.mkv", (*X264, "-x264-params", "open-gop=1:b-pyramid=2:scenecut=0"), 24),
    ("a.ts", ("-c:v", "mpeg2video", "-bf", "2", "-g", "24", "-q:v", "2"), None),
    ("a.mkv", (*X265, "keyint=24:min-keyint=24:open-gop=1:bframes=4:scenecut=0:log-level=error"), 24),
    ("a.mp4", (*X265, "keyint=24:min-keyint=24:open-gop=0:radl=2:bframes=4:scenecut=0:log-level=error"), None),
])  # fmt: skip
def test_leading_pictures_after_a_cut_are_those_that_ffmpeg_shows(
    name: str, codec: tuple[str, ...], first: int | None, tmp_path: Path
) -> None:
    whole = barcode_video(tmp_path / ("whole.ts" if name == "a.ts" else "whole.mkv"), COUNT, codec)
    run_ffmpeg("-ss", "1.3", "-i", whole, "-c", "copy", tmp_path / name)
    path = tmp_path / name
    index = read_packet_index(path)
    shown = numbers(read_frames(path, range(index.frames)))
    assert shown == list(range(shown[0], COUNT)) and (first is None or shown[0] == first)
    check_like_ffmpeg(path, shown)


def test_repeated_frames_of_theora_have_no_picture(tmp_path: Path) -> None:
    """An empty packet repeats the frame before it; a decoder would take it for the end."""
    run_ffmpeg("-f", "lavfi", "-i", "color=gray:s=64x64:r=25:d=1", "-c:v", "libtheora", tmp_path / "a.ogv")
    index = read_packet_index(tmp_path / "a.ogv")
    assert count_decodable(tmp_path / "a.ogv") == index.frames == len(by_ffmpeg(tmp_path / "a.ogv"))


def test_a_clip_of_a_single_frame(tmp_path: Path) -> None:
    """Its only gap is the length that its packet states, and its rotation is known after the last packet."""
    path = barcode_video(tmp_path / "a.ts", 1, X264)
    assert read_packet_index(path).fps == pytest.approx(RATE)
    upright = barcode_video(tmp_path / "a.mp4", 1, X264, width=128, height=64)
    set_display_matrix(upright, ORIENTATIONS["clockwise"])
    assert read_packet_index(upright).orientation == (90, False)


@pytest.mark.parametrize("name", ["a.ts", "a.mpg"])
def test_appended_files_are_refused_by_name(name: str, tmp_path: Path) -> None:
    path = barcode_video(tmp_path / name, COUNT, ("-c:v", "mpeg2video", "-q:v", "2"), rate="25")
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(MediaError, match="go back from .* concatenated byte by byte") as caught:
        read_packet_index(path)
    assert caught.value.status == "corrupt"


def test_a_stream_that_appears_late_is_no_end(tmp_path: Path) -> None:
    """A sound that begins after 20 s is unknown when an FLV file is opened."""
    video = ("-f", "lavfi", "-i", "testsrc=s=64x48:r=10:d=24")
    sound = ("-itsoffset", "20", "-f", "lavfi", "-i", "sine=d=4")
    for name in ("a.flv", "a.ts"):
        run_ffmpeg(*video, *sound, *X264, "-c:a", "aac", tmp_path / name)
        assert count_decodable(tmp_path / name) == 240
