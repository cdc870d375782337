"""Test the number of cuts in a video with known cuts, and the motion of still, moving and slide-show videos."""

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from reprise.media.decoder import iter_frames
from reprise.media.keys import ClipMetadataKey
from reprise.media.settings import Shots
from reprise.media.shots_and_motion import ShotCounter
from reprise.stages.clip_metadata import measure_video

from tests.unit.videos import RATE, encode_video

SIDE = 128


def draw_scene(seed: int, frame_count: int) -> npt.NDArray[np.uint8]:
    random_generator = np.random.default_rng(seed)
    hue = (seed * 47 + int(random_generator.integers(20))) % 180
    colour = cv2.cvtColor(np.uint8([[[hue, 190, 120 + seed % 3 * 45]]]), cv2.COLOR_HSV2RGB)[0, 0]  # type: ignore[arg-type]
    pictures = np.tile(np.asarray(colour, np.uint8), (frame_count, SIDE, SIDE, 1))
    for index, picture in enumerate(pictures):
        centre = int(20 + 90 * index / frame_count), int(30 + seed * 13 % 70)
        cv2.circle(picture, centre, 14, (240, 240, 240), -1)
    return pictures


@pytest.fixture(scope="module")
def forty_cuts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    lengths = [12 + seed * 7 % 19 for seed in range(41)]
    frames = np.concatenate([draw_scene(seed, length) for seed, length in enumerate(lengths)])
    path = encode_video(tmp_path_factory.mktemp("cuts") / "cuts.mp4", frames)
    return path, np.cumsum(lengths)[:-1].tolist()


@pytest.mark.parametrize(
    "settings", [Shots(min_scene_frames=12), Shots(detector="adaptive", threshold=3, min_scene_frames=12)]
)
def test_known_cuts_are_detected(forty_cuts: tuple[Path, list[int]], settings: Shots) -> None:
    path, cuts = forty_cuts
    counter = ShotCounter(settings, RATE)
    for frame in iter_frames(path, pixels="bgr24"):
        counter.add(frame.image)
    detected_cuts = counter.count_shots() - 1
    correct_cuts = sum(any(abs(cut - position) <= 1 for position in counter.cuts) for cut in cuts)
    assert len(cuts) - correct_cuts <= 1
    assert detected_cuts - correct_cuts <= 1


def test_the_motion_of_still_moving_and_slide_show_videos_is_measured(tmp_path: Path) -> None:
    still = encode_video(tmp_path / "still.mp4", np.repeat(draw_scene(3, 1), 48, axis=0))
    moving = encode_video(tmp_path / "moving.mp4", draw_scene(3, 96))
    slides_frames = np.concatenate([np.repeat(draw_scene(n, 1), 72, axis=0) for n in range(2)])
    slides = encode_video(tmp_path / "slides.mp4", slides_frames)
    metadata = {path.stem: measure_video(path, ClipMetadataKey()) for path in (still, moving, slides)}
    assert metadata["still"]["motion"] < 0.02 and metadata["still"]["is_static"]
    assert metadata["moving"]["motion"] > 0.15 and not metadata["moving"]["is_static"]
    assert metadata["slides"]["motion_median"] == pytest.approx(0, abs=0.01)
