"""Provide one barcode video for all media tests."""

from pathlib import Path

import pytest

from tests.unit.videos import barcode_video


@pytest.fixture(scope="session")
def barcode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video of 48 frames at 24 fps with a keyframe per second and the index at its beginning."""
    folder = tmp_path_factory.mktemp("barcode")
    return barcode_video(folder / "barcode.mp4", extra_options=("-movflags", "+faststart"))
