"""One small video a session, and what becomes of a source."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reprise.core.store import Store
from reprise.fetch.outcome import Fetcher
from reprise.stages.sources import fetch_shard

from tests.unit.videos import barcode_video

Statuses = Callable[..., dict[str, str]]


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """24 frames, the index in front."""
    path = tmp_path_factory.mktemp("video") / "video.mp4"
    return barcode_video(path, 24, before=("-movflags", "+faststart")).read_bytes()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def statuses(store: Store) -> Statuses:
    """Source -> status in the ledger of a whole shard."""

    def of(route: Fetcher, *names: str) -> dict[str, str]:
        ledger = fetch_shard([(name, name) for name in names], route, store)
        assert not [row for row in ledger.iter_rows(named=True) if row["status"] != "ok" and not row["message"]]
        return dict(zip(ledger["source_id"], ledger["status"], strict=True))

    return of
