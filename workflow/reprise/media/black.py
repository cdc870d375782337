"""Black frames: found by luma over the whole picture, since letterbox bars are black too."""

from bisect import bisect_left
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt

from reprise.media.decoder import iter_frames
from reprise.media.errors import MediaError
from reprise.media.probe import packet_index

# Full-range grey (0 to 255); the encoder may leave a trace of the frames beside it: 17.5 and 20 in studio range.
MEAN_BELOW, PEAK_AT_MOST = 1.75, 4.7

SLACK_S = 0.25  # seconds by which a detected span may differ from the stated length

Span = tuple[int, int]


def is_black(grey: npt.NDArray[np.uint8]) -> bool:
    return float(grey.mean()) < MEAN_BELOW and float(np.percentile(grey, 99.9)) <= PEAK_AT_MOST


def black_runs(path: Path) -> list[Span]:
    marks = [is_black(frame.image) for frame in iter_frames(path, pixels="gray8")]
    runs = []
    for black, group in groupby(enumerate(marks), key=lambda pair: pair[1]):
        numbers = [number for number, _ in group]
        if black:
            runs.append((numbers[0], numbers[-1] + 1))
    return runs


def separating_span(path: Path, black_s: float, expected_start_s: float | None = None) -> Span:
    """Detect the black span between the two parts of a concatenation that comes ready-made.

    A part may fade to black by itself: the span is the run nearest to where it is expected. Of a longer run, which
    takes in a part's fade, it is the `black_s` seconds from the expected start; without one the run counts whole.
    """
    index = packet_index(path)
    bounds = [*index.times, index.duration_s]
    runs = black_runs(path)
    detected = f"black frames at {', '.join(f'[{start}, {end})' for start, end in runs) or 'no place'}"
    candidates = []
    for start, end in runs:
        if bounds[end] - bounds[start] < black_s - SLACK_S:
            continue
        middle = (index.duration_s - black_s) / 2 if expected_start_s is None else expected_start_s
        nearest = min(max(middle, bounds[start]), max(bounds[start], bounds[end] - black_s))
        if expected_start_s is not None and bounds[end] - bounds[start] > black_s + SLACK_S:
            start = bisect_left(bounds, nearest - 1e-4)
            end = bisect_left(bounds, bounds[start] + black_s - 1e-4)
        if 0 < start < end < index.frames:
            candidates.append((abs(nearest - middle), (start, end)))
    if not candidates:
        raise MediaError("no_black", f"no black span of {black_s:g} s between two parts; {detected}")
    return min(candidates)[1]


def check_black(path: Path, start: int, end: int) -> None:
    """Refuse a concatenation whose frames [start, end) are not all black, or which has no frames on both sides."""
    frames = packet_index(path).frames
    if not 0 < start < end < frames:
        raise MediaError("no_black", f"span [{start}, {end}) of {frames} frames leaves a part empty")
    for frame in iter_frames(path, range(start, end), pixels="gray8"):
        if not is_black(frame.image):
            raise MediaError("no_black", f"frame {frame.number} of the span [{start}, {end}) is not black")
