"""What is measured in a clip's frames, fed from our own decoder pass: shots, with PySceneDetect's detectors, and how
much moves, as dense optical flow between frames some way apart, the static filter of TemporalBench."""

from importlib.metadata import version

import cv2
import numpy as np
import numpy.typing as npt
from scenedetect import AdaptiveDetector, ContentDetector, FrameTimecode
from scenedetect.detector import SceneDetector

from reprise.media.settings import Motion, Shots

# PySceneDetect's own automatic downscale aims at this width; wider pictures find the same cuts at a higher price.
WIDTH = 256


class ShotCounter:
    """Takes a clip's frames one after the other and knows where it was cut."""

    def __init__(self, settings: Shots, fps: float) -> None:
        self.cuts: list[int] = []
        # PySceneDetect knows no slower video; cuts are counted in frames, so that the rate does not matter.
        self._fps = max(float(fps), 0.001)
        self._frames = 0
        kind: type[SceneDetector] = {"content": ContentDetector, "adaptive": AdaptiveDetector}[settings.detector]
        self._detector = kind(settings.threshold, min_scene_len=settings.min_scene_frames)

    def add(self, picture: npt.NDArray[np.uint8]) -> None:
        """The next frame, in BGR."""
        moment = FrameTimecode(self._frames, self._fps)
        self.cuts += [cut.frame_num for cut in self._detector.process_frame(moment, picture)]
        self._frames += 1

    def shots(self) -> int:
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


Grey = npt.NDArray[np.uint8]


class MotionMeter:
    """Takes a clip's grey frames with their times and measures the flow between those that are 1/fps apart."""

    def __init__(self, settings: Motion) -> None:
        self._settings = settings
        self._before: Grey | None = None
        self._taken = 0
        self._flows: list[float] = []

    def wants(self, time_s: float) -> bool:
        """Whether a frame at this time is the first at or after the next moment to look at."""
        return time_s >= self._taken / self._settings.fps - 1e-6

    def add(self, time_s: float, picture: Grey) -> None:
        height, width = picture.shape
        scale = self._settings.long_side / max(height, width)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        if size != (width, height):
            picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
        if self._before is not None:  # Farneback's flow with the settings of OpenCV's tutorial
            field = cv2.calcOpticalFlowFarneback(
                self._before, picture, np.zeros((*picture.shape, 2), np.float32), 0.5, 3, 15, 3, 5, 1.2, 0
            )
            self._flows.append(float(np.linalg.norm(field, axis=2).mean() * 100 / max(picture.shape)))
        self._before = picture
        self._taken = int(time_s * self._settings.fps + 1e-6) + 1

    def flow(self) -> tuple[float, float]:
        """Mean and median over the pairs in % of the long side; nothing to compare is no motion."""
        return (float(np.mean(self._flows)), float(np.median(self._flows))) if self._flows else (0.0, 0.0)
