"""Detection of black frames by the luma of the whole picture, because letterbox bars are black too."""

from bisect import bisect_left
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt

from reprise.media.decoder import iter_frames
from reprise.media.errors import MediaError
from reprise.media.probe import read_packet_index

# Full-range grey (0 to 255), which is 17.5 and 20 in studio range. Both are above black (0, 16), because an encoder may
# leave traces of adjacent frames.
MAX_MEAN_LUMA, MAX_PEAK_LUMA = 1.75, 4.7

TOLERANCE_S = 0.25  # seconds by which a detected span may differ from the expected length

Span = tuple[int, int]


def is_black(grey: npt.NDArray[np.uint8]) -> bool:
    """Return whether a full-range grey frame is black."""
    return float(grey.mean()) < MAX_MEAN_LUMA and float(np.percentile(grey, 99.9)) <= MAX_PEAK_LUMA


def find_black_runs(path: Path) -> list[Span]:
    """Return the runs [start, end) of consecutive black frames in a video."""
    flags = [is_black(frame.image) for frame in iter_frames(path, pixels="gray8")]
    runs = []
    for is_black_run, group in groupby(enumerate(flags), key=lambda pair: pair[1]):
        frame_numbers = [number for number, _ in group]
        if is_black_run:
            runs.append((frame_numbers[0], frame_numbers[-1] + 1))
    return runs


def find_separating_span(path: Path, black_s: float, expected_start_s: float | None = None) -> Span:
    """Return the black span between the two parts of a concatenation that a release provides ready-made.

    A part may itself fade to black, so the run nearest to the expected position is the span. A run longer than
    `black_s` includes a fade: the span is then the `black_s` seconds from the expected start, or the whole run if no
    start is expected.
    """
    index = read_packet_index(path)
    boundaries = [*index.times, index.duration_s]
    runs = find_black_runs(path)
    detected = f"black frames at {', '.join(f'[{start}, {end})' for start, end in runs) or 'no place'}"
    candidates = []
    for start, end in runs:
        if boundaries[end] - boundaries[start] < black_s - TOLERANCE_S:
            continue
        expected = (index.duration_s - black_s) / 2 if expected_start_s is None else expected_start_s
        closest = min(max(expected, boundaries[start]), max(boundaries[start], boundaries[end] - black_s))
        if expected_start_s is not None and boundaries[end] - boundaries[start] > black_s + TOLERANCE_S:
            start = bisect_left(boundaries, closest - 1e-4)
            end = bisect_left(boundaries, boundaries[start] + black_s - 1e-4)
        if 0 < start < end < index.frames:
            candidates.append((abs(closest - expected), (start, end)))
    if not candidates:
        raise MediaError("no_black", f"no black span of {black_s:g} s between two parts; {detected}")
    return min(candidates)[1]


def check_black(path: Path, start: int, end: int) -> None:
    """Raise an error unless frames [start, end) are all black and have other frames before and after them."""
    frames = read_packet_index(path).frames
    if not 0 < start < end < frames:
        raise MediaError("no_black", f"span [{start}, {end}) of {frames} frames leaves a part empty")
    for frame in iter_frames(path, range(start, end), pixels="gray8"):
        if not is_black(frame.image):
            raise MediaError("no_black", f"frame {frame.number} of the span [{start}, {end}) is not black")
