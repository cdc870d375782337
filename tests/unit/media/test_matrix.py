"""Test videos of every container, codec, orientation, pixel aspect ratio, rate and start time against ffmpeg."""

from pathlib import Path

import pytest

from bench.video import Case, draw_covering_cases, problems


@pytest.mark.parametrize("case", draw_covering_cases(seed=0), ids=lambda case: "-".join(map(str, case)))
def test_frames_and_times_equal_those_of_ffmpeg(case: Case, tmp_path: Path) -> None:
    """These are a few of the cases that `make bench-video` draws for minutes."""
    assert list(problems(case, tmp_path)) == []
