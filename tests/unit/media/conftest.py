"""One barcode video a session."""

from pathlib import Path

import pytest

from tests.unit.videos import barcode_video


@pytest.fixture(scope="session")
def barcode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 frames at 24 fps, a keyframe a second, the index in front."""
    folder = tmp_path_factory.mktemp("barcode")
    return barcode_video(folder / "barcode.mp4", before=("-movflags", "+faststart"))
