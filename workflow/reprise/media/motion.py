"""How much moves in a clip: dense optical flow between frames some way apart, the static filter of TemporalBench."""

import cv2
import numpy as np
import numpy.typing as npt

from reprise.media.settings import Motion

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
        """A frame that was wanted."""
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

    def mean(self) -> float:
        """Mean flow in % of the long side; nothing to compare is no motion."""
        return float(np.mean(self._flows)) if self._flows else 0.0

    def median(self) -> float:
        """Median over the pairs, which stays 0 for a slide show."""
        return float(np.median(self._flows)) if self._flows else 0.0


def is_static(mean: float, median: float, settings: Motion) -> bool:
    """Little motion on the mean, or none in most pairs (a slide show)."""
    return mean < settings.static_below or median == 0.0
