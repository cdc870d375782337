"""Test sources from archives, pickles, folders and release files; a damaged or malicious file is a row with a status."""

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
from reprise.fetch.archives import group_parts, locate_videos, open_zip
from reprise.fetch.local import create_archive_fetcher, create_folder_fetcher
from reprise.fetch.outcome import Fetcher, FetchError
from reprise.fetch.release_files import ReleaseFiles, add_release_files, build_source_id
from reprise.fetch.settings import Archive, Folder
from reprise.stages.sources import fetch_source

from tests.unit.fetch.conftest import FetchStatuses

DEFLATED = zipfile.ZIP_DEFLATED


def make_archive_fetcher(path: Path, store: Store, **more: Any) -> Fetcher:
    return create_archive_fetcher(Archive.model_validate({"kind": "archive", "path": str(path)} | more), store)


def write_zip(path: Path, members: dict[str, bytes], method: int = DEFLATED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return path.read_bytes()


def encrypt_member(path: Path) -> None:
    """Set the encryption flag in the member's header and in the central directory."""
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\3\4") + 6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)


def corrupt_member(path: Path) -> None:
    content = bytearray(path.read_bytes())
    start = content.index(b"bad.mp4") + len("bad.mp4") + 20
    content[start : start + 400] = b"\xff" * 400
    path.write_bytes(content)


def understate_size(path: Path) -> None:
    content = bytearray(path.read_bytes())
    struct.pack_into(
        "<I", content, content.index(b"PK\1\2") + 24, 100
    )  # the uncompressed size in the central directory
    path.write_bytes(content)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("damage", [corrupt_member, encrypt_member, understate_size])
def test_a_member_that_cannot_be_unpacked_has_status_damaged(
    damage: Callable[[Path], None],
    method: int,
    video: bytes,
    tmp_path: Path,
    store: Store,
    fetch_statuses: FetchStatuses,
) -> None:
    write_zip(tmp_path / "a.zip", {"bad.mp4": video * 3, "good.mp4": video}, method)
    damage(tmp_path / "a.zip")
    assert fetch_statuses(make_archive_fetcher(tmp_path / "a.zip", store), "bad", "good") == {
        "bad": "damaged",
        "good": "ok",
    }


def test_a_zip_bomb_is_too_large_and_does_not_fill_the_disk(
    video: bytes, tmp_path: Path, store: Store, fetch_statuses: FetchStatuses
) -> None:
    path = tmp_path / "a.zip"
    write_zip(path, {"bad.mp4": bytes(10**7), "good.mp4": video})
    fetcher = make_archive_fetcher(path, store, max_mb=1)
    assert fetch_statuses(fetcher, "bad", "good") == {"bad": "too_large", "good": "ok"}
    assert fetcher.estimate_bytes(["bad", "good"]) == len(video)
    assert sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file()) < 1_000_000
    assert fetch_statuses(make_archive_fetcher(path, store), "bad") == {"bad": "not_media"}, (
        "another limit is another attempt"
    )


def test_an_incomplete_zip_is_a_user_error(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(write_zip(path, {"a.mp4": os.urandom(5000)})[:2000])
    with pytest.raises(UserError, match="not a complete zip"):
        fetch_source("a", make_archive_fetcher(path, store), store)
    size = 2**27  # of the central directory
    with path.open("wb") as stream:
        stream.truncate(size)
        stream.seek(size)
        stream.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 65535, 65535, size, 0, 0))
    with pytest.raises(UserError, match="not a complete zip.*list of members"):
        fetch_source("a", make_archive_fetcher(path, store), store)


# Members of many sizes; the larger ones do not compress, so they extend over several parts.
MEMBER_SIZES = (0, 1, 900, 5000, 20, 12_000, 3000)
CONTENTS = {f"long_video/{i}.mp4": random.Random(i).randbytes(size) for i, size in enumerate(MEMBER_SIZES)}
PART_NAMES = {
    "a.zip.001": [f"a.zip.{i:03}" for i in range(1, 99)],
    "long_video_part_aa": [
        f"long_video_part_{first}{second}" for first in "abcd" for second in "abcdefghijklmnopqrstuvwxyz"
    ],
    "a.zip.part-00": [f"a.zip.part-{i:02}" for i in range(99)],
}


def split_file(content: bytes, size: int, folder: Path, naming: str = "a.zip.001") -> list[Path]:
    """Split a file like `split -b`."""
    parts = [content[start : start + size] for start in range(0, len(content), size)]
    paths = [folder / name for name in PART_NAMES[naming][: len(parts)]]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    return paths


@pytest.mark.parametrize("naming", PART_NAMES)
def test_parts_of_a_zip_are_read_as_one(tmp_path: Path, naming: str) -> None:
    content = write_zip(tmp_path / "whole", CONTENTS)
    for size in (300, 1000, 7001, 10**6):
        (archive,) = group_parts(
            split_file(content, size, tmp_path, naming)[::-1]
        )  # the order of the files does not matter
        with open_zip(archive) as opened:
            assert archive.is_zip and {name: opened.read(name) for name in opened.namelist()} == CONTENTS


def test_videos_from_whole_and_split_zips(
    video: bytes, tmp_path: Path, store: Store, fetch_statuses: FetchStatuses
) -> None:
    """TemporalBench has one zip of short videos and a split zip of long videos; no joined copy is written."""
    write_zip(tmp_path / "short_video.zip", {"short_video/a.mp4": video, "../../evil.mp4": video, "/abs.mp4": video})

    def make_fetcher(extra_bytes: bytes) -> Fetcher:
        whole = write_zip(
            tmp_path / "whole", {"long_video/b.mp4": video + extra_bytes, "long_video/c.mp4": video[:900]}
        )
        split_file(whole, len(whole) // 5 + 1, tmp_path, "long_video_part_aa")
        return make_archive_fetcher(tmp_path / "*_video[._]*", store, member="{source_id}")

    expected = {"short_video/a.mp4": "ok", "long_video/b.mp4": "ok", "long_video/c.mp4": "truncated", "d": "missing"}
    expected |= dict.fromkeys(("../../evil.mp4", "/abs.mp4", "../short_video/a.mp4"), "unsafe_path")
    fetcher = make_fetcher(b"")
    assert fetch_statuses(fetcher, *expected) == expected
    assert not list(tmp_path.rglob("evil.mp4"))
    record = fetch_source("long_video/b.mp4", fetcher, store)
    assert (store.root / record.object).read_bytes() == video and not record.is_transient
    message = fetch_source("d", fetcher, store).message
    assert "in short_video.zip, long_video_part_aa ... long_video_part_ae" in message
    assert fetcher.estimate_bytes(["short_video/a.mp4", "long_video/b.mp4", "../x"]) == 2 * len(video)
    identity = fetcher.identity("long_video/b.mp4")
    fetcher_by_name = make_archive_fetcher(tmp_path / "*_video[._]*", store, member="long_video/{source_id}.mp4")
    assert fetcher_by_name.identity("b") == identity
    assert make_fetcher(b"x").identity("long_video/b.mp4") != identity, (
        "a changed part changes the identity of the sources"
    )


@pytest.mark.parametrize("part_index", [0, 4, -1])
def test_a_missing_or_incomplete_part_is_a_user_error(part_index: int, tmp_path: Path, store: Store) -> None:
    paths = split_file(write_zip(tmp_path / "whole", CONTENTS), 1000, tmp_path)
    content = paths[part_index].read_bytes()
    paths[part_index].write_bytes(content[:200])
    for count in (len(paths), len(paths) - 1):
        with pytest.raises(
            UserError, match=rf"a\.zip\.\d+ \.\.\. .*not a complete zip .* One of its {count} parts is missing"
        ):
            fetch_source("a", make_archive_fetcher(tmp_path / "a.zip.*", store), store)
        paths[part_index].unlink(missing_ok=True)


@pytest.fixture
def root(tmp_path: Path, video: bytes) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "good.mp4").write_bytes(video)
    (folder / "good.vtt").write_text("WEBVTT\n")
    return folder


def make_folder_fetcher(root: Path, store: Store, pattern: str = "{source_id}.mp4") -> Fetcher:
    return create_folder_fetcher(Folder(kind="folder", path=str(root), pattern=pattern), store)


def test_names_outside_the_folder_are_unsafe_paths(root: Path, store: Store, fetch_statuses: FetchStatuses) -> None:
    (root / "folder.mp4").mkdir()
    (root / "out.mp4").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.mp4")
    expected = dict.fromkeys(("out", "../x", "/x", "a\\..\\x", "x\0y"), "unsafe_path")
    expected |= {"folder": "missing", "pipe": "missing", "n" * 300: "unsafe_path", "good": "ok"}
    assert fetch_statuses(make_folder_fetcher(root, store), *expected) == expected
    assert (
        (store.root / fetch_source("good", make_folder_fetcher(root, store), store).object)
        .with_suffix(".vtt")
        .is_file()
    )


def test_a_pattern_matches_every_format(root: Path, store: Store, tmp_path: Path) -> None:
    for name in ("cat.MP4", "cat.vtt", "cat.txt", "Cat.mp4", "cat.b.mp4", "two.mp4", "two.mov"):
        shutil.copy(root / "good.mp4", root / name)
    fetcher = make_folder_fetcher(root, store, "{source_id}.*")
    assert fetcher.fetch("cat", tmp_path).path == root / "cat.MP4"
    for name, message in (("two", "2 videos match 'two.*': two.mov, two.mp4 in"), ("none", "no video 'none.*' in")):
        with pytest.raises(FetchError, match=re.escape(message)):
            fetcher.identity(name)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_of_every_protocol_are_read(protocol: int, tmp_path: Path) -> None:
    path, repeated_content = tmp_path / "a.pkl", os.urandom(70_000)
    for count in (0, 1, 5, 2500) if protocol > 2 else (0,):
        expected = {
            f"v\u00e9{number}": repeated_content if number % 2 else os.urandom(number % 400) for number in range(count)
        }
        path.write_bytes(pickle.dumps(expected, protocol))
        content = path.read_bytes()
        assert {
            name: content[span.start : span.start + span.length] for name, span in locate_videos(path).items()
        } == expected


@pytest.mark.parametrize("path", ["/", "."])
def test_a_folder_instead_of_an_archive_is_rejected(path: str, store: Store) -> None:
    with pytest.raises(UserError, match="route.path: no file matches"):
        create_archive_fetcher(Archive.model_construct(kind="archive", path=path), store)
    assert glob_files(path) == []


def test_videos_of_pickles_are_fetched(
    video: bytes, tmp_path: Path, store: Store, fetch_statuses: FetchStatuses
) -> None:
    (tmp_path / "0.pkl").write_bytes(pickle.dumps({"bad": Path("x")}))
    (tmp_path / "1.pkl").write_bytes(pickle.dumps({"a": video, "../b": video, "large": bytes(90_000)}))
    fetcher = create_archive_fetcher(Archive(kind="archive", path=str(tmp_path / "*.pkl"), max_mb=0.08), store)
    status_by_name = fetch_statuses(fetcher, "a", "../b", "c", "large")
    assert status_by_name == {"a": "ok", "../b": "unsafe_path", "c": "unsafe_pickle", "large": "too_large"}
    assert (store.root / fetch_source("a", fetcher, store).object).read_bytes() == video
    assert fetcher.estimate_bytes(["a", "c", "large"]) == len(video)
    (tmp_path / "0.pkl").unlink()
    fetcher = create_archive_fetcher(Archive(kind="archive", path=str(tmp_path / "*.pkl")), store)
    assert fetch_statuses(fetcher, "c") == {"c": "missing"}
    assert not list(tmp_path.glob("*.mp4"))


class _CommandPickle:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/never",)


REJECTED_PICKLES = [
    *((pickle.dumps({"a": value}), "unsafe_pickle") for value in (_CommandPickle(), Path("x"), "text", {"b": b"x"})),
    *((pickle.dumps(value), "unsafe_pickle") for value in ([b"x"], {1: b"x"}, {"n" * 5000: b"x"})),
    (b"\x80\x04cos\nsystem\n(S'true'\ntR.", "unsafe_pickle"),
    (pickle.dumps({"a": bytes(10_000)})[:5000], "failed"),
    (b"\x80\x04}\x8c\x01a\x8e" + struct.pack("<Q", 2**62), "failed"),  # a length of 4 EB
    (b"\x80\x04" + b"(" * 1_000_000, "too_large"),
]


def test_a_pickle_with_anything_but_names_and_bytes_is_rejected(tmp_path: Path) -> None:
    for content, status in REJECTED_PICKLES:
        (tmp_path / "a.pkl").write_bytes(content)
        with pytest.raises(FetchError) as caught:
            locate_videos(tmp_path / "a.pkl")
        assert caught.value.status == status, content[:50]


def encode_picture(suffix: str) -> bytes:
    image = np.arange(48 * 64 * 3, dtype=np.uint32).reshape(48, 64, 3) % 251
    return bytes(cv2.imencode(suffix, image.astype(np.uint8))[1])


def encode_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.fixture
def release_fetcher(tmp_path: Path, store: Store, video: bytes) -> Fetcher:
    """Return a fetcher for a folder of videos and for a release with a table of images and manifests."""
    release = tmp_path / "release"
    videos = release / "sets" / "clips"
    videos.mkdir(parents=True)
    (videos / "a.mp4").write_bytes(video)
    (tmp_path / "release" / "sets" / "secret.mp4").write_bytes(video)
    (videos / "out.mp4").symlink_to(tmp_path / "release" / "sets" / "secret.mp4")
    (videos / "text.mp4").write_text("no video")
    (release / "sets" / "clips.csv").write_text("video,question,answer\n")
    cells = {
        "1": encode_base64(encode_picture(".png")), "2": encode_base64(encode_picture(".jpg")), "3": "1", "4": encode_base64(encode_picture(".png")[:-200]),
        "5": "!" * 100, "6": encode_base64(b"GIF89a" + bytes(100)), "7": encode_base64(encode_picture(".webp")), "8": None,
    }  # fmt: skip
    table = pl.DataFrame({"index": list(cells), "question": "?", "image": list(cells.values())})
    table.write_csv(release / "MMStar.tsv", separator="\t")
    files = [
        {"name": name, "path": str(release / name), "sha256": file_digest(release / name)}
        for name in ("MMStar.tsv", "sets/clips.csv")
    ]
    drawn_manifest = tmp_path / "drawn.csv"
    drawn_manifest.write_text("video,question,answer\n")
    files.append(
        {
            "name": "sets/drawn.csv",
            "path": str(drawn_manifest),
            "sha256": file_digest(drawn_manifest),
            "videos": str(videos),
        }
    )
    (tmp_path / "files.json").write_text(json.dumps(files))
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "main.mp4").write_bytes(video)
    folder_fetcher = create_folder_fetcher(Folder(kind="folder", path=str(tmp_path / "videos")), store)
    return add_release_files(folder_fetcher, ReleaseFiles.from_release(tmp_path / "files.json", store))


def test_images_of_a_table_are_fetched(release_fetcher: Fetcher, store: Store) -> None:
    record_by_index = {
        index: fetch_source(build_source_id("MMStar.tsv", index), release_fetcher, store) for index in "12345678"
    }
    assert {index: record.status for index, record in record_by_index.items()} == {
        "1": "ok", "2": "ok", "3": "missing", "4": "corrupt", "5": "corrupt", "6": "corrupt", "7": "ok", "8": "missing",
    }  # fmt: skip
    assert [Path(record_by_index[index].object).suffix for index in "127"] == [".png", ".jpg", ".webp"]
    assert (store.root / record_by_index["2"].object).read_bytes() == encode_picture(".jpg")
    assert "neither JPEG, PNG, BMP nor WebP" in record_by_index["6"].message


@pytest.mark.parametrize("manifest", ["sets/clips.csv", "sets/drawn.csv"])
def test_videos_of_a_manifest_are_fetched(release_fetcher: Fetcher, store: Store, manifest: str) -> None:
    """The videos are in the folder next to the manifest or in the folder that the list of files names."""
    names = ("a.mp4", "b.mp4", "../secret.mp4", "out.mp4", "text.mp4", "/etc/passwd")
    status_by_name = {
        name: fetch_source(build_source_id(manifest, name), release_fetcher, store).status for name in names
    }
    assert status_by_name == {
        "a.mp4": "ok", "b.mp4": "missing", "../secret.mp4": "unsafe_path", "out.mp4": "unsafe_path",
        "text.mp4": "not_media", "/etc/passwd": "unsafe_path",
    }  # fmt: skip


def test_other_sources_are_fetched_by_the_route(release_fetcher: Fetcher, store: Store) -> None:
    assert fetch_source("main", release_fetcher, store).status == "ok"
    record = fetch_source(build_source_id("MMBench.tsv", "1"), release_fetcher, store)
    assert (record.status, record.message) == ("missing", "the release has no file 'MMBench.tsv'")
    assert release_fetcher.estimate_bytes(["main", build_source_id("MMStar.tsv", "1")]) == 0
