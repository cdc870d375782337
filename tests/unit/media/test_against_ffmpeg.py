"""Test frames and times against the ffmpeg command line for files whose packets do not state them plainly."""

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
from tests.unit.videos import RATE, barcode_video, read_barcodes, run_ffmpeg

FRAME_COUNT = 96
X264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-g", "24", "-bf", "3")
X265 = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params")
EVERY_THIRD = ("-vf", "select='not(mod(n,3))+lt(n,9)'", "-fps_mode", "vfr")
TOLERANCE_S = 0.0011  # for time bases of milliseconds


def read_times_with_ffmpeg(path: Path) -> list[float]:
    """Return the times of the frames that the ffmpeg command line decodes, relative to the first."""
    command = [ffmpeg_executable(), *QUIET, "-copyts", "-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough"]
    command += ["-enc_time_base", "1:1000000", "-f", "framehash", "-"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(",") for line in process.stdout.splitlines() if not line.startswith("#")]
    times = [int(fields[2]) / 1e6 for fields in lines]
    return [time - times[0] for time in times]


def check_against_ffmpeg(path: Path, expected_numbers: Sequence[int]) -> None:
    index, expected_times = read_packet_index(path), read_times_with_ffmpeg(path)
    assert index.frame_count == count_decodable(path) == len(expected_times) == len(expected_numbers)
    assert np.allclose(index.times, expected_times, atol=TOLERANCE_S)
    frames = np.stack([frame.image for frame in iter_frames(path)])
    assert read_barcodes(frames) == list(expected_numbers)
    indices = sorted({0, 7, index.frame_count // 2, index.frame_count - 1})
    assert np.array_equal(read_frames(path, indices), frames[indices])


def encode_in_two_passes(path: Path, codec: str, *options: str) -> Path:
    """Encode a video with alternate reference frames, which decoders do not output."""
    source = barcode_video(path.with_name("source.mkv"), FRAME_COUNT, ("-c:v", "ffv1"))
    log = path.with_name("log")
    for pass_number in ("1", "2"):
        pass_options = ("-auto-alt-ref", "1", "-lag-in-frames", "16", "-pass", pass_number, "-passlogfile", log)
        run_ffmpeg(
            "-i", source, "-c:v", codec, "-b:v", "300k", "-cpu-used", "4", "-g", "48", *pass_options, *options, path
        )
    return path


@pytest.mark.parametrize("target", ["a.webm", "a.mkv", "a.avi", "a.ogg"])
def test_hidden_frames_of_vp8_are_not_counted(target: str, tmp_path: Path) -> None:
    webm = encode_in_two_passes(tmp_path / "vp8.webm", "libvpx")
    path = tmp_path / target
    run_ffmpeg("-i", webm, "-c", "copy", path)
    check_against_ffmpeg(path, range(FRAME_COUNT))


@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv444p10le"])
def test_hidden_frames_of_vp9_are_not_counted(is_split: bool, pixel_format: str, tmp_path: Path) -> None:
    """Hidden frames share a packet with the next frame or have their own packet."""
    path = encode_in_two_passes(tmp_path / "vp9.webm", "libvpx-vp9", "-pix_fmt", pixel_format)
    if is_split:
        split_options = ("-c", "copy", "-fflags", "-autobsf", "-bsf:v", "vp9_superframe_split")
        run_ffmpeg("-i", path, *split_options, tmp_path / "split.mkv")
        path = tmp_path / "split.mkv"
    check_against_ffmpeg(path, range(FRAME_COUNT))


@pytest.mark.parametrize(("name", "options"), [
    ("a.mkv", X264), ("a.webm", ("-c:v", "libvpx", "-b:v", "300k")), ("a.mp4", X264), ("a.ts", X264), ("a.flv", X264),
    ("a.avi", X264), ("a.ogv", ("-c:v", "libtheora", "-q:v", "8")),
])  # fmt: skip
def test_a_late_first_timestamp_is_not_a_truncation(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    path = barcode_video(tmp_path / name, FRAME_COUNT, (*options, "-output_ts_offset", "30"))
    check_against_ffmpeg(path, range(FRAME_COUNT))
    assert trim(path, 1, 2, tmp_path / "cut.mp4", Encode(preset="ultrafast")) == RATE
    assert read_barcodes(read_frames(tmp_path / "cut.mp4", range(RATE))) == list(range(RATE, 2 * RATE))


@pytest.mark.parametrize("frame_selection", [(), EVERY_THIRD])
@pytest.mark.parametrize("codec", [X264, ("-c:v", "mpeg4", "-bf", "2", "-q:v", "2"), (*X264, "-bf", "0")])
@pytest.mark.parametrize("is_copied", [False, True])
def test_avi_frames_have_the_times_of_decoder_output(
    frame_selection: tuple[str, ...], codec: tuple[str, ...], is_copied: bool, tmp_path: Path
) -> None:
    """AVI has no presentation times: with B-frames, ffmpeg's guesses collide, and the rate would be too high."""
    path = tmp_path / "a.avi"
    frame_numbers = [number for number in range(FRAME_COUNT) if not frame_selection or number % 3 == 0 or number < 9]
    barcode_video(tmp_path / "a.mp4" if is_copied else path, FRAME_COUNT, codec, extra_options=frame_selection)
    if is_copied:
        run_ffmpeg("-i", tmp_path / "a.mp4", "-c", "copy", path)
    check_against_ffmpeg(path, frame_numbers)
    index = read_packet_index(path)
    assert index.is_variable_rate == bool(frame_selection) and (
        frame_selection or index.fps == pytest.approx(RATE, rel=1e-6)
    )
    assert index.rate == RATE or frame_selection


@pytest.mark.parametrize("name", ["a.m1v", "a.m2v"])
@pytest.mark.parametrize("b_frames", ["0", "2"])
def test_raw_mpeg_streams_begin_with_their_first_frame(name: str, b_frames: str, tmp_path: Path) -> None:
    codec = "mpeg1video" if name == "a.m1v" else "mpeg2video"
    path = barcode_video(tmp_path / name, FRAME_COUNT, ("-c:v", codec, "-bf", b_frames, "-q:v", "2"))
    check_against_ffmpeg(path, range(FRAME_COUNT))
    assert read_packet_index(path).fps == pytest.approx(RATE)
    assert trim(path, 1, 2, tmp_path / "cut.mp4", Encode(preset="ultrafast")) == RATE
    assert read_barcodes(read_frames(tmp_path / "cut.mp4", range(RATE))) == list(range(RATE, 2 * RATE))


@pytest.mark.parametrize("codec", ["h264", "mpeg1video"])
def test_a_program_stream_with_few_times_keeps_its_rate(codec: str, tmp_path: Path) -> None:
    """The stream has times for some pictures; ffmpeg's guesses for the others collide or are missing."""
    path = barcode_video(
        tmp_path / "a.mpg", 2 * FRAME_COUNT, ("-c:v", codec, "-bf", "2", "-g", "24", "-b:v", "2M"), rate="25"
    )
    assert count_decodable(path) == 2 * FRAME_COUNT
    assert read_barcodes(read_frames(path, range(2 * FRAME_COUNT))) == list(range(2 * FRAME_COUNT))
    assert np.allclose(read_packet_index(path).times, [number / 25 for number in range(2 * FRAME_COUNT)])


def write_edit_list(path: Path, target: Path, *edits: tuple[int, int]) -> Path:
    """Copy an MP4 file with an edit list: each edit has a length in milliseconds and a start in ticks (-1: a gap)."""

    def build_box(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I4s", 8 + len(content), kind) + content

    def parse_boxes(content: bytes) -> list[tuple[bytes, bytes]]:
        parts = []
        while content:
            size, kind = struct.unpack(">I4s", content[:8])
            parts.append((kind, content[8:size]))
            content = content[size:]
        return parts

    rows = b"".join(struct.pack(">IiI", length, start, 1 << 16) for length, start in edits)
    edit_boxes = build_box(b"edts", build_box(b"elst", struct.pack(">II", 0, len(edits)) + rows))

    def rebuild_box(kind: bytes, content: bytes) -> bytes:
        if kind == b"moov":
            return build_box(kind, b"".join(rebuild_box(*part) for part in parse_boxes(content)))
        if kind == b"trak":
            parts = [(name, part) for name, part in parse_boxes(content) if name != b"edts"]
            return build_box(kind, b"".join(build_box(*part) + edit_boxes * (part[0] == b"tkhd") for part in parts))
        return build_box(kind, content)

    target.write_bytes(b"".join(rebuild_box(*part) for part in parse_boxes(path.read_bytes())))
    return target


@pytest.mark.parametrize(("edits", "frame_numbers"), [
    ([(2000, 1024)], [*range(48)]),
    ([(1000, 12288 + 1024)], [*range(24, 48)]),
    ([(500, -1), (1500, 1024)], [*range(36)]),
    ([(1000, 1024), (1000, 2 * 12288 + 1024)], [*range(24), *range(48, 72)]),
    ([(1000, 1024), (1000, 1024)], [*range(24), *range(24)]),
    ([(9000, 1024)], [*range(FRAME_COUNT)]),
])  # fmt: skip
def test_an_edit_list_chooses_the_frames(
    edits: list[tuple[int, int]], frame_numbers: list[int], tmp_path: Path
) -> None:
    """Phones and editors trim a video by its edit list and leave all frames in the file."""
    source = barcode_video(tmp_path / "whole.mp4", FRAME_COUNT, X264)
    check_against_ffmpeg(write_edit_list(source, tmp_path / "edited.mp4", *edits), frame_numbers)


def test_vvc_videos_are_decoded(tmp_path: Path) -> None:
    """ffmpeg's VVC encoder gives the first keyframe a later time than the next frames."""
    source = barcode_video(tmp_path / "a.mkv", 33, ("-c:v", "ffv1"))
    encoder = imageio_ffmpeg.get_ffmpeg_exe()  # the ffmpeg of distributions has no VVC encoder
    command = [encoder, *QUIET, "-i", source, "-c:v", "libvvenc", "-preset", "faster", tmp_path / "a.mp4"]
    subprocess.run(command, check=True)
    index = read_packet_index(tmp_path / "a.mp4")
    assert np.allclose(index.times, [number / RATE for number in range(33)]) and index.start_offset_s == 0
    assert count_decodable(tmp_path / "a.mp4") == 33
    assert read_barcodes(read_frames(tmp_path / "a.mp4", range(33))) == list(range(33))


@pytest.mark.parametrize(("name", "codec", "first_number"), [
    ("a.mkv", (*X264, "-x264-params", "open-gop=1:b-pyramid=2:scenecut=0"), 24),
    ("a.ts", ("-c:v", "mpeg2video", "-bf", "2", "-g", "24", "-q:v", "2"), None),
    ("a.mkv", (*X265, "keyint=24:min-keyint=24:open-gop=1:bframes=4:scenecut=0:log-level=error"), 24),
    ("a.mp4", (*X265, "keyint=24:min-keyint=24:open-gop=0:radl=2:bframes=4:scenecut=0:log-level=error"), None),
])  # fmt: skip
def test_leading_pictures_after_a_cut_equal_those_of_ffmpeg(
    name: str, codec: tuple[str, ...], first_number: int | None, tmp_path: Path
) -> None:
    source = barcode_video(tmp_path / ("whole.ts" if name == "a.ts" else "whole.mkv"), FRAME_COUNT, codec)
    run_ffmpeg("-ss", "1.3", "-i", source, "-c", "copy", tmp_path / name)
    path = tmp_path / name
    index = read_packet_index(path)
    frame_numbers = read_barcodes(read_frames(path, range(index.frame_count)))
    assert frame_numbers == list(range(frame_numbers[0], FRAME_COUNT)) and (
        first_number is None or frame_numbers[0] == first_number
    )
    check_against_ffmpeg(path, frame_numbers)


def test_repeated_frames_of_theora_are_not_counted(tmp_path: Path) -> None:
    """An empty packet repeats the previous frame; a decoder would treat it as the end."""
    run_ffmpeg("-f", "lavfi", "-i", "color=gray:s=64x64:r=25:d=1", "-c:v", "libtheora", tmp_path / "a.ogv")
    index = read_packet_index(tmp_path / "a.ogv")
    assert count_decodable(tmp_path / "a.ogv") == index.frame_count == len(read_times_with_ffmpeg(tmp_path / "a.ogv"))


def test_a_clip_of_a_single_frame_has_a_rate_and_an_orientation(tmp_path: Path) -> None:
    """The rate follows from the duration of the packet; the rotation is known only after the last packet."""
    path = barcode_video(tmp_path / "a.ts", 1, X264)
    assert read_packet_index(path).fps == pytest.approx(RATE)
    rotated_video = barcode_video(tmp_path / "a.mp4", 1, X264, width=128, height=64)
    set_display_matrix(rotated_video, ORIENTATIONS["clockwise"])
    assert read_packet_index(rotated_video).orientation == (90, False)


@pytest.mark.parametrize("name", ["a.ts", "a.mpg"])
def test_files_that_are_concatenated_byte_by_byte_are_rejected(name: str, tmp_path: Path) -> None:
    path = barcode_video(tmp_path / name, FRAME_COUNT, ("-c:v", "mpeg2video", "-q:v", "2"), rate="25")
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(MediaError, match="go back from .* concatenated byte by byte") as caught:
        read_packet_index(path)
    assert caught.value.status == "corrupt"


def test_a_stream_that_appears_late_does_not_end_the_video(tmp_path: Path) -> None:
    """An audio stream that begins after 20 s is unknown when an FLV file is opened."""
    video = ("-f", "lavfi", "-i", "testsrc=s=64x48:r=10:d=24")
    audio = ("-itsoffset", "20", "-f", "lavfi", "-i", "sine=d=4")
    for name in ("a.flv", "a.ts"):
        run_ffmpeg(*video, *audio, *X264, "-c:a", "aac", tmp_path / name)
        assert count_decodable(tmp_path / name) == 240
