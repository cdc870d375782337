"""Pictures are shown as their display matrix says, mirrored ones too: read, trimmed, joined, and as a still picture."""

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
from tests.unit.videos import shown_by, video_of

FAST = Encode(preset="ultrafast", crf=8)
COUNT = 12


def corner_picture() -> npt.NDArray[np.uint8]:
    """A picture with a bright corner, which looks different in each of the eight orientations."""
    picture = np.full((64, 128, 3), 60, np.uint8)
    picture[:24, :40] = 230
    return picture


def corner_video(path: Path, matrix: Sequence[float] = ORIENTATIONS["upright"]) -> Path:
    brightness = np.arange(COUNT, dtype=np.uint8)[:, None, None, None]
    return set_display_matrix(video_of(path, corner_picture()[None] + brightness), matrix)


def difference(one: npt.NDArray[np.uint8], two: npt.NDArray[np.uint8]) -> float:
    assert one.shape == two.shape
    return float(np.abs(one.astype(int) - two.astype(int)).mean())


@pytest.mark.parametrize("name", ORIENTATIONS)
def test_reader_trim_and_concatenation_follow_the_display_matrix(name: str, tmp_path: Path) -> None:
    stored = read_frames(corner_video(tmp_path / "stored.mp4"), [3])[0]
    expected = shown_by(stored, ORIENTATIONS[name])
    video = corner_video(tmp_path / "video.mp4", ORIENTATIONS[name])
    index = read_packet_index(video)
    assert (index.height, index.width) == expected.shape[:2]
    assert np.array_equal(read_frames(video, [3])[0], expected)
    assert count_decodable(video) == COUNT
    assert read_frames(video, [0], size=(40, 50)).shape == (1, 50, 40, 3)
    trim(video, 3 / 24, 0.5, tmp_path / "cut.mp4", FAST)
    concatenate(video, video, tmp_path / "joined.mp4", FAST, Concat(black_s=0.25))
    for made, number in (("cut.mp4", 0), ("joined.mp4", 3), ("joined.mp4", COUNT + 6 + 3)):
        assert read_packet_index(tmp_path / made).orientation == (0, False)
        assert difference(read_frames(tmp_path / made, [number])[0], expected) < 3


@pytest.mark.parametrize("name", ORIENTATIONS)
def test_frames_are_those_that_ffmpeg_shows(name: str, tmp_path: Path) -> None:
    video = corner_video(tmp_path / "video.mp4", ORIENTATIONS[name])
    command = [ffmpeg_executable(), *QUIET, "-i", video, "-pix_fmt", "rgb24", "-f", "rawvideo", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    frames = read_frames(video, range(COUNT))
    assert difference(np.frombuffer(done.stdout, np.uint8).reshape(frames.shape), frames) < 1


@pytest.mark.parametrize(("matrix", "orientation"), [
    ((0, 0, 0, 0), (0, False)),  # some cameras leave it empty
    ((-0.99999, 0.004, -0.004, -0.99999), (180, False)),  # a quarter of a degree off, which ffmpeg rounds
])  # fmt: skip
def test_a_matrix_that_ffmpeg_takes_for_a_right_angle(
    matrix: Sequence[float], orientation: tuple[int, bool], tmp_path: Path
) -> None:
    assert read_packet_index(corner_video(tmp_path / "video.mp4", matrix)).orientation == orientation


@pytest.mark.parametrize("matrix", [(0.7071, 0.7071, -0.7071, 0.7071), (1, 0.5, 0, 1)])
def test_an_odd_angle_is_refused_by_name_where_a_video_comes_in(matrix: Sequence[float], tmp_path: Path) -> None:
    with pytest.raises(MediaError, match="not a multiple of 90 degrees") as caught:
        check_decodes(corner_video(tmp_path / "video.mp4", matrix), Limits())
    assert caught.value.status == "unsupported_rotation" and caught.value.status in STATUSES


@pytest.mark.parametrize("tag", range(1, 9))
def test_a_photograph_is_shown_as_its_camera_says(tag: int, tmp_path: Path) -> None:
    picture = Image.fromarray(corner_picture())
    exif = Image.Exif()
    exif[0x0112] = tag
    picture.save(tmp_path / "photo.jpg", quality=95, exif=exif)
    encode_still_clip([tmp_path / "photo.jpg"], tmp_path / "clip.mp4", FAST, Images(frames=2, fps=4))
    with Image.open(tmp_path / "photo.jpg") as photo:
        expected = np.asarray(ImageOps.exif_transpose(photo), np.uint8)
    assert difference(read_frames(tmp_path / "clip.mp4", [1])[0], expected) < 4
