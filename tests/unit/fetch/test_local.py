"""Archives and folders: members by name, nothing that leaves its place, nothing that a pickle would run."""

import os
import pickle
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import MachineError, UserError
from reprise.core.store import Store
from reprise.fetch.direct import download
from reprise.fetch.local import archive, folder
from reprise.fetch.outcome import Fetched, Fetcher, FetchError, nothing, safe_name
from reprise.fetch.pickles import read_videos
from reprise.fetch.routes import fetcher_for
from reprise.fetch.settings import Archive, Folder, Http, Toyworld
from reprise.stages.sources import fetch_source

from tests.unit.fetch.server import Behaviour, serving
from tests.unit.videos import barcode_video


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return barcode_video(tmp_path_factory.mktemp("video") / "video.mp4", 12)


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return path


def test_members_of_zips(video: Path, tmp_path: Path) -> None:
    content = video.read_bytes()
    zipped(tmp_path / "one.zip", {"clips/a.mp4": content, "clips/broken.mp4": content[:900], "readme.txt": b"x"})
    zipped(tmp_path / "two.zip", {"clips/b.mp4": content})
    store = Store(tmp_path / "store")
    route = archive(Archive(kind="archive", path=str(tmp_path / "*.zip"), member="clips/{source_id}.mp4"), store)
    found = {name: fetch_source(name, route, store) for name in ("a", "b", "broken", "c", "../readme")}
    assert {name: record.status for name, record in found.items()} == {
        "a": "ok", "b": "ok", "broken": "truncated", "c": "missing", "../readme": "unsafe_path",
    }  # fmt: skip
    assert (store.root / found["a"].object).read_bytes() == content
    assert not any(record.is_transient for record in found.values())
    assert route.estimate(["a", "b", "../x"]) == 2 * len(content)


def test_a_member_whose_own_name_leaves_the_folder_is_never_written(video: Path, tmp_path: Path) -> None:
    zipped(tmp_path / "evil.zip", {"../../evil.mp4": video.read_bytes(), "/abs.mp4": video.read_bytes()})
    store = Store(tmp_path / "in" / "store")
    route = archive(Archive(kind="archive", path=str(tmp_path / "evil.zip"), member="{source_id}"), store)
    for name in ("../../evil.mp4", "/abs.mp4"):
        assert fetch_source(name, route, store).status == "unsafe_path"
    assert not list(tmp_path.rglob("evil.mp4"))


def test_a_changed_archive_is_another_source(video: Path, tmp_path: Path) -> None:
    path, store = tmp_path / "a.zip", Store(tmp_path / "store")
    settings = Archive(kind="archive", path=str(path))
    zipped(path, {"a.mp4": video.read_bytes()[:700]})
    assert fetch_source("a", archive(settings, store), store).status == "truncated"
    zipped(path, {"a.mp4": video.read_bytes()})
    assert fetch_source("a", archive(settings, store), store).status == "ok"


def test_pickles_of_videos(video: Path, tmp_path: Path) -> None:
    content = video.read_bytes()
    (tmp_path / "0.pkl").write_bytes(pickle.dumps({"a": content, "../b": content}))
    store = Store(tmp_path / "store")
    route = archive(Archive(kind="archive", path=str(tmp_path / "*.pkl")), store)
    first = fetch_source("a", route, store)
    assert first.status == "ok", first
    assert (store.root / first.object).read_bytes() == content
    assert fetch_source("c", route, store).status == "missing"
    assert fetch_source("../b", route, store).status == "unsafe_path"
    assert not list(tmp_path.glob("*.mp4"))


class _Runs:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/never",)


@pytest.mark.parametrize(
    "value",
    [{"a": _Runs()}, {"a": Path("x")}, [b"x"], {"a": "text"}, {1: b"x"}, {"a": {"b": b"x"}}, {"a": bytearray(b"x")}],
    ids=["runs", "object", "list", "text", "number", "nested", "bytearray"],
)
def test_pickles_with_anything_else_are_refused(value: object, tmp_path: Path) -> None:
    path = tmp_path / "evil.pkl"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(FetchError) as caught:
        read_videos(path)
    assert caught.value.status == "unsafe_pickle"


def test_half_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "half.pkl"
    path.write_bytes(pickle.dumps({"a": bytes(10_000)})[:5000])
    with pytest.raises(FetchError) as caught:
        read_videos(path)
    assert caught.value.status == "failed"


def test_half_a_zip_is_the_users_to_mend(tmp_path: Path) -> None:
    path = zipped(tmp_path / "half.zip", {"a.mp4": os.urandom(5000)})
    path.write_bytes(path.read_bytes()[:2000])
    store = Store(tmp_path / "store")
    with pytest.raises(UserError, match="not a whole zip"):
        fetch_source("a", archive(Archive(kind="archive", path=str(path)), store), store)


def test_a_link_that_leads_out_of_the_folder(video: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out.mp4").symlink_to(video)
    (root / "in.mp4").write_bytes(video.read_bytes())
    store = Store(tmp_path / "store")
    route = folder(Folder(kind="folder", path=str(root)), store)
    assert fetch_source("out", route, store).status == "unsafe_path"
    assert fetch_source("in", route, store).status == "ok"


def test_subtitles_come_along(video: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.mp4").write_bytes(video.read_bytes())
    (root / "a.vtt").write_text("WEBVTT\n")
    store = Store(tmp_path / "store")
    record = fetch_source("a", folder(Folder(kind="folder", path=str(root)), store), store)
    assert (store.root / record.object).with_suffix(".vtt").read_text() == "WEBVTT\n"


@pytest.mark.parametrize("name", ["", "..", "../x", "/x", "a/../../x", "a\\..\\x", "x\0y"])
def test_unsafe_names(name: str) -> None:
    with pytest.raises(FetchError) as caught:
        safe_name("{source_id}", name)
    assert caught.value.status == "unsafe_path"


def test_a_full_disk_ends_the_job_and_is_not_remembered(video: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    with serving({"/a.mp4": Behaviour(video.read_bytes())}) as (url, _):
        settings = Http(kind="http", url=url)

        def fetch(source_id: str, scratch: Path) -> Fetched:
            download(f"{url}/a.mp4", Path("/dev/full"), settings)
            return Fetched(Path("/dev/full"))

        with pytest.raises(MachineError, match="No space left on device.*make room"):
            fetch_source("a", Fetcher(lambda name: ["full", name], fetch, nothing), store)
    assert not list((tmp_path / "sources").rglob("*.json"))


def test_the_toy_worlds_sources_are_rendered_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(UserError, match="no source 'nothing'"):
        fetch_source("nothing", fetcher_for(Toyworld(kind="toyworld"), store), store)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["cat.MP4", "cat.vtt", "cat.txt", "Cat.mp4", "cat.b.mp4"], "cat.MP4"),
        (["cat.webm"], "cat.webm"),
        (["cat.mp4", "cat.mov"], "2 videos fit 'cat.*': cat.mov, cat.mp4 in the folder"),
        (["cat.json", "cats.mp4"], "no video 'cat.*' in the folder"),
        ([], "no video 'cat.*' in the folder"),
    ],
)
def test_a_pattern_for_every_format_takes_the_one_video(
    video: Path, tmp_path: Path, files: list[str], found: str
) -> None:
    root, store = tmp_path / "videos", Store(tmp_path / "store")
    root.mkdir()
    for name in files:
        shutil.copy(video, root / name)
    route = folder(Folder(kind="folder", path=str(root), pattern="{source_id}.*"), store)
    if " " in found:
        with pytest.raises(FetchError, match=re.escape(found)):
            route.fetch("cat", tmp_path)
    else:
        assert route.fetch("cat", tmp_path).path == root / found


def test_a_pattern_for_every_format_stays_in_its_folder(video: Path, tmp_path: Path) -> None:
    root, store = tmp_path / "videos", Store(tmp_path / "store")
    root.mkdir()
    (root / "cat.mov").symlink_to(video)
    route = folder(Folder(kind="folder", path=str(root), pattern="{source_id}.*"), store)
    for name in ("cat", "../cat", "/cat"):
        with pytest.raises(FetchError) as caught:
            route.identity(name)
        assert caught.value.status == "unsafe_path"
