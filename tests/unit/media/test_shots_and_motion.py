"""Cuts are counted right on a video whose cuts are known, and what does not move counts as still."""

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

from tests.unit.videos import RATE, video_of

SIDE = 128


def scene(seed: int, length: int) -> npt.NDArray[np.uint8]:
    draw = np.random.default_rng(seed)
    hue = (seed * 47 + int(draw.integers(20))) % 180
    colour = cv2.cvtColor(np.uint8([[[hue, 190, 120 + seed % 3 * 45]]]), cv2.COLOR_HSV2RGB)[0, 0]  # type: ignore[arg-type]
    pictures = np.tile(np.asarray(colour, np.uint8), (length, SIDE, SIDE, 1))
    for number, picture in enumerate(pictures):
        centre = int(20 + 90 * number / length), int(30 + seed * 13 % 70)
        cv2.circle(picture, centre, 14, (240, 240, 240), -1)
    return pictures


@pytest.fixture(scope="module")
def forty_cuts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    lengths = [12 + seed * 7 % 19 for seed in range(41)]
    frames = np.concatenate([scene(seed, length) for seed, length in enumerate(lengths)])
    path = video_of(tmp_path_factory.mktemp("cuts") / "cuts.mp4", frames)
    return path, np.cumsum(lengths)[:-1].tolist()


@pytest.mark.parametrize(
    "settings", [Shots(min_scene_frames=12), Shots(detector="adaptive", threshold=3, min_scene_frames=12)]
)
def test_known_cuts_are_found(forty_cuts: tuple[Path, list[int]], settings: Shots) -> None:
    path, cuts = forty_cuts
    counter = ShotCounter(settings, RATE)
    for frame in iter_frames(path, pixels="bgr24"):
        counter.add(frame.image)
    found = counter.shots() - 1
    right = sum(any(abs(cut - place) <= 1 for place in counter.cuts) for cut in cuts)
    assert len(cuts) - right <= 1
    assert found - right <= 1


def test_still_moving_and_slide_show(tmp_path: Path) -> None:
    still = video_of(tmp_path / "still.mp4", np.repeat(scene(3, 1), 48, axis=0))
    moving = video_of(tmp_path / "moving.mp4", scene(3, 96))
    two = np.concatenate([np.repeat(scene(n, 1), 72, axis=0) for n in range(2)])
    slides = video_of(tmp_path / "slides.mp4", two)
    metadata = {path.stem: measure_video(path, ClipMetadataKey()) for path in (still, moving, slides)}
    assert metadata["still"]["motion"] < 0.02 and metadata["still"]["is_static"]
    assert metadata["moving"]["motion"] > 0.15 and not metadata["moving"]["is_static"]
    assert metadata["slides"]["motion_median"] == pytest.approx(0, abs=0.01)
