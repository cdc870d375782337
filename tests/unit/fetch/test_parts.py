"""Archives in several files: pieces of a zip and disks of a spanned zip, read without a joined copy."""

import random
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.local import archive
from reprise.fetch.parts import gather, opened_zip
from reprise.fetch.settings import Archive
from reprise.stages.sources import bring

from tests.unit.videos import barcode_video

SPANNED_BY_ZIP = Path(__file__).parents[2] / "data" / "archives"
END, ENTRY = struct.Struct("<4s4H2LH"), struct.Struct("<4s6H3L5H2L")


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


def spanned(folder: Path, whole: bytes, size: int, wide: bool = False) -> list[Path]:
    """A zip cut into disks of one size, its places counted from the beginning of each disk, as `zip -s` counts them.

    `wide` says the same in 64-bit fields.
    """
    content = bytearray(b"PK\7\x08" + whole)
    at = content.rfind(b"PK\5\6")
    *_, entries, length, begin, _ = END.unpack_from(content, at)
    directory, place = b"", begin + 4
    while place < at:
        fields = list(ENTRY.unpack_from(content, place))
        name = content[place + ENTRY.size : place + ENTRY.size + fields[10]]
        place += ENTRY.size + sum(fields[10:13])
        disk, offset = divmod(fields[16] + 4, size)
        extra = b""
        if wide:
            extra = struct.pack("<2H3QL", 1, 28, fields[9], fields[8], offset, disk)
            fields[8] = fields[9] = offset = 0xFFFFFFFF
            disk = 0xFFFF
        fields[11], fields[13], fields[16] = len(extra), disk, offset
        directory += ENTRY.pack(*fields) + name + extra
    body = bytes(content[: begin + 4]) + directory
    (first, start), length, end = divmod(begin + 4, size), len(directory), b""
    if wide:
        disk, at = divmod(len(body), size)
        body += struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, first, 0, entries, length, start)
        end = struct.pack("<4sLQL", b"PK\6\7", disk, at, 0)
        first, length, start, entries = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF
    last = (len(body) - 1) // size
    paths = cut(body, size, [folder / name for name in [*(f"a.z{number + 1:02}" for number in range(last)), "a.zip"]])
    with paths[-1].open("ab") as stream:  # the end and the pointer before it are never cut
        stream.write(end + END.pack(b"PK\5\6", last, first, entries, entries, length, start, 0))
    return paths


def read_all(paths: Sequence[Path]) -> dict[str, bytes]:
    holders = gather(paths)
    assert len(holders) == 1 and holders[0].is_zip
    with opened_zip(holders[0]) as opened:
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


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("size", [100, 333, 1000, 7001, 21_100, 10**6])
def test_disks_of_a_spanned_zip(tmp_path: Path, size: int, wide: bool) -> None:
    """At the smallest sizes headers, the directory and its end reach over several disks."""
    paths = spanned(tmp_path, zipped(tmp_path / "whole", contents_of()), size, wide)
    assert (len(paths) > 1) == (size < 10**6)
    assert read_all(paths) == contents_of()


def test_disks_that_zip_itself_made() -> None:
    contents = {f"{i}.bin": random.Random(i).randbytes(50_000) for i in range(2)}
    assert read_all(sorted(SPANNED_BY_ZIP.glob("a.z*"))) == contents


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
    found = {name: bring(name, route, store) for name in names}
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
        (["a.zip.003"], "part of an archive is missing: a.zip.003. Put it beside the others."),
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
        bring("a", archive(settings, store), store)
    paths[4].write_bytes(paths[4].read_bytes()[:700])
    with pytest.raises(UserError, match=r"a\.zip\.005: 700 bytes, but a\.zip\.001 has 1000"):
        archive(settings, store)


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        (["a.z02"], "missing: a.z02. Put it beside the others."),
        (["a.zip"], "missing: a.zip."),
        (["a.z20", "a.z21"], "missing: a.z20, a.z21."),
    ],
)
def test_a_missing_disk_is_named(tmp_path: Path, lost: list[str], message: str) -> None:
    paths = spanned(tmp_path, zipped(tmp_path / "whole", contents_of()), 1000)
    assert len(paths) == 22
    with pytest.raises(UserError) as error:
        gather([path for path in paths if path.name not in lost])
    assert message in str(error.value)


def test_the_last_disk_alone_is_no_zip(tmp_path: Path) -> None:
    paths = spanned(tmp_path, zipped(tmp_path / "whole", contents_of()), 7001)
    with pytest.raises(UserError, match=r"missing: a\.z01, a\.z02, a\.z03"):
        read_all(paths[-1:])


def test_disks_that_were_cut_short_are_named(tmp_path: Path) -> None:
    whole = zipped(tmp_path / "whole", contents_of())
    paths = spanned(tmp_path, whole, 7001)
    paths[0].write_bytes(paths[0].read_bytes()[:800])
    with pytest.raises(UserError, match=r"a\.z01: ends before a member that begins at its byte \d+"):
        read_all(paths)
    paths = spanned(tmp_path, whole, 7001)
    paths[-1].write_bytes(paths[-1].read_bytes()[:-30])
    with pytest.raises(UserError, match=r"a\.zip: not a whole zip"):
        read_all(paths)
    paths = spanned(tmp_path, whole, 300)
    paths[-2].write_bytes(paths[-2].read_bytes()[:-30])
    with pytest.raises(UserError, match=r"a\.zip: the zip's directory is damaged"):
        read_all(paths)


def test_data_cut_out_of_a_disk_is_a_failed_member(tmp_path: Path) -> None:
    """A member whose bytes are not there fails by its checksum; the others are read."""
    paths = spanned(tmp_path, zipped(tmp_path / "whole", contents_of()), 7001)
    paths[1].write_bytes(paths[1].read_bytes()[:-50])
    store = Store(tmp_path / "store")
    route = archive(Archive(kind="archive", path=str(tmp_path / "a.z*"), member="{source_id}"), store)
    assert bring("long_video/5.mp4", route, store).status == "failed"
    assert bring("long_video/2.mp4", route, store).status != "failed"
