"""Test that the display matrix, including mirroring, applies to decoded, trimmed, concatenated and still pictures."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageOps
from reprise.media.decoder import count_decodable, read_frames
from reprise.media.encode import concatenate, encode_still_clip, trim
from reprise.media.errors import STATUSES, MediaError
from reprise.media.ffmpeg import QUIET, ffmpeg_executable
from reprise.media.probe import read_packet_index
from reprise.media.settings import Concat, Encode, Images, Limits
from reprise.stages.sources import check_decodes

from bench.video import ORIENTATIONS, set_display_matrix
from tests.unit.videos import apply_display_matrix, encode_video

FAST = Encode(preset="ultrafast", crf=8)
FRAME_COUNT = 12


def make_corner_picture() -> npt.NDArray[np.uint8]:
    """Return a picture with a bright corner that differs in each of the eight orientations."""
    picture = np.full((64, 128, 3), 60, np.uint8)
    picture[:24, :40] = 230
    return picture


def make_corner_video(path: Path, matrix: Sequence[float] = ORIENTATIONS["upright"]) -> Path:
    brightness = np.arange(FRAME_COUNT, dtype=np.uint8)[:, None, None, None]
    return set_display_matrix(encode_video(path, make_corner_picture()[None] + brightness), matrix)


def mean_difference(first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8]) -> float:
    assert first.shape == second.shape
    return float(np.abs(first.astype(int) - second.astype(int)).mean())


@pytest.mark.parametrize("name", ORIENTATIONS)
def test_reader_trim_and_concatenation_follow_the_display_matrix(name: str, tmp_path: Path) -> None:
    stored = read_frames(make_corner_video(tmp_path / "stored.mp4"), [3])[0]
    expected = apply_display_matrix(stored, ORIENTATIONS[name])
    video = make_corner_video(tmp_path / "video.mp4", ORIENTATIONS[name])
    packet_index = read_packet_index(video)
    assert (packet_index.height, packet_index.width) == expected.shape[:2]
    assert np.array_equal(read_frames(video, [3])[0], expected)
    assert count_decodable(video) == FRAME_COUNT
    assert read_frames(video, [0], size=(40, 50)).shape == (1, 50, 40, 3)
    trim(video, 3 / 24, 0.5, tmp_path / "cut.mp4", FAST)
    concatenate(video, video, tmp_path / "joined.mp4", FAST, Concat(black_s=0.25))
    for file_name, packet_index in (("cut.mp4", 0), ("joined.mp4", 3), ("joined.mp4", FRAME_COUNT + 6 + 3)):
        assert read_packet_index(tmp_path / file_name).orientation == (0, False)
        assert mean_difference(read_frames(tmp_path / file_name, [packet_index])[0], expected) < 3


@pytest.mark.parametrize("name", ORIENTATIONS)
def test_frames_equal_those_of_ffmpeg(name: str, tmp_path: Path) -> None:
    video = make_corner_video(tmp_path / "video.mp4", ORIENTATIONS[name])
    command = [ffmpeg_executable(), *QUIET, "-i", video, "-pix_fmt", "rgb24", "-f", "rawvideo", "-"]
    process = subprocess.run(command, capture_output=True, check=True)
    frames = read_frames(video, range(FRAME_COUNT))
    assert mean_difference(np.frombuffer(process.stdout, np.uint8).reshape(frames.shape), frames) < 1


@pytest.mark.parametrize(("matrix", "orientation"), [
    ((0, 0, 0, 0), (0, False)),  # the empty matrix of some cameras
    ((-0.99999, 0.004, -0.004, -0.99999), (180, False)),  # a deviation of a quarter of a degree, which ffmpeg rounds
])  # fmt: skip
def test_a_matrix_that_ffmpeg_rounds_is_a_right_angle(
    matrix: Sequence[float], orientation: tuple[int, bool], tmp_path: Path
) -> None:
    assert read_packet_index(make_corner_video(tmp_path / "video.mp4", matrix)).orientation == orientation


@pytest.mark.parametrize("matrix", [(0.7071, 0.7071, -0.7071, 0.7071), (1, 0.5, 0, 1)])
def test_a_video_with_an_oblique_angle_is_rejected_as_a_source(matrix: Sequence[float], tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="not a multiple of 90 degrees") as caught:
        check_decodes(make_corner_video(tmp_path / "video.mp4", matrix), Limits())
    assert caught.value.status == "unsupported_rotation" and caught.value.status in STATUSES


@pytest.mark.parametrize("exif_orientation", range(1, 9))
def test_the_exif_orientation_of_a_photograph_is_applied(exif_orientation: int, tmp_path: Path) -> None:
    picture = Image.fromarray(make_corner_picture())
    exif = Image.Exif()
    exif[0x0112] = exif_orientation
    picture.save(tmp_path / "photo.jpg", quality=95, exif=exif)
    encode_still_clip([tmp_path / "photo.jpg"], tmp_path / "clip.mp4", FAST, Images(frames=2, fps=4))
    with Image.open(tmp_path / "photo.jpg") as photo:
        expected = np.asarray(ImageOps.exif_transpose(photo), np.uint8)
    assert mean_difference(read_frames(tmp_path / "clip.mp4", [1])[0], expected) < 4
