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
from reprise.fetch.hub import fetch_snapshot, huggingface
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.outcome import Fetcher
from reprise.fetch.settings import Huggingface, ReleaseHub
from reprise.stages.release import release_folder
from reprise.stages.sources import fetch_source

from tests.unit.fetch.server import Behaviour, serving

REVISION = "0123456789abcdef0123456789abcdef01234567"
RESOLVE = f"/datasets/some/set/resolve/{REVISION}"


def repository_file(content: bytes) -> Behaviour:
    headers = {"ETag": f'"{text_digest(str(len(content)))}"', "X-Repo-Commit": REVISION}
    return Behaviour(content, headers=headers, kind="application/octet-stream")


def ask_here(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
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


def listed(contents: dict[str, bytes]) -> dict[str, Behaviour]:
    """A server with these files, and the list of them."""
    listing = [{"type": "file", "path": name, "size": len(content), "oid": "0"} for name, content in contents.items()]
    files = {f"{RESOLVE}/{name}": repository_file(content) for name, content in contents.items()}
    as_json = Behaviour(json.dumps(listing).encode(), kind="application/json")
    return files | {f"/api/datasets/some/set/tree/{REVISION}": as_json}


@pytest.mark.parametrize("pieces", [1, 2])
def test_members_of_a_hub_archive(pieces: int, video: bytes, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("videos/a.mp4", video)
    whole, half = packed.getvalue(), len(packed.getvalue()) // 2 + 1
    contents = {"v.zip": whole} if pieces == 1 else {"v_part_aa": whole[:half], "v_part_ab": whole[half:]}
    with serving(listed(contents | {"README.md": b"x"})) as (url, log):
        names = ["v.zip"] if pieces == 1 else ["v_part_*"]
        fetcher = route(url, store, monkeypatch, files=names, member="videos/{source_id}.mp4")
        found = fetch_source("a", fetcher, store)
        assert found.status == "ok", found
        assert fetch_source("b", fetcher, store).status == "missing"
    assert (store.root / found.object).read_bytes() == video
    assert [log.asked[f"{RESOLVE}/{name}"] for name in contents] == [1] * pieces


def test_loose_files(video: bytes, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({f"{RESOLVE}/clips/a.mp4": repository_file(video)}) as (url, _):
        fetcher = route(url, store, monkeypatch, member="clips/{source_id}.mp4")
        assert fetch_source("a", fetcher, store).status == "ok"
        assert fetch_source("b", fetcher, store).status == "not_found"
        assert fetch_source("../b", fetcher, store).status == "unsafe_path"


def test_a_damaged_file_of_a_release_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a bad disk damages it: size, date and inode stay, and the hub's library goes by them."""
    content = b"test,pos\ncontrol,yes\n"
    release = ReleaseHub(kind="huggingface", repo="some/set", revision=REVISION)
    key = ReleaseKey(benchmark="b", release=release, files=("*.csv",))
    with serving(listed({"rows.csv": content})) as (url, log):
        ask_here(url, monkeypatch)
        rows = release_folder(key, Store(tmp_path), tmp_path) / "rows.csv"
        status = rows.stat()
        with rows.open("r+b") as stream:
            stream.write(b"tesT")
        os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert release_folder(key, Store(tmp_path), tmp_path) == rows.parent and rows.read_bytes() == content
        assert release_folder(key, Store(tmp_path), tmp_path) == rows.parent
        assert log.asked[f"{RESOLVE}/rows.csv"] == 2


@pytest.mark.parametrize(("answer", "status", "words"), [
    (Behaviour(status=403, headers={"X-Error-Code": "GatedRepo"}), "gated", "https://huggingface.co/datasets/some/set"),
    (Behaviour(status=404), "not_found", "some/set"),
])  # fmt: skip
def test_an_archive_that_cannot_be_had_is_asked_for_once(
    answer: Behaviour, status: str, words: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({f"{RESOLVE}/videos.zip": answer}) as (url, log):
        fetcher = route(url, store, monkeypatch, files=["videos.zip"])
        records = [fetch_source(name, fetcher, store) for name in "abc"]
    assert {record.status for record in records} == {status} and words in records[0].message
    assert (log.heads + log.asked).total() <= 2


def test_a_download_ends_at_the_announced_size(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a loose file, and of a file of a snapshot."""
    endless = repository_file(b"x" * 100_000)
    endless.is_endless, endless.headers = True, endless.headers | {"X-Linked-Size": "250000"}
    with serving({f"{RESOLVE}/clips/a.mp4": endless}) as (url, _):
        found = fetch_source("a", route(url, store, monkeypatch, member="clips/{source_id}.mp4"), store)
    assert found.status == "too_large" and "a reply of more than 250,000 bytes, which were announced" in found.message
    with serving(listed({"rows.csv": b"x"}) | {f"{RESOLVE}/rows.csv": endless}) as (url, _):
        ask_here(url, monkeypatch)
        with pytest.raises(UserError, match="could not be fetched: a reply of more than 250,000 bytes"):
            fetch_snapshot("here", "dataset", "some/set", REVISION, tmp_path / "set", ["*.csv"])
    left = [path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()]
    assert max(left) <= 250_000


def refusal(code: str, status: int) -> Behaviour:
    return Behaviour(status=status, headers={"X-Error-Code": code, "X-Error-Message": "no"})


REFUSED = {
    "gated": (refusal("GatedRepo", 403), r"some/set is gated\. Accept its licence at https://huggingface.co/datasets/some"),
    "no repository": (refusal("RepoNotFound", 404), r"some/set@0123\w+ was not found\. Correct `repo` or `revision`"),
    "no revision": (refusal("RevisionNotFound", 404), "was not found. Correct `repo` or `revision`"),
    "broken": (refusal("Broken", 500), r"could not be fetched: .* Run the same command again"),
    "a page": (Behaviour(b"<html>", kind="text/html"), "could not be fetched"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_snapshot_that_cannot_come_is_one_message(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    behaviour, message = REFUSED[case]
    paths = [f"/api/datasets/some/set/{what}/{REVISION}" for what in ("revision", "tree")]
    with serving(dict.fromkeys(paths, behaviour)) as (url, _):
        ask_here(url, monkeypatch)
        with pytest.raises(UserError, match=message) as caught:
            fetch_snapshot("here", "dataset", "some/set", REVISION, tmp_path / "set", ["*.csv"])
    assert str(caught.value).startswith("here: some/set")
