"""Videos of every container, codec, orientation, pixel shape, rate and start are read, cut and joined as ffmpeg shows them."""

from pathlib import Path

import pytest

from bench.video import Case, covering, problems


@pytest.mark.parametrize("case", covering(seed=0), ids=lambda case: "-".join(map(str, case)))
def test_frames_and_times_are_those_of_ffmpeg(case: Case, tmp_path: Path) -> None:
    """A few of the kinds that `make bench-video` draws for minutes."""
    assert list(problems(case, tmp_path)) == []
