"""Archives, pickles and folders: members by name, in one file or in pieces; what is damaged or made to harm is one row."""

import os
import pickle
import random
import re
import shutil
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.archives import gather, opened_zip, read_videos
from reprise.fetch.local import archive, folder
from reprise.fetch.outcome import Fetcher, FetchError, safe_name
from reprise.fetch.settings import Archive, Folder
from reprise.stages.sources import fetch_source

from tests.unit.fetch.conftest import Statuses
from tests.unit.limited import run_limited

DEFLATED = zipfile.ZIP_DEFLATED


def archived(path: Path, store: Store, **more: Any) -> Fetcher:
    return archive(Archive.model_validate({"kind": "archive", "path": str(path)} | more), store)


def zipped(path: Path, members: dict[str, bytes], method: int = DEFLATED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return path.read_bytes()


def patched(path: Path, entry: int, kind: str, value: int) -> None:
    """Set a number of the first member's entry in the zip's list of members; where its own header has it, there too."""
    content = bytearray(path.read_bytes())
    struct.pack_into(kind, content, content.index(b"PK\1\2") + entry, value)
    if kind == "<H":
        struct.pack_into(kind, content, content.index(b"PK\3\4") + entry - 2, value)
    path.write_bytes(content)


def test_members_of_zips(video: bytes, tmp_path: Path, store: Store, statuses: Statuses) -> None:
    zipped(tmp_path / "one.zip", {"clips/a.mp4": video, "clips/broken.mp4": video[:900], "readme.txt": b"x"})
    zipped(tmp_path / "two.zip", {"clips/b.mp4": video, "../../evil.mp4": video, "/abs.mp4": video})
    route = archived(tmp_path / "*.zip", store, member="clips/{source_id}.mp4")
    found = {"a": "ok", "b": "ok", "broken": "truncated", "c": "missing", "../readme": "unsafe_path"}
    assert statuses(route, *found) == found
    record = fetch_source("a", route, store)
    assert (store.root / record.object).read_bytes() == video and not record.is_transient
    assert route.estimate(["a", "b", "../x"]) == 2 * len(video)
    by_name = archived(tmp_path / "two.zip", store, member="{source_id}")
    assert set(statuses(by_name, "../../evil.mp4", "/abs.mp4").values()) == {"unsafe_path"}
    assert not list(tmp_path.rglob("evil.mp4"))
    zipped(tmp_path / "one.zip", {"clips/broken.mp4": video})
    changed = archived(tmp_path / "*.zip", store, member="clips/{source_id}.mp4")
    assert statuses(changed, "broken") == {"broken": "ok"}, "a changed archive is another source"


def spoilt(path: Path) -> None:
    content = bytearray(path.read_bytes())
    start = content.index(b"bad.mp4") + len("bad.mp4") + 20
    content[start : start + 400] = b"\xff" * 400
    path.write_bytes(content)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_cannot_be_unpacked(method: int, video: bytes, tmp_path: Path, store: Store, statuses: Statuses) -> None:  # fmt: skip
    for at, spoil in enumerate((
        spoilt,
        lambda path: patched(path, 8, "<H", 1),  # locked
        lambda path: patched(path, 10, "<H", 97),  # packed in an unknown way
        lambda path: patched(path, 24, "<I", 100),  # states less than it holds
    )):  # fmt: skip
        path = tmp_path / f"{at}.zip"
        zipped(path, {"bad.mp4": video * 3, "good.mp4": video}, method)
        spoil(path)
        assert statuses(archived(path, store), "bad", "good") == {"bad": "damaged", "good": "ok"}


def test_a_zip_bomb_is_a_row_and_fills_no_disk(video: bytes, tmp_path: Path, store: Store, statuses: Statuses) -> None:
    path = tmp_path / "a.zip"
    zipped(path, {"bad.mp4": bytes(10**7), "good.mp4": video})
    route = archived(path, store, max_mb=1)
    assert statuses(route, "bad", "good") == {"bad": "too_large", "good": "ok"}
    assert route.estimate(["bad", "good"]) == len(video)
    assert sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file()) < 1_000_000
    assert statuses(archived(path, store), "bad") == {"bad": "not_media"}, "another limit, another try"


def test_a_zip_that_is_not_whole_is_the_users_to_mend(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(path, {"a.mp4": os.urandom(5000)})[:2000])
    with pytest.raises(UserError, match="not a whole zip"):
        fetch_source("a", archived(path, store), store)
    size = 2**27  # of the list of its members
    with path.open("wb") as stream:
        stream.truncate(size)
        stream.seek(size)
        stream.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 65535, 65535, size, 0, 0))
    with pytest.raises(UserError, match="not a whole zip.*list of members"):
        fetch_source("a", archived(path, store), store)


# Members of many sizes; the larger ones do not compress, so that they reach over several parts.
SIZES = (0, 1, 900, 5000, 20, 12_000, 3000)
CONTENTS = {f"long_video/{i}.mp4": random.Random(i).randbytes(size) for i, size in enumerate(SIZES)}


def cut(content: bytes, size: int, folder: Path, naming: str = "a.zip.001") -> list[Path]:
    """What `split -b` does."""
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    paths = [folder / name for name in NAMINGS[naming][: len(pieces)]]
    for path, piece in zip(paths, pieces, strict=True):
        path.write_bytes(piece)
    return paths


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
def test_pieces_of_a_zip(tmp_path: Path, naming: str) -> None:
    whole = zipped(tmp_path / "whole", CONTENTS)
    for size in (300, 1000, 7001, 10**6):
        assert read_all(cut(whole, size, tmp_path, naming)[::-1]) == CONTENTS, "in whatever order they are found"


def test_videos_from_whole_zips_and_from_pieces(video: bytes, tmp_path: Path, store: Store, statuses: Statuses) -> None:
    """TemporalBench's release: one zip of short videos, the long ones' in pieces; no joined copy is written."""
    zipped(tmp_path / "short_video.zip", {"short_video/a.mp4": video})

    def route(more: bytes) -> Fetcher:
        whole = zipped(tmp_path / "whole", {"long_video/b.mp4": video + more, "long_video/c.mp4": video[:900]})
        cut(whole, len(whole) // 5 + 1, tmp_path, "long_video_part_aa")
        return archived(tmp_path / "*_video[._]*", store, member="{source_id}")

    found = {"short_video/a.mp4": "ok", "long_video/b.mp4": "ok", "long_video/c.mp4": "truncated", "d": "missing"}
    before = route(b"")
    assert statuses(before, *found) == found
    assert (store.root / fetch_source("long_video/b.mp4", before, store).object).read_bytes() == video
    lost = fetch_source("d", before, store).message
    assert "in short_video.zip, long_video_part_aa ... long_video_part_ae" in lost
    assert before.estimate(["short_video/a.mp4", "long_video/b.mp4"]) == 2 * len(video)
    identity = before.identity("long_video/b.mp4")
    assert route(b"x").identity("long_video/b.mp4") != identity, "a changed piece makes other sources"


@pytest.mark.parametrize(("naming", "size", "lost", "message"), [
    ("a.zip.001", 1000, ["a.zip.003"], "part of an archive is missing: a.zip.003. Put it into the folder of the others."),
    ("a.zip.001", 1000, ["a.zip.001", "a.zip.002"], "missing: a.zip.001, a.zip.002."),
    ("a.zip.001", 1000, [f"a.zip.{i:03}" for i in range(1, 9)], "a.zip.003, a.zip.004, a.zip.005 and 3 more."),
    ("long_video_part_aa", 600, ["long_video_part_az"], "missing: long_video_part_az"),
])  # fmt: skip
def test_a_missing_piece_is_named(tmp_path: Path, naming: str, size: int, lost: list[str], message: str) -> None:
    paths = cut(zipped(tmp_path / "whole", CONTENTS), size, tmp_path, naming)
    with pytest.raises(UserError) as error:
        gather([path for path in paths if path.name not in lost])
    assert message in str(error.value)


def test_a_lost_last_piece_and_a_piece_cut_short(tmp_path: Path, store: Store) -> None:
    paths = cut(zipped(tmp_path / "whole", CONTENTS), 1000, tmp_path)
    paths[-1].unlink()
    with pytest.raises(UserError, match=rf"{paths[-2].name}: not a whole zip"):
        fetch_source("a", archived(tmp_path / "a.zip.*", store), store)
    paths[4].write_bytes(paths[4].read_bytes()[:700])
    with pytest.raises(UserError, match=r"a\.zip\.005: 700 bytes, but a\.zip\.001 has 1000"):
        archived(tmp_path / "a.zip.*", store)


def test_a_spanned_zip_must_be_joined_first(tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", {"a.mp4": b"video"})
    patched(tmp_path / "a.zip", 34, "<H", 1)  # its members are on another disk
    with pytest.raises(UserError, match=r"a\.zip: part of a spanned zip"):
        read_all([tmp_path / "a.zip"])
    for name in ("a.z01", "a.z100"):
        (tmp_path / name).write_bytes(b"PK")
    for names in (["a.z01", "a.zip"], ["a.z01"], ["a.zip"], ["a.z100"]):
        with pytest.raises(UserError, match=r"a\.z\w+: part of a spanned zip.* zip -s 0 a\.zip --out whole\.zip"):
            gather([tmp_path / name for name in names])


@pytest.fixture
def root(tmp_path: Path, video: bytes) -> Path:
    found = tmp_path / "root"
    found.mkdir()
    (found / "good.mp4").write_bytes(video)
    (found / "good.vtt").write_text("WEBVTT\n")
    return found


def of_folder(root: Path, store: Store, pattern: str = "{source_id}.mp4") -> Fetcher:
    return folder(Folder(kind="folder", path=str(root), pattern=pattern), store)


@pytest.mark.parametrize(
    ("make", "status"),
    [(lambda path: path.symlink_to(path), "missing"), (lambda path: path.symlink_to("/proc/self/mem"), "unsafe_path"),
     (lambda path: path.symlink_to("/dev/zero"), "unsafe_path"), (os.mkfifo, "missing"), (os.mkdir, "missing")],
    ids=["loop", "out of the folder", "device", "pipe", "folder"],
)  # fmt: skip
def test_what_is_no_file_is_one_row(make: Callable[[Path], None], status: str, root: Path, store: Store, statuses: Statuses) -> None:  # fmt: skip
    make(root / "bad.mp4")
    found = statuses(of_folder(root, store), "bad", "good")
    assert (store.root / fetch_source("good", of_folder(root, store), store).object).with_suffix(".vtt").is_file()
    assert found["good"] == "ok" and found["bad"] in (status, "unreadable", "unsafe_path")


def test_a_name_that_no_file_can_have_is_one_row(root: Path, store: Store, statuses: Statuses) -> None:
    names = ["n" * 300, "d/" * 3000 + "x", "line\nbreak", "nul\0", "\u202ereversed", " ", "~", "$HOME"]
    found = statuses(of_folder(root, store), *names, "good")
    assert found.pop("good") == "ok"
    assert set(found.values()) <= {"missing", "unreadable", "unsafe_path"} and len(found) == len(names)
    for name in ("", "..", "../x", "/x", "a/../../x", "a\\..\\x", "x\0y"):
        with pytest.raises(FetchError) as caught:
            safe_name("{source_id}", name)
        assert caught.value.status == "unsafe_path"


def test_a_pattern_takes_every_format(root: Path, store: Store, tmp_path: Path) -> None:
    for name in ("cat.MP4", "cat.vtt", "cat.txt", "Cat.mp4", "cat.b.mp4", "two.mp4", "two.mov"):
        shutil.copy(root / "good.mp4", root / name)
    route = of_folder(root, store, "{source_id}.*")
    assert route.fetch("cat", tmp_path).path == root / "cat.MP4"
    for name, words in (
        ("two", "2 videos fit 'two.*': two.mov, two.mp4 in the folder"),
        ("none", "no video 'none.*' in the folder"),
        ("../cat", "leaves its folder"),
    ):
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


def test_videos_of_pickles(video: bytes, tmp_path: Path, store: Store, statuses: Statuses) -> None:
    (tmp_path / "0.pkl").write_bytes(pickle.dumps({"bad": Path("x")}))
    (tmp_path / "1.pkl").write_bytes(pickle.dumps({"a": video, "../b": video, "large": bytes(90_000)}))
    route = archive(Archive(kind="archive", path=str(tmp_path / "*.pkl"), max_mb=0.08), store)
    found = statuses(route, "a", "../b", "c", "large")
    assert found == {"a": "ok", "../b": "unsafe_path", "c": "unsafe_pickle", "large": "too_large"}
    assert (store.root / fetch_source("a", route, store).object).read_bytes() == video
    assert route.estimate(["a", "c", "large"]) == len(video)
    (tmp_path / "0.pkl").unlink()
    route = archive(Archive(kind="archive", path=str(tmp_path / "*.pkl")), store)
    assert statuses(route, "c") == {"c": "missing"}
    assert not list(tmp_path.glob("*.mp4"))


class _Runs:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/never",)


@pytest.mark.parametrize(
    "value",
    [{"a": _Runs()}, {"a": Path("x")}, [b"x"], {"a": "text"}, {1: b"x"}, {"a": {"b": b"x"}}, {"a": bytearray(b"x")},
     {"n" * 5000: b"x"}],
    ids=["runs", "object", "list", "text", "number", "nested", "bytearray", "long name"],
)  # fmt: skip
def test_anything_but_names_and_bytes_is_refused(value: object, tmp_path: Path) -> None:
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps(value))
    with pytest.raises(FetchError) as caught:
        read_videos(tmp_path / "evil.pkl")
    assert caught.value.status == "unsafe_pickle"


def eight(number: int) -> bytes:
    return struct.pack("<Q", number)


HEAD = b"\x80\x04}"
PICKLES = {
    "half": pickle.dumps({"a": bytes(10_000)})[:5000],
    "bytes of 8 EB": HEAD + b"\x8c\x01a\x8e" + eight(2**62),
    "bytes of 4 GB": HEAD + b"\x8c\x01aB" + struct.pack("<I", 2**32 - 1),
    "number of 2 GB": HEAD + b"\x8c\x01a\x8b" + struct.pack("<i", 2**31 - 1),
    "frame": b"\x80\x04\x95" + eight(2**62) + b"}",
    "memo": b"\x80\x04}r" + struct.pack("<I", 2**32 - 2) + b"0",
    "only marks": b"\x80\x04" + b"(" * 1_000_000,
    "only memos": b"\x80\x04}" + b"\x94" * 1_000_000,
    "nothing below": b"\x80\x04s.",
    "odd": HEAD + b"(\x8c\x01au.",
    "two dicts": HEAD + b"}.",
    "global": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
    "persistent": b"\x80\x04Pid\n.",
    "surrogate": HEAD + b"\x8c\x03\xed\xa0\x80C\x01as.",
    "no instruction": b"\x80\x04\xff.",
}
PROGRAM = """
import pathlib, sys
from reprise.fetch.outcome import FetchError
from reprise.fetch.archives import read_videos
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        read_videos(path)
    except FetchError as error:
        print(path.name, error.status, sep=":")
"""


def test_no_pickle_runs_or_asks_for_memory(tmp_path: Path) -> None:
    for name, content in PICKLES.items():
        (tmp_path / name).write_bytes(content)
    done = run_limited(PROGRAM, tmp_path, 2**29)
    found = dict(line.split(":") for line in done.stdout.splitlines())
    assert found.keys() == PICKLES.keys(), done.stderr
    assert set(found.values()) <= {"unsafe_pickle", "failed", "too_large"}
