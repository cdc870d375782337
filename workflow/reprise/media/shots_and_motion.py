"""Measure the shots and the motion of a clip from its decoded frames.

PySceneDetect detects the shots. Motion is the dense optical flow between frames at a fixed distance, as in
TemporalBench's filter for static clips.
"""

from importlib.metadata import version

import cv2
import numpy as np
import numpy.typing as npt
from scenedetect import AdaptiveDetector, ContentDetector, FrameTimecode
from scenedetect.detector import SceneDetector

from reprise.media.settings import Motion, Shots

# Width of the analysed pictures, as in PySceneDetect's automatic downscaling. Wider pictures give the same cuts.
ANALYSIS_WIDTH = 256


class ShotCounter:
    """Counter of a clip's shots, which takes the clip's frames one by one."""

    def __init__(self, settings: Shots, fps: float) -> None:
        self.cuts: list[int] = []
        # PySceneDetect supports no lower rate. Cuts are counted in frames, so the rate does not affect the result.
        self._fps = max(float(fps), 0.001)
        self._frames = 0
        detector_class: type[SceneDetector] = {"content": ContentDetector, "adaptive": AdaptiveDetector}[
            settings.detector
        ]
        self._detector = detector_class(settings.threshold, min_scene_len=settings.min_scene_frames)

    def add(self, picture: npt.NDArray[np.uint8]) -> None:
        """Add the next frame, in BGR."""
        timecode = FrameTimecode(self._frames, self._fps)
        self.cuts += [cut.frame_num for cut in self._detector.process_frame(timecode, picture)]
        self._frames += 1

    def count_shots(self) -> int:
        """Return the number of shots in all added frames."""
        if self._frames == 0:
            return 0
        last_timecode = FrameTimecode(self._frames - 1, self._fps)
        self.cuts += [cut.frame_num for cut in self._detector.post_process(last_timecode)]
        return len(set(self.cuts)) + 1


def describe_detector(settings: Shots) -> str:
    """Return a text with the detector, its settings and its version, for the clip metadata."""
    return (
        f"{settings.detector} threshold={settings.threshold:g} min_scene_frames={settings.min_scene_frames} "
        f"scenedetect={version('scenedetect-headless')}"
    )


Grey = npt.NDArray[np.uint8]
"""a grey picture (height, width)"""


class MotionMeter:
    """Meter of the optical flow between a clip's grey frames that are 1/fps apart."""

    def __init__(self, settings: Motion) -> None:
        self._settings = settings
        self._previous: Grey | None = None
        self._next_step = 0  # the next moment to measure, in steps of 1/fps
        self._flows: list[float] = []

    def needs_frame(self, time_s: float) -> bool:
        """Return whether a frame at this time is the first one at or after the next moment to measure."""
        return time_s >= self._next_step / self._settings.fps - 1e-6

    def add(self, time_s: float, picture: Grey) -> None:
        """Add a grey frame and measure the flow from the frame before it."""
        height, width = picture.shape
        scale = self._settings.long_side / max(height, width)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        if size != (width, height):
            picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
        if self._previous is not None:  # The parameters are those of OpenCV's tutorial on Farneback's flow.
            flow = cv2.calcOpticalFlowFarneback(
                self._previous, picture, np.zeros((*picture.shape, 2), np.float32), 0.5, 3, 15, 3, 5, 1.2, 0
            )
            self._flows.append(float(np.linalg.norm(flow, axis=2).mean() * 100 / max(picture.shape)))
        self._previous = picture
        self._next_step = int(time_s * self._settings.fps + 1e-6) + 1

    def summarize_flow(self) -> tuple[float, float]:
        """Return the mean and median flow over the pairs in % of the long side, or zeros without pairs."""
        return (float(np.mean(self._flows)), float(np.median(self._flows))) if self._flows else (0.0, 0.0)
