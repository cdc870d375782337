"""Detect black frames by the luma of the whole picture, because letterbox bars are black too."""

from bisect import bisect_left
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt

from reprise.media.decoder import iter_frames
from reprise.media.errors import MediaError
from reprise.media.probe import read_packet_index

# Full-range luma from 0 to 255. The limits are 17.5 and 20 in studio range, where black is 16. They are above black,
# because an encoder may leave traces of adjacent frames.
MAX_MEAN_LUMA, MAX_PEAK_LUMA = 1.75, 4.7

TOLERANCE_S = 0.25  # seconds by which a detected span may differ from the expected length

Span = tuple[int, int]


def is_black(grey: npt.NDArray[np.uint8]) -> bool:
    """Return whether a full-range grey frame is black."""
    return float(grey.mean()) < MAX_MEAN_LUMA and float(np.percentile(grey, 99.9)) <= MAX_PEAK_LUMA


def find_black_runs(path: Path) -> list[Span]:
    """Return the runs [start, end) of consecutive black frames in a video."""
    is_black_flags = [is_black(frame.image) for frame in iter_frames(path, pixels="gray8")]
    runs = []
    for is_black_run, numbered_flags in groupby(enumerate(is_black_flags), key=lambda pair: pair[1]):
        frame_numbers = [number for number, _ in numbered_flags]
        if is_black_run:
            runs.append((frame_numbers[0], frame_numbers[-1] + 1))
    return runs


def find_separating_span(path: Path, black_s: float, expected_start_s: float | None = None) -> Span:
    """Return the black span between the two parts of a released concatenation.

    A part may fade to black, so the span is the run of black frames that is nearest to the expected position. A run
    longer than `black_s` includes a fade. The span is then the `black_s` seconds from the expected start, or the whole
    run if no start is given.
    """
    packet_index = read_packet_index(path)
    boundaries = [*packet_index.times, packet_index.duration_s]  # start of each frame, and end of the last
    runs = find_black_runs(path)
    runs_note = f"black frames at {', '.join(f'[{start}, {end})' for start, end in runs) or 'no place'}"
    # Without an expected start, the two parts are assumed to have equal lengths.
    assumed_start_s = (packet_index.duration_s - black_s) / 2 if expected_start_s is None else expected_start_s
    candidates = []  # distance from the assumed start, and span
    for start, end in runs:
        if boundaries[end] - boundaries[start] < black_s - TOLERANCE_S:
            continue
        # The start, within this run, of the `black_s` seconds that are closest to the assumed start.
        last_start_s = max(boundaries[start], boundaries[end] - black_s)
        closest_start_s = min(max(assumed_start_s, boundaries[start]), last_start_s)
        if expected_start_s is not None and boundaries[end] - boundaries[start] > black_s + TOLERANCE_S:
            start = bisect_left(boundaries, closest_start_s - 1e-4)
            end = bisect_left(boundaries, boundaries[start] + black_s - 1e-4)
        if 0 < start < end < packet_index.frame_count:
            candidates.append((abs(closest_start_s - assumed_start_s), (start, end)))
    if not candidates:
        raise MediaError("no_black", f"no black span of {black_s:g} s between two parts; {runs_note}")
    return min(candidates)[1]


def check_black(path: Path, start: int, end: int) -> None:
    """Raise an error unless frames [start, end) are all black and have other frames before and after them."""
    frame_count = read_packet_index(path).frame_count
    if not 0 < start < end < frame_count:
        raise MediaError("no_black", f"span [{start}, {end}) of {frame_count} frames leaves a part empty")
    for frame in iter_frames(path, range(start, end), pixels="gray8"):
        if not is_black(frame.image):
            raise MediaError("no_black", f"frame {frame.number} of the span [{start}, {end}) is not black")
