"""Test repositories of the hub on a local server: archives, releases, gated and missing repositories."""

import os
import time
import zipfile
from collections.abc import Callable
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
from reprise.plan.repositories import fetch_sizes
from reprise.stages.release import locate_release
from reprise.stages.sources import fetch_source

from tests.unit.fetch.server import REVISION, Behaviour, make_repository, serve_paths, silent_server

RESOLVE = f"/datasets/some/set/resolve/{REVISION}"


def use_local_hub(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let huggingface_hub use a local server."""
    import huggingface_hub.constants as constants
    from huggingface_hub import file_download, hf_api

    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    # huggingface_hub stays offline after another test of this process has loaded a model.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    for module in (constants, file_download):
        monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
    monkeypatch.setattr(hf_api, "ENDPOINT", url, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)


def make_fetcher(url: str, store: Store, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Fetcher:
    use_local_hub(url, monkeypatch)
    settings = {"kind": "huggingface", "repo": "some/set", "revision": REVISION, "retries": 0, "timeout_s": 3}
    return create_hub_fetcher(Huggingface.model_validate(settings | options), store)


def make_set(contents: dict[str, bytes]) -> dict[str, Behaviour]:
    return make_repository("dataset", "some/set", contents)


@pytest.mark.parametrize("part_count", [1, 2])
def test_members_of_a_hub_archive_are_fetched(
    part_count: int, video: bytes, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("videos/a.mp4", video)
    content, half = buffer.getvalue(), len(buffer.getvalue()) // 2 + 1
    contents = {"v.zip": content} if part_count == 1 else {"v_part_aa": content[:half], "v_part_ab": content[half:]}
    with serve_paths(make_set(contents | {"README.md": b"x"})) as (url, request_log):
        names = ["v.zip"] if part_count == 1 else ["v_part_*"]
        fetcher = make_fetcher(url, store, monkeypatch, files=names, member="videos/{source_id}.mp4")
        record = fetch_source("a", fetcher, store)
        assert record.status == "ok", record
        assert fetch_source("b", fetcher, store).status == "missing"
    assert (store.root / record.object).read_bytes() == video
    assert [request_log.gets[f"{RESOLVE}/{name}"] for name in contents] == [1] * part_count


LONG_VIDEO_FILES = {f"long_video_{name}.zip": b"z" for name in ("ActivityNet", "COIN")}


@pytest.mark.parametrize("files", [
    ["short.zip", "long_video_part_*"], ["long_video_part_*"], ["long_video_part_aa"], ["short.zip", "long_?.zip"],
])  # fmt: skip
def test_a_missing_name_or_pattern_ends_the_job(
    files: list[str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a rename of archives, as in TemporalBench, records of missing videos would remain after the correction."""
    with serve_paths(make_set({"short.zip": b"z", "README.md": b"x"} | LONG_VIDEO_FILES)) as (url, _):
        fetcher = make_fetcher(url, store, monkeypatch, files=files)
        with pytest.raises(UserError) as caught:
            fetch_source("a", fetcher, store)
        message = f"route.files: some/set@{REVISION} has no file '{files[-1]}'. It has: README.md, long_video_"
        assert str(caught.value).startswith(message)
        assert all(name in str(caught.value) for name in (*LONG_VIDEO_FILES, "short.zip"))
        if "*" in files[-1]:
            with pytest.raises(UserError, match="It has: README.md"):
                fetcher.estimate_bytes(["a"])
    assert not list(store.root.glob("sources/**/*.json"))


def test_a_release_without_the_expected_files_lists_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = ReleaseHub(kind="huggingface", repo="some/set", revision=REVISION)
    key = ReleaseKey(benchmark="b", release=release, files=("*.csv", "sets/*.json"))
    with serve_paths(make_set({"rows.tsv": b"x", "README.md": b"x"})) as (url, _):
        use_local_hub(url, monkeypatch)
        with pytest.raises(UserError, match=r"^release of b: .* has no file '\*.csv', 'sets/\*.json'. It has: README"):
            locate_release(key, Store(tmp_path), tmp_path)


def test_single_files_are_fetched(video: bytes, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_paths(make_set({"clips/a.mp4": video})) as (url, _):
        fetcher = make_fetcher(url, store, monkeypatch, member="clips/{source_id}.mp4")
        assert fetch_source("a", fetcher, store).status == "ok"
        assert fetch_source("b", fetcher, store).status == "not_found"
        assert fetch_source("../b", fetcher, store).status == "unsafe_path"


def test_a_damaged_file_of_a_release_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad disk keeps size, date and inode, which huggingface_hub relies on."""
    content = b"test,pos\ncontrol,yes\n"
    release = ReleaseHub(kind="huggingface", repo="some/set", revision=REVISION)
    key = ReleaseKey(benchmark="b", release=release, files=("*.csv",))
    with serve_paths(make_set({"rows.csv": content})) as (url, request_log):
        use_local_hub(url, monkeypatch)
        rows = locate_release(key, Store(tmp_path), tmp_path) / "rows.csv"
        status = rows.stat()
        with rows.open("r+b") as stream:
            stream.write(b"tesT")
        os.utime(rows, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert locate_release(key, Store(tmp_path), tmp_path) == rows.parent and rows.read_bytes() == content
        assert locate_release(key, Store(tmp_path), tmp_path) == rows.parent
        assert request_log.gets[f"{RESOLVE}/rows.csv"] == 2


@pytest.mark.parametrize(("behaviour", "status", "message"), [
    (Behaviour(status=403, headers={"X-Error-Code": "GatedRepo"}), "gated", "https://huggingface.co/datasets/some/set"),
    (Behaviour(status=404), "not_found", "some/set"),
])  # fmt: skip
def test_a_failed_archive_is_requested_once(
    behaviour: Behaviour, status: str, message: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_paths({f"{RESOLVE}/videos.zip": behaviour}) as (url, request_log):
        fetcher = make_fetcher(url, store, monkeypatch, files=["videos.zip"])
        records = [fetch_source(name, fetcher, store) for name in "abc"]
    assert {record.status for record in records} == {status} and message in records[0].message
    assert (request_log.heads + request_log.gets).total() <= 2


def test_a_download_ends_at_the_announced_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    behaviours = make_set({"a.mp4": b"x" * 100_000})
    endless = behaviours[f"{RESOLVE}/a.mp4"]
    endless.is_endless, endless.headers = True, endless.headers | {"X-Linked-Size": "250000"}
    with serve_paths(behaviours) as (url, _):
        record = fetch_source("a", make_fetcher(url, store, monkeypatch), store)
    assert record.status == "too_large" and "a reply of more than 250,000 bytes, which were announced" in record.message


@pytest.mark.parametrize(("code", "status", "message"), [
    ("GatedRepo", 403, r"some/set is gated\. Accept its licence at https://huggingface.co/datasets/some"),
    ("RepoNotFound", 404, r"some/set@0123\w+ was not found\. Correct `repo` or `revision`"),
    ("Broken", 500, r"could not be fetched: .* Run the same command again"),
])  # fmt: skip
def test_a_failed_snapshot_gives_one_message(
    code: str, status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    behaviour = Behaviour(status=status, headers={"X-Error-Code": code, "X-Error-Message": "no"})
    paths = [f"/api/datasets/some/set/{endpoint}/{REVISION}" for endpoint in ("revision", "tree")]
    with serve_paths(dict.fromkeys(paths, behaviour)) as (url, _):
        use_local_hub(url, monkeypatch)
        with pytest.raises(UserError, match=message) as caught:
            fetch_snapshot("here", "dataset", "some/set", REVISION, tmp_path / "set", ["*.csv"])
    assert str(caught.value).startswith("here: some/set")


@pytest.mark.parametrize("request_hub", [
    lambda folder: fetch_snapshot("here", "model", "some/model", REVISION, folder, ["*.json"]),
    lambda folder: fetch_snapshot("here", "dataset", "some/set", REVISION, folder, ["*.csv"]),
    lambda folder: fetch_sizes("model", "some/model", REVISION),
], ids=["model", "dataset", "sizes"])  # fmt: skip
def test_a_silent_hub_does_not_stop_a_command_forever(
    request_hub: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise.fetch.hub.TIMEOUT_S", 0.5)
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)  # between the client's retries
    with silent_server() as url:
        use_local_hub(url, monkeypatch)
        start = time.monotonic()
        with pytest.raises(UserError) as caught:
            request_hub(tmp_path / "files")
    assert time.monotonic() - start < 20
    assert "some/" in str(caught.value) and "network" in str(caught.value) and "\n" not in str(caught.value)


def test_a_silent_hub_fails_a_source(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's client would wait for minutes, because it repeats a request six times."""
    monkeypatch.setattr("reprise.fetch.hub.TIMEOUT_S", 0.5)
    with silent_server() as url:
        fetcher = make_fetcher(url, store, monkeypatch, files=["v.zip"], member="{source_id}.mp4", max_s=2)
        start = time.monotonic()
        record = fetch_source("a", fetcher, store)
        assert fetcher.estimate_bytes(["a", "b"]) == 2 * fetcher.estimate_bytes(["a"]), "the settings give the size"
    assert time.monotonic() - start < 20
    assert (record.status, record.message) == ("too_slow", "not finished after 2 s (max_s)")
