"""Test that the content of the store affects no result: an old store and a new store give the same outcome."""

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.local import create_folder_fetcher
from reprise.fetch.outcome import FetchedFile, Fetcher
from reprise.fetch.settings import Folder
from reprise.media.settings import Limits
from reprise.stages.sources import fetch_source

LOW_LIMITS, HIGH_LIMITS = Limits(pixels=100), Limits(pixels=10_000)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "videos/a.png"
    path.parent.mkdir()
    Image.new("RGB", (20, 20), "red").save(path)
    return path


def make_fetcher(picture: Path, store: Store) -> Fetcher:
    return create_folder_fetcher(Folder(kind="folder", path=str(picture.parent), pattern="{source_id}.png"), store)


def test_lowered_limits_reject_files_in_the_store(picture: Path, tmp_path: Path) -> None:
    old_store, new_store = Store(tmp_path / "old"), Store(tmp_path / "fresh")
    first = fetch_source("a", make_fetcher(picture, old_store), old_store, HIGH_LIMITS)
    assert first.status == "ok"
    lowered = [
        fetch_source("a", make_fetcher(picture, store), store, LOW_LIMITS)
        for store in (old_store, new_store, old_store)
    ]
    assert {record.status for record in lowered} == {"too_many_pixels"}
    assert fetch_source("a", make_fetcher(picture, old_store), old_store, HIGH_LIMITS) == first
    stricter = Limits(pixels=5_000)
    records = [
        fetch_source("a", make_fetcher(picture, old_store), old_store, limits)
        for limits in (stricter, HIGH_LIMITS, stricter)
    ]
    assert [(record.status, record.limits) for record in records] == [("ok", stricter)] * 3, (
        "looser limits need no check"
    )
    assert (old_store.root / first.object).is_file()


def test_a_damaged_file_in_the_store_is_removed(picture: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    path = store.root / fetch_source("a", make_fetcher(picture, store), store, HIGH_LIMITS).object
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(UserError, match=r"source a was damaged or replaced, and is now removed.* run the same command"):
        fetch_source("a", make_fetcher(picture, store), store, LOW_LIMITS)
    assert fetch_source("a", make_fetcher(picture, store), store, HIGH_LIMITS).status == "ok"


def test_a_file_that_changes_before_it_is_copied_is_not_stored(picture: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    fetcher = make_fetcher(picture, store)

    def fetch(source_id: str, scratch: Path) -> FetchedFile:
        Image.new("RGB", (20, 20), "blue").save(picture)  # the file changes after its digest was computed
        return fetcher.fetch(source_id, scratch)

    record = fetch_source("a", replace(fetcher, fetch=fetch), store)
    assert (record.status, record.is_transient, record.attempts) == ("changed", True, 0)
    assert not list(store.root.rglob("*.png"))
