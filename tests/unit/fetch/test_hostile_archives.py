"""Archives and folders that are damaged, or made to harm: one row with a reason, and the others are taken."""

import bz2
import lzma
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store
from reprise.fetch.local import archive, folder
from reprise.fetch.outcome import Fetcher
from reprise.fetch.pickles import read_videos
from reprise.fetch.settings import Archive, Folder
from reprise.stages.sources import Wanted, fetch_shard

from tests.unit.limited import run_limited
from tests.unit.videos import barcode_video

HALF_A_GB = 2**29


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return barcode_video(tmp_path_factory.mktemp("video") / "video.mp4", 12).read_bytes()


def outcomes(route: Fetcher, store: Store, *names: str) -> dict[str, str]:
    """The whole shard's ledger: source -> status."""
    ledger = fetch_shard([Wanted(name, name) for name in names], route, store)
    assert ledger.filter((pl.col("status") != "ok") & (pl.col("message") == "")).is_empty()
    return dict(zip(ledger["source_id"], ledger["status"], strict=True))


def archived(path: Path, store: Store, **more: Any) -> Fetcher:
    return archive(Archive.model_validate({"kind": "archive", "path": str(path)} | more), store)


def spoilt(path: Path, content: bytes, method: int) -> Path:
    """A zip of two members, the first of them with wrong bytes in its packed data."""
    with zipfile.ZipFile(path, "w", method) as opened:
        opened.writestr("bad.mp4", content)
        opened.writestr("good.mp4", content)
        start = opened.getinfo("bad.mp4").header_offset + 30 + len("bad.mp4") + 20
    whole = bytearray(path.read_bytes())
    whole[start : start + 400] = b"\xff" * 400
    path.write_bytes(whole)
    return path


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
    ids=["stored", "deflate", "bzip2", "lzma"],
)  # fmt: skip
def test_a_damaged_member_is_one_row(method: int, video: bytes, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    route = archived(spoilt(tmp_path / "a.zip", video * 3, method), store)
    assert outcomes(route, store, "bad", "good") == {"bad": "damaged", "good": "ok"}


def _patched(path: Path, offset: int, value: int) -> None:
    """Set two bytes of the first member's entry in the zip's list of members, and of its own header."""
    content = bytearray(path.read_bytes())
    struct.pack_into("<H", content, content.index(b"PK\1\2") + offset, value)
    struct.pack_into("<H", content, content.index(b"PK\3\4") + offset - 2, value)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("offset", "value"), [(8, 1), (10, 97), (10, 9)], ids=["locked", "unknown-method", "deflate64"]
)
def test_a_member_that_cannot_be_unpacked_is_one_row(offset: int, value: int, video: bytes, tmp_path: Path) -> None:
    path, store = tmp_path / "a.zip", Store(tmp_path / "store")
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("bad.mp4", video)
        opened.writestr("good.mp4", video)
    _patched(path, offset, value)
    assert outcomes(archived(path, store), store, "bad", "good") == {"bad": "damaged", "good": "ok"}


def test_a_zip_bomb_is_one_row_and_fills_no_disk(video: bytes, tmp_path: Path) -> None:
    path, store = tmp_path / "a.zip", Store(tmp_path / "store")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        with opened.open("bad.mp4", "w", force_zip64=True) as member:
            for _ in range(100):
                member.write(bytes(2**20))
        opened.writestr("good.mp4", video)
    route = archived(path, store, max_mb=10)
    assert outcomes(route, store, "bad", "good") == {"bad": "too_large", "good": "ok"}
    assert route.estimate(["bad", "good"]) == len(video)
    assert sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file()) < 1_000_000
    assert outcomes(archived(path, store), store, "bad") == {"bad": "not_media"}, "another limit, another try"


def test_a_member_that_states_less_than_it_holds_is_one_row(video: bytes, tmp_path: Path) -> None:
    path, store = tmp_path / "a.zip", Store(tmp_path / "store")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("bad.mp4", bytes(2**24))
        opened.writestr("good.mp4", video)
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, content.index(b"PK\1\2") + 24, 100)
    path.write_bytes(content)
    assert outcomes(archived(path, store), store, "bad", "good") == {"bad": "damaged", "good": "ok"}


def test_a_list_of_members_too_long_to_hold_is_refused(tmp_path: Path) -> None:
    path, store = tmp_path / "a.zip", Store(tmp_path / "store")
    size = 2**27
    with path.open("wb") as stream:
        stream.truncate(size)
        stream.seek(size)
        stream.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 65535, 65535, size, 0, 0))
    with pytest.raises(UserError, match="not a whole zip.*list of members"):
        outcomes(archived(path, store), store, "a")


def test_empty_archives_and_other_kinds(video: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, kind in (("a.mp4", tarfile.SYMTYPE), ("b.mp4", tarfile.CHRTYPE), ("c.mp4", tarfile.LNKTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            tar.addfile(entry)
    (tmp_path / "nothing.pkl").touch()
    for name, status in (("empty.zip", "missing"), ("a.tar", "failed"), ("nothing.pkl", "failed")):
        store = Store(tmp_path / "store")
        assert outcomes(archived(tmp_path / name, store), store, "a", "b") == {"a": status, "b": status}


def test_a_bad_pickle_beside_a_good_one(video: bytes, tmp_path: Path) -> None:
    (tmp_path / "0.pkl").write_bytes(pickle.dumps({"bad": Path("x")}))
    (tmp_path / "1.pkl").write_bytes(pickle.dumps({"good": video}))
    store = Store(tmp_path / "store")
    found = outcomes(archived(tmp_path / "*.pkl", store), store, "bad", "good")
    assert found == {"bad": "unsafe_pickle", "good": "ok"}


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("count", [0, 1, 5, 2500])
def test_pickles_as_python_writes_them(protocol: int, count: int, tmp_path: Path) -> None:
    shared = os.urandom(70_000)
    wanted = {f"v\u00e9{number}": shared if number % 2 else os.urandom(number % 400) for number in range(count)}
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps(wanted, protocol))
    content = path.read_bytes()
    assert {name: content[at.start : at.start + at.length] for name, at in read_videos(path).items()} == wanted


HEAD = b"\x80\x04}"
PICKLES = {
    "bytes-of-8-EB": HEAD + b"\x8c\x01a\x8e" + struct.pack("<Q", 2**62),
    "bytes-of-4-GB": HEAD + b"\x8c\x01aB" + struct.pack("<I", 2**32 - 1),
    "text-of-4-GB": HEAD + b"X" + struct.pack("<I", 2**32 - 1),
    "bytearray": HEAD + b"\x8c\x01a\x96" + struct.pack("<Q", 2**40),
    "number-of-2-GB": HEAD + b"\x8c\x01a\x8b" + struct.pack("<i", 2**31 - 1),
    "frame": b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"}",
    "memo": b"\x80\x04}r" + struct.pack("<I", 2**32 - 2) + b"0",
    "memo-unknown": b"\x80\x04h\x07.",
    "only-marks": b"\x80\x04" + b"(" * 10_000_000,
    "only-memos": b"\x80\x04}" + b"\x94" * 10_000_000,
    "set-nothing": b"\x80\x04u.",
    "nothing-below": b"\x80\x04s.",
    "no-stack": b"\x80\x04\x94.",
    "odd": HEAD + b"(\x8c\x01au.",
    "no-dict": b"\x80\x04C\x01a.",
    "two-dicts": HEAD + b"}.",
    "global": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
    "old": b"cos\nsystem\n(S'true'\ntR.",
    "persistent": b"\x80\x04Pid\n.",
    "extension": b"\x80\x04\x82\x01.",
    "no-utf8": HEAD + b"\x8c\x01\xffC\x01as.",
    "surrogate": HEAD + b"\x8c\x03\xed\xa0\x80C\x01as.",
    "no-instruction": b"\x80\x04\xff.",
    "no-stop": HEAD,
}


@pytest.mark.parametrize("name", PICKLES)
def test_no_pickle_runs_or_asks_for_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.pkl"
    path.write_bytes(PICKLES[name])
    program = (
        "import sys, pathlib\n"
        "from reprise.fetch.outcome import FetchError\n"
        "from reprise.fetch.pickles import read_videos\n"
        "try:\n    read_videos(pathlib.Path(sys.argv[1]))\n"
        "except FetchError as error:\n    print(error.status)\n"
    )
    done = run_limited(program, path, HALF_A_GB)
    assert done.stdout.strip() in ("unsafe_pickle", "failed", "too_large"), done.stderr


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _unreadable(path: Path) -> None:
    path.symlink_to("/proc/self/mem")


def _socket(path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


@pytest.mark.parametrize(
    "make", [_loop, _unreadable, os.mkfifo, os.mkdir, _socket, lambda path: path.symlink_to("/dev/zero")],
    ids=["loop", "unreadable", "pipe", "folder", "socket", "device"],
)  # fmt: skip
def test_what_is_no_file_is_one_row(
    make: Callable[[Path], None], video: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root, store = tmp_path / "root", Store(tmp_path / "store")
    root.mkdir()
    (root / "good.mp4").write_bytes(video)
    make(root / "bad.mp4")
    found = outcomes(folder(Folder(kind="folder", path=str(root)), store), store, "bad", "good")
    assert found.pop("good") == "ok"
    assert found["bad"] in ("missing", "unreadable", "unsafe_path")


@pytest.mark.parametrize(
    "name", ["n" * 300, "d/" * 3000 + "x", "line\nbreak", "nul\0", "\u202ereversed", " ", "~", "$HOME"]
)
def test_a_name_that_no_file_can_have_is_one_row(name: str, video: bytes, tmp_path: Path) -> None:
    root, store = tmp_path / "root", Store(tmp_path / "store")
    root.mkdir()
    (root / "good.mp4").write_bytes(video)
    found = outcomes(folder(Folder(kind="folder", path=str(root)), store), store, name, "good")
    assert found.pop("good") == "ok"
    assert found[name] in ("missing", "unreadable", "unsafe_path")


def test_a_file_that_may_not_be_read_is_one_row(video: bytes, tmp_path: Path) -> None:
    """As another user, since nothing is closed to root."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "good.mp4").write_bytes(video)
    (root / "bad.mp4").write_bytes(video)
    (root / "bad.mp4").chmod(0)
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from reprise.core.store import Store\n"
        "from reprise.fetch.local import folder\n"
        "from reprise.fetch.settings import Folder\n"
        "from reprise.stages.sources import Wanted, fetch_shard\n"
        "if os.getuid() == 0:\n    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "store = Store(Path('store'))\n"
        "found = fetch_shard([Wanted(n, n) for n in ('bad', 'good')], folder(Folder(kind='folder', path='root'), store), store)\n"
        "print(found['status'].to_list())\n"
    )
    (tmp_path / "store").mkdir()
    for path in (tmp_path, root, tmp_path / "store"):
        path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "['unreadable', 'ok']", done.stderr


def test_errors_of_unpacking_are_those_that_are_expected() -> None:
    """What the standard library raises at damaged data, so that the list in `parts` is not one of guesses."""
    from reprise.fetch.parts import DAMAGED

    for damaged, unpack in ((b"\xff" * 9, zlib.decompress), (b"\xff" * 9, lzma.decompress)):
        with pytest.raises(DAMAGED):
            unpack(damaged)
    with pytest.raises(OSError, match="Invalid data"):
        bz2.decompress(b"\xff" * 9)
