"""Shots of a clip with PySceneDetect's detectors, fed from our own decoder pass."""

from importlib.metadata import version

import numpy as np
import numpy.typing as npt
from scenedetect import AdaptiveDetector, ContentDetector, FrameTimecode
from scenedetect.detector import SceneDetector

from reprise.media.settings import Shots

# PySceneDetect's own automatic downscale aims at this width; wider pictures find the same cuts at a higher price.
WIDTH = 256
# PySceneDetect knows no slower video; cuts are counted in frames, so that the rate does not matter.
SLOWEST = 0.001


class ShotCounter:
    """Takes a clip's frames one after the other and knows where it was cut."""

    def __init__(self, settings: Shots, fps: float) -> None:
        self.cuts: list[int] = []
        self._fps = max(float(fps), SLOWEST)
        self._frames = 0
        self._detector: SceneDetector
        if settings.detector == "content":
            self._detector = ContentDetector(settings.threshold, min_scene_len=settings.min_scene_frames)
        else:
            self._detector = AdaptiveDetector(settings.threshold, min_scene_len=settings.min_scene_frames)

    def add(self, picture: npt.NDArray[np.uint8]) -> None:
        """The next frame, in BGR."""
        moment = FrameTimecode(self._frames, self._fps)
        self.cuts += [cut.frame_num for cut in self._detector.process_frame(moment, picture)]
        self._frames += 1

    def shots(self) -> int:
        """One more than the cuts between them."""
        if self._frames == 0:
            return 0
        last = FrameTimecode(self._frames - 1, self._fps)
        self.cuts += [cut.frame_num for cut in self._detector.post_process(last)]
        return len(set(self.cuts)) + 1


def detector_name(settings: Shots) -> str:
    """Detector, threshold, shortest shot and version, for the record."""
    return (
        f"{settings.detector} threshold={settings.threshold:g} min_scene_frames={settings.min_scene_frames} "
        f"scenedetect={version('scenedetect-headless')}"
    )
