"""Fixtures for the adapter tests."""

from pathlib import Path

import pytest

from tests.unit.models.adapters import tiny
from tests.unit.videos import barcode_video


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return barcode_video(tmp_path_factory.mktemp("video") / "v.mp4", 48, width=96, height=64)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a LLaVA-OneVision checkpoint that a test may change."""
    return tiny.llava(tmp_path / "llava")
