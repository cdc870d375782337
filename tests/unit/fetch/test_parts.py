"""Archives that were cut into pieces, read without a joined copy; spanned zips are refused."""

import random
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.local import archive
from reprise.fetch.parts import gather, opened_zip
from reprise.fetch.settings import Archive
from reprise.stages.sources import fetch_source

from tests.unit.videos import barcode_video


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return barcode_video(tmp_path_factory.mktemp("video") / "video.mp4", 12).read_bytes()


def contents_of() -> dict[str, bytes]:
    """Members of many sizes; the larger ones do not compress, so that they reach over several parts."""
    dice = random.Random(0)
    return {f"long_video/{i}.mp4": dice.randbytes(size) for i, size in enumerate((0, 1, 900, 5000, 20, 12_000, 3000))}


def zipped(path: Path, members: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return path.read_bytes()


def cut(content: bytes, size: int, paths: Sequence[Path]) -> list[Path]:
    """What `split -b` does."""
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    for path, piece in zip(paths, pieces, strict=False):
        path.write_bytes(piece)
    assert len(pieces) <= len(paths)
    return list(paths[: len(pieces)])


def read_all(paths: Sequence[Path]) -> dict[str, bytes]:
    archives = gather(paths)
    assert len(archives) == 1 and archives[0].is_zip
    with opened_zip(archives[0]) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


NAMINGS = {
    "a.zip.001": [f"a.zip.{i:03}" for i in range(1, 99)],
    "a.zip.000": [f"a.zip.{i:03}" for i in range(99)],
    "long_video_part_aa": [f"long_video_part_{one}{two}" for one in "abcd" for two in "abcdefghijklmnopqrstuvwxyz"],
    "a.zip.part-00": [f"a.zip.part-{i:02}" for i in range(99)],
}


@pytest.mark.parametrize("naming", NAMINGS)
@pytest.mark.parametrize("size", [300, 1000, 7001, 10**6])
def test_pieces_of_a_zip(tmp_path: Path, naming: str, size: int) -> None:
    whole = zipped(tmp_path / "whole.zip", contents_of())
    paths = cut(whole, size, [tmp_path / name for name in NAMINGS[naming]])
    assert read_all(paths[::-1]) == contents_of(), "in whatever order they are found"


def test_videos_from_whole_zips_and_pieces_of_another(video: bytes, tmp_path: Path) -> None:
    """TemporalBench's release: one zip of short videos, the long ones' in pieces; no joined copy is written."""
    zipped(tmp_path / "short_video.zip", {"short_video/a.mp4": video})
    whole = zipped(tmp_path / "whole", {"long_video/b.mp4": video, "long_video/c.mp4": video[:900]})
    (tmp_path / "whole").unlink()
    cut(whole, len(whole) // 5 + 1, [tmp_path / name for name in NAMINGS["long_video_part_aa"]])
    store = Store(tmp_path / "store")
    settings = Archive(kind="archive", path=str(tmp_path / "*_video[._]*"), member="{source_id}")
    route = archive(settings, store)
    names = ("short_video/a.mp4", "long_video/b.mp4", "long_video/c.mp4", "long_video/d.mp4")
    found = {name: fetch_source(name, route, store) for name in names}
    assert [record.status for record in found.values()] == ["ok", "ok", "truncated", "missing"]
    assert (store.root / found["long_video/b.mp4"].object).read_bytes() == video
    assert "in short_video.zip, long_video_part_aa ... long_video_part_ae" in found["long_video/d.mp4"].message
    assert route.estimate(["short_video/a.mp4", "long_video/b.mp4"]) == 2 * len(video)


def test_a_changed_piece_makes_other_sources(video: bytes, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    identities = []
    for content in (video, video + b"x"):
        whole = zipped(tmp_path / "whole", {"a.mp4": content})
        cut(whole, len(whole) // 2 + 1, [tmp_path / "a.zip.001", tmp_path / "a.zip.002"])
        identities.append(archive(Archive(kind="archive", path=str(tmp_path / "a.zip.*")), store).identity("a"))
    assert identities[0] != identities[1]


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        (["a.zip.003"], "part of an archive is missing: a.zip.003. Put it into the folder of the others."),
        (["a.zip.001", "a.zip.002"], "missing: a.zip.001, a.zip.002."),
        ([f"a.zip.{i:03}" for i in range(1, 9)], "missing: a.zip.001, a.zip.002, a.zip.003, a.zip.004, a.zip.005 and 3 more."),
    ],
)  # fmt: skip
def test_a_missing_piece_is_named(tmp_path: Path, lost: list[str], message: str) -> None:
    paths = cut(zipped(tmp_path / "whole", contents_of()), 1000, [tmp_path / name for name in NAMINGS["a.zip.001"]])
    with pytest.raises(UserError) as error:
        gather([path for path in paths if path.name not in lost])
    assert message in str(error.value)


def test_lettered_pieces_are_counted_too(tmp_path: Path) -> None:
    names = [tmp_path / name for name in NAMINGS["long_video_part_aa"]]
    paths = cut(zipped(tmp_path / "whole", contents_of()), 600, names)
    assert paths[26].name == "long_video_part_ba"
    with pytest.raises(UserError, match="missing: long_video_part_az"):
        gather([path for path in paths if path.name != "long_video_part_az"])


def test_a_lost_last_piece_and_a_piece_cut_short(tmp_path: Path) -> None:
    paths = cut(zipped(tmp_path / "whole", contents_of()), 1000, [tmp_path / name for name in NAMINGS["a.zip.001"]])
    store = Store(tmp_path / "store")
    settings = Archive(kind="archive", path=str(tmp_path / "a.zip.*"))
    paths[-1].unlink()
    with pytest.raises(UserError, match=rf"{paths[-2].name}: not a whole zip"):
        fetch_source("a", archive(settings, store), store)
    paths[4].write_bytes(paths[4].read_bytes()[:700])
    with pytest.raises(UserError, match=r"a\.zip\.005: 700 bytes, but a\.zip\.001 has 1000"):
        archive(settings, store)


@pytest.mark.parametrize("names", [["a.z01", "a.zip"], ["a.z01"], ["a.zip"], ["a.z100"]])
def test_a_spanned_zip_must_be_joined_first(tmp_path: Path, names: list[str]) -> None:
    zipped(tmp_path / "a.zip", {"a.mp4": b"video"})
    for name in ("a.z01", "a.z100"):
        (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(UserError, match=r"a\.z\w+: part of a spanned zip.* zip -s 0 a\.zip --out whole\.zip"):
        gather([tmp_path / name for name in names])


def test_the_last_part_of_a_spanned_zip_alone_is_no_zip(tmp_path: Path) -> None:
    """Its members are on another disk, which their entries say."""
    content = bytearray(zipped(tmp_path / "a.zip", {"a.mp4": b"video"}))
    content[content.rindex(b"PK\1\2") + 34] = 1
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.zip: part of a spanned zip"):
        read_all([tmp_path / "a.zip"])
