"""What a release itself contains: images in its tables, videos next to its manifests; nothing that leaves its folder."""

import base64
import json
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
from reprise.core.files import file_digest
from reprise.core.store import Store
from reprise.fetch.local import folder
from reprise.fetch.outcome import Fetcher
from reprise.fetch.release_files import ReleaseFiles, release_source, with_release_files
from reprise.fetch.settings import Folder
from reprise.stages.sources import fetch_source


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
    main = folder(Folder(kind="folder", path=str(tmp_path / "videos")), store)
    return with_release_files(main, ReleaseFiles.listed_in(tmp_path / "files.json", store))


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


def test_all_else_comes_by_the_route(route: Fetcher, store: Store) -> None:
    assert fetch_source("main", route, store).status == "ok"
    gone = fetch_source(release_source("MMBench.tsv", "1"), route, store)
    assert (gone.status, gone.message) == ("missing", "the release has no file 'MMBench.tsv'")
    assert route.estimate(["main", release_source("MMStar.tsv", "1")]) == 0
