"""A data set repository as its server shows it, on 127.0.0.1: pinned, gated, gone."""

import os
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.hub import create_hub_fetcher, fetch_snapshot
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.outcome import Fetcher
from reprise.fetch.settings import Huggingface, ReleaseHub
from reprise.stages.release import locate_release
from reprise.stages.sources import fetch_source

from tests.unit.fetch.server import REVISION, Behaviour, repository, serving

RESOLVE = f"/datasets/some/set/resolve/{REVISION}"


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
    return create_hub_fetcher(Huggingface.model_validate(settings | more), store)


def of_set(contents: dict[str, bytes]) -> dict[str, Behaviour]:
    return repository("dataset", "some/set", contents)


@pytest.mark.parametrize("pieces", [1, 2])
def test_members_of_a_hub_archive(pieces: int, video: bytes, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("videos/a.mp4", video)
    whole, half = packed.getvalue(), len(packed.getvalue()) // 2 + 1
    contents = {"v.zip": whole} if pieces == 1 else {"v_part_aa": whole[:half], "v_part_ab": whole[half:]}
    with serving(of_set(contents | {"README.md": b"x"})) as (url, log):
        names = ["v.zip"] if pieces == 1 else ["v_part_*"]
        fetcher = route(url, store, monkeypatch, files=names, member="videos/{source_id}.mp4")
        found = fetch_source("a", fetcher, store)
        assert found.status == "ok", found
        assert fetch_source("b", fetcher, store).status == "missing"
    assert (store.root / found.object).read_bytes() == video
    assert [log.asked[f"{RESOLVE}/{name}"] for name in contents] == [1] * pieces


LONG = {f"long_video_{name}.zip": b"z" for name in ("ActivityNet", "COIN")}


@pytest.mark.parametrize("files", [
    ["short.zip", "long_video_part_*"], ["long_video_part_*"], ["long_video_part_aa"], ["short.zip", "long_?.zip"],
])  # fmt: skip
def test_a_missing_name_or_pattern_ends_the_job(
    files: list[str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TemporalBench's archives were renamed: a record of each video as missing would outlive the correction."""
    with serving(of_set({"short.zip": b"z", "README.md": b"x"} | LONG)) as (url, _):
        fetcher = route(url, store, monkeypatch, files=files)
        with pytest.raises(UserError) as error:
            fetch_source("a", fetcher, store)
        message = f"route.files: some/set@{REVISION} has no file '{files[-1]}'. It has: README.md, long_video_"
        assert str(error.value).startswith(message)
        assert all(name in str(error.value) for name in (*LONG, "short.zip"))
        if "*" in files[-1]:
            with pytest.raises(UserError, match="It has: README.md"):
                fetcher.estimate(["a"])
    assert not list(store.root.glob("sources/**/*.json"))


def test_a_release_whose_files_have_other_names_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = ReleaseHub(kind="huggingface", repo="some/set", revision=REVISION)
    key = ReleaseKey(benchmark="b", release=release, files=("*.csv", "sets/*.json"))
    with serving(of_set({"rows.tsv": b"x", "README.md": b"x"})) as (url, _):
        ask_here(url, monkeypatch)
        with pytest.raises(UserError, match=r"^release of b: .* has no file '\*.csv', 'sets/\*.json'. It has: README"):
            locate_release(key, Store(tmp_path), tmp_path)


def test_single_files(video: bytes, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(of_set({"clips/a.mp4": video})) as (url, _):
        fetcher = route(url, store, monkeypatch, member="clips/{source_id}.mp4")
        assert fetch_source("a", fetcher, store).status == "ok"
        assert fetch_source("b", fetcher, store).status == "not_found"
        assert fetch_source("../b", fetcher, store).status == "unsafe_path"


def test_a_damaged_file_of_a_release_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a bad disk damages it: size, date and inode stay, and the hub's library goes by them."""
    content = b"test,pos\ncontrol,yes\n"
    release = ReleaseHub(kind="huggingface", repo="some/set", revision=REVISION)
    key = ReleaseKey(benchmark="b", release=release, files=("*.csv",))
    with serving(of_set({"rows.csv": content})) as (url, log):
        ask_here(url, monkeypatch)
        rows = locate_release(key, Store(tmp_path), tmp_path) / "rows.csv"
        status = rows.stat()
        with rows.open("r+b") as stream:
            stream.write(b"tesT")
        os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert locate_release(key, Store(tmp_path), tmp_path) == rows.parent and rows.read_bytes() == content
        assert locate_release(key, Store(tmp_path), tmp_path) == rows.parent
        assert log.asked[f"{RESOLVE}/rows.csv"] == 2


@pytest.mark.parametrize(("answer", "status", "words"), [
    (Behaviour(status=403, headers={"X-Error-Code": "GatedRepo"}), "gated", "https://huggingface.co/datasets/some/set"),
    (Behaviour(status=404), "not_found", "some/set"),
])  # fmt: skip
def test_a_failed_archive_is_requested_once(
    answer: Behaviour, status: str, words: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({f"{RESOLVE}/videos.zip": answer}) as (url, log):
        fetcher = route(url, store, monkeypatch, files=["videos.zip"])
        records = [fetch_source(name, fetcher, store) for name in "abc"]
    assert {record.status for record in records} == {status} and words in records[0].message
    assert (log.heads + log.asked).total() <= 2


def test_a_download_ends_at_the_announced_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    served = of_set({"a.mp4": b"x" * 100_000})
    endless = served[f"{RESOLVE}/a.mp4"]
    endless.is_endless, endless.headers = True, endless.headers | {"X-Linked-Size": "250000"}
    with serving(served) as (url, _):
        found = fetch_source("a", route(url, store, monkeypatch), store)
    assert found.status == "too_large" and "a reply of more than 250,000 bytes, which were announced" in found.message


@pytest.mark.parametrize(("code", "status", "message"), [
    ("GatedRepo", 403, r"some/set is gated\. Accept its licence at https://huggingface.co/datasets/some"),
    ("RepoNotFound", 404, r"some/set@0123\w+ was not found\. Correct `repo` or `revision`"),
    ("Broken", 500, r"could not be fetched: .* Run the same command again"),
])  # fmt: skip
def test_a_failed_snapshot_is_one_message(
    code: str, status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    behaviour = Behaviour(status=status, headers={"X-Error-Code": code, "X-Error-Message": "no"})
    paths = [f"/api/datasets/some/set/{what}/{REVISION}" for what in ("revision", "tree")]
    with serving(dict.fromkeys(paths, behaviour)) as (url, _):
        ask_here(url, monkeypatch)
        with pytest.raises(UserError, match=message) as caught:
            fetch_snapshot("here", "dataset", "some/set", REVISION, tmp_path / "set", ["*.csv"])
    assert str(caught.value).startswith("here: some/set")
