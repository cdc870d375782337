"""A data set repository as its server shows it, on 127.0.0.1: pinned, gated, gone."""

import json
import os
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.files import text_digest
from reprise.core.store import Store
from reprise.fetch.hub import huggingface
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.outcome import Fetcher
from reprise.fetch.settings import Huggingface, ReleaseHub
from reprise.stages.release import release_folder
from reprise.stages.sources import fetch_source

from tests.unit.fetch.server import Behaviour, serving
from tests.unit.videos import barcode_video

REVISION = "0123456789abcdef0123456789abcdef01234567"
RESOLVE = f"/datasets/some/set/resolve/{REVISION}"


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return barcode_video(tmp_path_factory.mktemp("video") / "video.mp4", 12).read_bytes()


def repository_file(content: bytes) -> Behaviour:
    headers = {"ETag": f'"{text_digest(str(len(content)))}"', "X-Repo-Commit": REVISION}
    return Behaviour(content, headers=headers, kind="application/octet-stream")


def ask_here(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the hub's library ask this server."""
    import huggingface_hub.constants as constants
    from huggingface_hub import file_download, hf_api

    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    # Another test of this process may have loaded a model, after which the hub's library stays offline.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    for module in (constants, file_download):
        monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
    monkeypatch.setattr(hf_api, "ENDPOINT", url, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)


def route(url: str, store: Store, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Fetcher:
    ask_here(url, monkeypatch)
    settings = {"kind": "huggingface", "repo": "some/set", "revision": REVISION, "retries": 0, "timeout_s": 3}
    return huggingface(Huggingface.model_validate(settings | more), store)


def test_members_of_a_repositorys_archive(video: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("videos/a.mp4", video)
    store = Store(tmp_path)
    with serving({f"{RESOLVE}/videos.zip": repository_file(packed.getvalue())}) as (url, log):
        fetcher = route(url, store, monkeypatch, files=["videos.zip"], member="videos/{source_id}.mp4")
        found = fetch_source("a", fetcher, store)
        assert found.status == "ok", found
        assert fetch_source("b", fetcher, store).status == "missing"
        assert (store.root / found.object).read_bytes() == video
        assert log.asked[f"{RESOLVE}/videos.zip"] == 1


def test_members_of_an_archive_in_pieces(video: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("long_video/a.mp4", video)
    whole, half = packed.getvalue(), len(packed.getvalue()) // 2 + 1
    pieces = {"long_video_part_aa": whole[:half], "long_video_part_ab": whole[half:]}
    served = {f"{RESOLVE}/{name}": repository_file(content) for name, content in pieces.items()}
    listing = [{"type": "file", "path": name, "size": 1, "oid": "0"} for name in [*pieces, "README.md"]]
    served[f"/api/datasets/some/set/tree/{REVISION}"] = Behaviour(json.dumps(listing).encode(), kind="application/json")
    store = Store(tmp_path)
    with serving(served) as (url, log):
        fetcher = route(url, store, monkeypatch, files=["long_video_part_*"], member="{source_id}")
        found = fetch_source("long_video/a.mp4", fetcher, store)
        assert found.status == "ok", found
        assert fetch_source("long_video/b.mp4", fetcher, store).status == "missing"
    assert (store.root / found.object).read_bytes() == video
    assert [log.asked[f"{RESOLVE}/{name}"] for name in pieces] == [1, 1]


def test_loose_files(video: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    with serving({f"{RESOLVE}/clips/a.mp4": repository_file(video)}) as (url, _):
        fetcher = route(url, store, monkeypatch, member="clips/{source_id}.mp4")
        assert fetch_source("a", fetcher, store).status == "ok"
        assert fetch_source("b", fetcher, store).status == "not_found"
        assert fetch_source("../b", fetcher, store).status == "unsafe_path"


def test_a_damaged_file_of_a_release_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a bad disk damages it: size, date and inode stay, and the hub's library goes by them."""
    content = b"test,pos\ncontrol,yes\n"
    listing = [{"type": "file", "path": "rows.csv", "size": len(content), "oid": "0"}]
    served = {
        f"{RESOLVE}/rows.csv": repository_file(content),
        f"/api/datasets/some/set/tree/{REVISION}": Behaviour(json.dumps(listing).encode(), kind="application/json"),
    }
    key = ReleaseKey(
        benchmark="b", release=ReleaseHub(kind="huggingface", repo="some/set", revision=REVISION), files=("*.csv",)
    )
    with serving(served) as (url, log):
        ask_here(url, monkeypatch)
        rows = release_folder(key, Store(tmp_path), tmp_path) / "rows.csv"
        status = rows.stat()
        with rows.open("r+b") as stream:
            stream.write(b"tesT")
        os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert release_folder(key, Store(tmp_path), tmp_path) == rows.parent and rows.read_bytes() == content
        assert release_folder(key, Store(tmp_path), tmp_path) == rows.parent
        assert log.asked[f"{RESOLVE}/rows.csv"] == 2


def test_a_gated_set_names_its_licence_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Behaviour(json.dumps({"error": "gated"}).encode(), status=403, headers={"X-Error-Code": "GatedRepo"})
    store = Store(tmp_path)
    with serving({f"{RESOLVE}/videos.zip": refusal}) as (url, log):
        fetcher = route(url, store, monkeypatch, files=["videos.zip"])
        records = [fetch_source(name, fetcher, store) for name in "abc"]
    assert {record.status for record in records} == {"gated"}
    assert "https://huggingface.co/datasets/some/set" in records[0].message
    assert "HF_TOKEN" in records[0].message
    assert log.asked.total() <= 1


def test_an_archive_that_is_not_there_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    with serving({}) as (url, log):
        fetcher = route(url, store, monkeypatch, files=["videos.zip"])
        records = [fetch_source(name, fetcher, store) for name in "ab"]
    assert [record.status for record in records] == ["not_found", "not_found"]
    assert log.heads.total() == 1


def test_an_unpinned_set_is_not_fetched(tmp_path: Path) -> None:
    settings = Huggingface(kind="huggingface", repo="some/set", revision="unpinned")
    with pytest.raises(UserError, match="reprise pin"):
        huggingface(settings, Store(tmp_path))
