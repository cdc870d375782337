"""Archives, pickles, folders and what a release itself holds: by name, whole or in pieces; what is damaged or made to harm is one row."""

import base64
import json
import os
import pickle
import random
import re
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest, glob_files
from reprise.core.store import Store
from reprise.fetch.archives import group_parts, open_zip, read_videos
from reprise.fetch.local import create_archive_fetcher, create_folder_fetcher
from reprise.fetch.outcome import Fetcher, FetchError
from reprise.fetch.release_files import ReleaseFiles, add_release_files, release_source
from reprise.fetch.settings import Archive, Folder
from reprise.stages.sources import fetch_source

from tests.unit.fetch.conftest import Statuses

DEFLATED = zipfile.ZIP_DEFLATED


def archived(path: Path, store: Store, **more: Any) -> Fetcher:
    return create_archive_fetcher(Archive.model_validate({"kind": "archive", "path": str(path)} | more), store)


def zipped(path: Path, members: dict[str, bytes], method: int = DEFLATED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return path.read_bytes()


def locked(path: Path) -> None:
    """As a password does it: a flag in the member's own header, and in the list of members."""
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\3\4") + 6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)


def spoilt(path: Path) -> None:
    content = bytearray(path.read_bytes())
    start = content.index(b"bad.mp4") + len("bad.mp4") + 20
    content[start : start + 400] = b"\xff" * 400
    path.write_bytes(content)


def understated(path: Path) -> None:
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, content.index(b"PK\1\2") + 24, 100)  # bytes, in the list of members
    path.write_bytes(content)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("spoil", [spoilt, locked, understated])
def test_a_member_that_cannot_be_unpacked_is_one_row(
    spoil: Callable[[Path], None], method: int, video: bytes, tmp_path: Path, store: Store, statuses: Statuses
) -> None:
    zipped(tmp_path / "a.zip", {"bad.mp4": video * 3, "good.mp4": video}, method)
    spoil(tmp_path / "a.zip")
    assert statuses(archived(tmp_path / "a.zip", store), "bad", "good") == {"bad": "damaged", "good": "ok"}


def test_a_zip_bomb_is_a_row_and_fills_no_disk(video: bytes, tmp_path: Path, store: Store, statuses: Statuses) -> None:
    path = tmp_path / "a.zip"
    zipped(path, {"bad.mp4": bytes(10**7), "good.mp4": video})
    route = archived(path, store, max_mb=1)
    assert statuses(route, "bad", "good") == {"bad": "too_large", "good": "ok"}
    assert route.estimate(["bad", "good"]) == len(video)
    assert sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file()) < 1_000_000
    assert statuses(archived(path, store), "bad") == {"bad": "not_media"}, "another limit, another try"


def test_an_incomplete_zip_is_a_user_error(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(path, {"a.mp4": os.urandom(5000)})[:2000])
    with pytest.raises(UserError, match="not a complete zip"):
        fetch_source("a", archived(path, store), store)
    size = 2**27  # of the list of its members
    with path.open("wb") as stream:
        stream.truncate(size)
        stream.seek(size)
        stream.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 65535, 65535, size, 0, 0))
    with pytest.raises(UserError, match="not a complete zip.*list of members"):
        fetch_source("a", archived(path, store), store)


# Members of many sizes; the larger ones do not compress, so that they reach over several parts.
SIZES = (0, 1, 900, 5000, 20, 12_000, 3000)
CONTENTS = {f"long_video/{i}.mp4": random.Random(i).randbytes(size) for i, size in enumerate(SIZES)}
NAMINGS = {
    "a.zip.001": [f"a.zip.{i:03}" for i in range(1, 99)],
    "long_video_part_aa": [f"long_video_part_{one}{two}" for one in "abcd" for two in "abcdefghijklmnopqrstuvwxyz"],
    "a.zip.part-00": [f"a.zip.part-{i:02}" for i in range(99)],
}


def cut(content: bytes, size: int, folder: Path, naming: str = "a.zip.001") -> list[Path]:
    """What `split -b` does."""
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    paths = [folder / name for name in NAMINGS[naming][: len(pieces)]]
    for path, piece in zip(paths, pieces, strict=True):
        path.write_bytes(piece)
    return paths


@pytest.mark.parametrize("naming", NAMINGS)
def test_parts_of_a_zip(tmp_path: Path, naming: str) -> None:
    whole = zipped(tmp_path / "whole", CONTENTS)
    for size in (300, 1000, 7001, 10**6):
        (archive,) = group_parts(cut(whole, size, tmp_path, naming)[::-1])  # in whatever order they are found
        with open_zip(archive) as opened:
            assert archive.is_zip and {name: opened.read(name) for name in opened.namelist()} == CONTENTS


def test_videos_from_whole_and_split_zips(video: bytes, tmp_path: Path, store: Store, statuses: Statuses) -> None:
    """TemporalBench's release: one zip of short videos, the long ones' in pieces; no joined copy is written."""
    zipped(tmp_path / "short_video.zip", {"short_video/a.mp4": video, "../../evil.mp4": video, "/abs.mp4": video})

    def route(more: bytes) -> Fetcher:
        whole = zipped(tmp_path / "whole", {"long_video/b.mp4": video + more, "long_video/c.mp4": video[:900]})
        cut(whole, len(whole) // 5 + 1, tmp_path, "long_video_part_aa")
        return archived(tmp_path / "*_video[._]*", store, member="{source_id}")

    found = {"short_video/a.mp4": "ok", "long_video/b.mp4": "ok", "long_video/c.mp4": "truncated", "d": "missing"}
    found |= dict.fromkeys(("../../evil.mp4", "/abs.mp4", "../short_video/a.mp4"), "unsafe_path")
    before = route(b"")
    assert statuses(before, *found) == found
    assert not list(tmp_path.rglob("evil.mp4"))
    record = fetch_source("long_video/b.mp4", before, store)
    assert (store.root / record.object).read_bytes() == video and not record.is_transient
    lost = fetch_source("d", before, store).message
    assert "in short_video.zip, long_video_part_aa ... long_video_part_ae" in lost
    assert before.estimate(["short_video/a.mp4", "long_video/b.mp4", "../x"]) == 2 * len(video)
    identity = before.identity("long_video/b.mp4")
    by_name = archived(tmp_path / "*_video[._]*", store, member="long_video/{source_id}.mp4")
    assert by_name.identity("b") == identity
    assert route(b"x").identity("long_video/b.mp4") != identity, "a changed piece makes other sources"


@pytest.mark.parametrize("place", [0, 4, -1])
def test_a_missing_or_incomplete_part_is_a_user_error(place: int, tmp_path: Path, store: Store) -> None:
    paths = cut(zipped(tmp_path / "whole", CONTENTS), 1000, tmp_path)
    content = paths[place].read_bytes()
    paths[place].write_bytes(content[:200])
    for count in (len(paths), len(paths) - 1):
        with pytest.raises(
            UserError, match=rf"a\.zip\.\d+ \.\.\. .*not a complete zip .* One of its {count} parts is missing"
        ):
            fetch_source("a", archived(tmp_path / "a.zip.*", store), store)
        paths[place].unlink(missing_ok=True)


@pytest.fixture
def root(tmp_path: Path, video: bytes) -> Path:
    found = tmp_path / "root"
    found.mkdir()
    (found / "good.mp4").write_bytes(video)
    (found / "good.vtt").write_text("WEBVTT\n")
    return found


def of_folder(root: Path, store: Store, pattern: str = "{source_id}.mp4") -> Fetcher:
    return create_folder_fetcher(Folder(kind="folder", path=str(root), pattern=pattern), store)


def test_names_outside_the_folder_are_one_row_each(root: Path, store: Store, statuses: Statuses) -> None:
    (root / "folder.mp4").mkdir()
    (root / "out.mp4").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.mp4")
    found = dict.fromkeys(("out", "../x", "/x", "a\\..\\x", "x\0y"), "unsafe_path")
    found |= {"folder": "missing", "pipe": "missing", "n" * 300: "unsafe_path", "good": "ok"}
    assert statuses(of_folder(root, store), *found) == found
    assert (store.root / fetch_source("good", of_folder(root, store), store).object).with_suffix(".vtt").is_file()


def test_a_pattern_takes_every_format(root: Path, store: Store, tmp_path: Path) -> None:
    for name in ("cat.MP4", "cat.vtt", "cat.txt", "Cat.mp4", "cat.b.mp4", "two.mp4", "two.mov"):
        shutil.copy(root / "good.mp4", root / name)
    route = of_folder(root, store, "{source_id}.*")
    assert route.fetch("cat", tmp_path).path == root / "cat.MP4"
    for name, words in (("two", "2 videos match 'two.*': two.mov, two.mp4 in"), ("none", "no video 'none.*' in")):
        with pytest.raises(FetchError, match=re.escape(words)):
            route.identity(name)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_as_python_writes_them(protocol: int, tmp_path: Path) -> None:
    path, shared = tmp_path / "a.pkl", os.urandom(70_000)
    for count in (0, 1, 5, 2500) if protocol > 2 else (0,):
        wanted = {f"v\u00e9{number}": shared if number % 2 else os.urandom(number % 400) for number in range(count)}
        path.write_bytes(pickle.dumps(wanted, protocol))
        content = path.read_bytes()
        assert {name: content[at.start : at.start + at.length] for name, at in read_videos(path).items()} == wanted


@pytest.mark.parametrize("path", ["/", "."])
def test_a_folder_in_place_of_an_archive_is_named(path: str, store: Store) -> None:
    with pytest.raises(UserError, match="route.path: no file matches"):
        create_archive_fetcher(Archive.model_construct(kind="archive", path=path), store)
    assert glob_files(path) == []


def test_videos_of_pickles(video: bytes, tmp_path: Path, store: Store, statuses: Statuses) -> None:
    (tmp_path / "0.pkl").write_bytes(pickle.dumps({"bad": Path("x")}))
    (tmp_path / "1.pkl").write_bytes(pickle.dumps({"a": video, "../b": video, "large": bytes(90_000)}))
    route = create_archive_fetcher(Archive(kind="archive", path=str(tmp_path / "*.pkl"), max_mb=0.08), store)
    found = statuses(route, "a", "../b", "c", "large")
    assert found == {"a": "ok", "../b": "unsafe_path", "c": "unsafe_pickle", "large": "too_large"}
    assert (store.root / fetch_source("a", route, store).object).read_bytes() == video
    assert route.estimate(["a", "c", "large"]) == len(video)
    (tmp_path / "0.pkl").unlink()
    route = create_archive_fetcher(Archive(kind="archive", path=str(tmp_path / "*.pkl")), store)
    assert statuses(route, "c") == {"c": "missing"}
    assert not list(tmp_path.glob("*.mp4"))


class _Runs:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/never",)


REFUSED = [
    *((pickle.dumps({"a": one}), "unsafe_pickle") for one in (_Runs(), Path("x"), "text", {"b": b"x"})),
    *((pickle.dumps(one), "unsafe_pickle") for one in ([b"x"], {1: b"x"}, {"n" * 5000: b"x"})),
    (b"\x80\x04cos\nsystem\n(S'true'\ntR.", "unsafe_pickle"),
    (pickle.dumps({"a": bytes(10_000)})[:5000], "failed"),
    (b"\x80\x04}\x8c\x01a\x8e" + struct.pack("<Q", 2**62), "failed"),  # bytes of 4 EB
    (b"\x80\x04" + b"(" * 1_000_000, "too_large"),
]


def test_a_pickle_of_anything_but_names_and_bytes_is_refused(tmp_path: Path) -> None:
    for content, status in REFUSED:
        (tmp_path / "a.pkl").write_bytes(content)
        with pytest.raises(FetchError) as caught:
            read_videos(tmp_path / "a.pkl")
        assert caught.value.status == status, content[:50]


def picture(suffix: str) -> bytes:
    image = np.arange(48 * 64 * 3, dtype=np.uint32).reshape(48, 64, 3) % 251
    return bytes(cv2.imencode(suffix, image.astype(np.uint8))[1])


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.fixture
def route(tmp_path: Path, store: Store, video: bytes) -> Fetcher:
    """A folder of videos, and beside it a release with a table of images and a manifest."""
    release = tmp_path / "release"
    videos = release / "sets" / "clips"
    videos.mkdir(parents=True)
    (videos / "a.mp4").write_bytes(video)
    (tmp_path / "release" / "sets" / "secret.mp4").write_bytes(video)
    (videos / "out.mp4").symlink_to(tmp_path / "release" / "sets" / "secret.mp4")
    (videos / "text.mp4").write_text("no video")
    (release / "sets" / "clips.csv").write_text("video,question,answer\n")
    cells = {
        "1": in_base64(picture(".png")), "2": in_base64(picture(".jpg")), "3": "1", "4": in_base64(picture(".png")[:-200]),
        "5": "!" * 100, "6": in_base64(b"GIF89a" + bytes(100)), "7": in_base64(picture(".webp")), "8": None,
    }  # fmt: skip
    table = pl.DataFrame({"index": list(cells), "question": "?", "image": list(cells.values())})
    table.write_csv(release / "MMStar.tsv", separator="\t")
    files = [
        {"name": name, "path": str(release / name), "sha256": file_digest(release / name)}
        for name in ("MMStar.tsv", "sets/clips.csv")
    ]
    drawn = tmp_path / "drawn.csv"
    drawn.write_text("video,question,answer\n")
    files.append({"name": "sets/drawn.csv", "path": str(drawn), "sha256": file_digest(drawn), "videos": str(videos)})
    (tmp_path / "files.json").write_text(json.dumps(files))
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "main.mp4").write_bytes(video)
    main = create_folder_fetcher(Folder(kind="folder", path=str(tmp_path / "videos")), store)
    return add_release_files(main, ReleaseFiles.from_release(tmp_path / "files.json", store))


def test_images_of_a_table(route: Fetcher, store: Store) -> None:
    found = {index: fetch_source(release_source("MMStar.tsv", index), route, store) for index in "12345678"}
    assert {index: record.status for index, record in found.items()} == {
        "1": "ok", "2": "ok", "3": "missing", "4": "corrupt", "5": "corrupt", "6": "corrupt", "7": "ok", "8": "missing",
    }  # fmt: skip
    assert [Path(found[index].object).suffix for index in "127"] == [".png", ".jpg", ".webp"]
    assert (store.root / found["2"].object).read_bytes() == picture(".jpg")
    assert "neither JPEG, PNG, BMP nor WebP" in found["6"].message


@pytest.mark.parametrize("manifest", ["sets/clips.csv", "sets/drawn.csv"])
def test_videos_of_a_manifest(route: Fetcher, store: Store, manifest: str) -> None:
    """In the folder beside it, or in the one that the listing names."""
    names = ("a.mp4", "b.mp4", "../secret.mp4", "out.mp4", "text.mp4", "/etc/passwd")
    found = {name: fetch_source(release_source(manifest, name), route, store).status for name in names}
    assert found == {
        "a.mp4": "ok", "b.mp4": "missing", "../secret.mp4": "unsafe_path", "out.mp4": "unsafe_path",
        "text.mp4": "not_media", "/etc/passwd": "unsafe_path",
    }  # fmt: skip


def test_other_sources_come_by_the_route(route: Fetcher, store: Store) -> None:
    assert fetch_source("main", route, store).status == "ok"
    gone = fetch_source(release_source("MMBench.tsv", "1"), route, store)
    assert (gone.status, gone.message) == ("missing", "the release has no file 'MMBench.tsv'")
    assert route.estimate(["main", release_source("MMStar.tsv", "1")]) == 0
