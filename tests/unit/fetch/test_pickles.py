"""Pickles of videos: read where they are, and nothing that is made to harm runs or asks for memory."""

import os
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest
from reprise.core.store import Store
from reprise.fetch.archives import read_videos
from reprise.fetch.local import archive
from reprise.fetch.outcome import FetchError
from reprise.fetch.settings import Archive
from reprise.stages.sources import fetch_source

from tests.unit.fetch.conftest import Statuses
from tests.unit.limited import run_limited


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
