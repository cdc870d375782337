"""Provide one small video, a store, and the statuses of fetched sources."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.core.store import Store
from reprise.fetch.outcome import Fetcher
from reprise.stages.sources import fetch_shard

from tests.unit.videos import barcode_video

FetchStatuses = Callable[..., dict[str, str]]


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a video of 24 frames with the index at its beginning."""
    path = tmp_path_factory.mktemp("video") / "video.mp4"
    return barcode_video(path, 24, extra_options=("-movflags", "+faststart")).read_bytes()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def fetch_statuses(store: Store) -> FetchStatuses:
    """Return a function that fetches a shard and returns the status of each source."""

    def fetch(route: Fetcher, *names: str) -> dict[str, str]:
        manifest = fetch_shard([(name, name) for name in names], route, store)
        assert not [row for row in manifest.iter_rows(named=True) if row["status"] != "ok" and not row["message"]]
        return dict(zip(manifest["source_id"], manifest["status"], strict=True))

    return fetch
