"""The store: several writers, what two users share, and work in progress."""

import errno
import fcntl
import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from reprise.core.errors import UserError
from reprise.core.files import file_digest, resolve_inside
from reprise.core.store import Store, read_lines, store_on_node
from reprise.fetch.records import forget_failures
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path

from tests.unit.core.programs import python, write


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", ".", "", "link/x"])
def test_a_name_or_a_link_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path)
    assert resolve_inside(tmp_path / "in", name) is None
    assert resolve_inside(tmp_path / "in", "plain/x") is not None


def test_work_in_progress_of_ended_jobs_is_deleted(tmp_path: Path) -> None:
    store, host = Store(tmp_path), socket.gethostname()
    ended = python("import os; print(os.getpid())").stdout.strip()
    write(tmp_path / f"tmp/reprise.{host}.{ended}.a.mp4")
    write(tmp_path / f"tmp/reprise.{host}.{ended}.folder/inside")
    videos = write(tmp_path / "videos/a.mp4").parent
    (tmp_path / f"tmp/reprise.{host}.{ended}.link").symlink_to(videos)
    of_another = write(tmp_path / f"tmp/reprise.{host}-2.1.old.mp4")
    os.utime(of_another, (0, 0))
    # Of a job that runs, of another machine, of one whose name begins alike.
    kept = [
        store.scratch("mine"),
        tmp_path / f"tmp/reprise.{host}-2.1.young",
        tmp_path / f"tmp/reprise.{host}.lan.1.young",
    ]
    for path in kept:
        write(path)
    # A user's own, in a folder that is the store by mistake.
    for name in ("thesis.tex", "holiday.2023.mp4", f"{host}.log"):
        kept.append(write(tmp_path / "tmp" / name))
        os.utime(kept[-1], (0, 0))
    store.delete_stale_temporaries()
    assert sorted((tmp_path / "tmp").iterdir()) == sorted(kept)
    assert [path.name for path in videos.iterdir()] == ["a.mp4"]


def test_a_file_is_hashed_once_until_it_or_the_record_of_its_digest_changes(tmp_path: Path) -> None:
    weights, root = write(tmp_path / "model.safetensors", b"a" * 1000), tmp_path / "store"
    assert Store(root).digest(weights) == file_digest(weights)
    log = root / "digests.jsonl"
    once = log.read_text()
    assert Store(root).digest(weights) == file_digest(weights) and log.read_text() == once
    weights.write_bytes(b"b" * 1001)
    assert Store(root).digest(weights) == file_digest(weights) and log.read_text() != once
    log.write_text(log.read_text().replace(file_digest(weights)[:8], "00000000"))
    assert Store(root).digest(weights) == file_digest(weights), "a damaged record is none"


def test_prune_keeps_objects_of_manifests_responses_and_live_work(tmp_path: Path) -> None:
    store = Store(tmp_path)
    a, b, c, d = ("aa" * 32, "bb" * 32, "cc" * 32, "dd" * 32)
    for kind, name in (("clips", a), ("clips", b), ("sources", c), ("response_cache", d)):
        write(store.path(kind, name, ".x"), b"12345")
    write(store.path("sources", c, ".json"))
    half_written = write(store.path("clips", b, ".x").with_name(f".{b}.1234567.tmp.json"), b"123")
    mine = write(store.scratch("mine.mp4"))
    assert store.sizes() == {"clips": (3, 13), "sources": (2, 5), "response_cache": (1, 5)}
    unused = store.find_unused([f"clips/aa/{a}.x", ""])  # the row of a failure names no object
    assert set(unused) == {store.path("clips", b, ".x"), half_written, store.path("sources", c, ".x")}
    with pytest.raises(ValueError, match="not marked"):
        store.delete(unused)
    store.mark()
    assert store.delete(unused) == 13
    left = sorted(path.name for path in tmp_path.rglob("*.*") if path != mine)
    assert left == [f"{a}.x", f"{c}.json", f"{d}.x", "reprise-store.json"]
    assert mine.exists()


def test_files_of_a_user_in_the_store_are_not_objects(tmp_path: Path) -> None:
    store, digest = Store(tmp_path), "ab" * 32
    store.mark()
    names = (
        "clips/mine.mp4",
        "clips/ab/mine.mp4",
        f"clips/{digest}.mp4",
        f"clips/cd/{digest}.mp4",
        "sources/ab/ab.json",
    )
    own = [write(tmp_path / name) for name in (*names, f"clips/ab/{digest[:-1]}.mp4", "sources/a/b/c.mkv")]
    logs = [write(tmp_path / name, b'{"mine": 1}\n') for name in ("notes.jsonl", "response_cache/notes.jsonl")]
    assert list(store.objects("clips", "sources")) == store.find_unused([]) == []
    assert forget_failures(store) == 0 and list(store.repair()) == []
    assert all(path.is_file() for path in own) and all(path.read_bytes() == b'{"mine": 1}\n' for path in logs)


WRITERS, LINES, OBJECTS = 3, 60, 12
# A job of one of several working directories.
WRITE = """\
import os, sys, time
from pathlib import Path
from reprise.fetch.records import forget_failures
from reprise.core.store import Store, append_line
from reprise.models.base import Answer
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path, lock_response_cache
from reprise.models.inference.partitions import Partition

store, (who, count, lines, objects) = Store(Path(sys.argv[1])), map(int, sys.argv[2:])
os.umask(0o002)
store.mark()
while not (store.root / "go").exists():
    time.sleep(0.005)
for number in range(objects):
    digest = f"{number % 4:02x}" * 32
    with store.lock_exclusively(digest):
        if store.read_object_record(store.path("clips", digest, ".mp4")) is None:
            scratch = store.scratch(f"{digest}.mp4")
            scratch.write_bytes(digest.encode() * 5000)
            store.record_object(store.keep_file(scratch, "clips", digest, ".mp4"))
            append_line(store.root / "made.jsonl", f'["{digest}",{who}]', to_disk=False)
with lock_response_cache(store, "cd" * 32, Partition(who + 1, count)):
    cache = ResponseCache(get_response_cache_path(store, "cd" * 32))
    for number in range(lines):
        cache.add(f"{who}-{number}", Answer(text=f"{who} {number} " + "x" * (number * 37 % 3000)), 0.5)
    cache.sync()
store.delete_stale_temporaries()
"""


def job(store: Path, *numbers: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", WRITE, str(store), *map(str, numbers)])


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.root.mkdir()
    jobs = [job(store.root, who, WRITERS, LINES, OBJECTS) for who in range(WRITERS)]
    (store.root / "go").touch()
    assert [job.wait(timeout=300) for job in jobs] == [0] * WRITERS
    cache = ResponseCache(get_response_cache_path(store, "cd" * 32))
    for who in range(WRITERS):
        for number in range(LINES):
            answer = cache.get(f"{who}-{number}")
            assert answer is not None and answer.text == f"{who} {number} " + "x" * (number * 37 % 3000)
    made = Counter(str(row[0]) for row in read_lines(store.root / "made.jsonl"))
    assert len(made) == 4 and set(made.values()) == {1}, "each object is made once"
    assert not list((store.root / "tmp").iterdir())
    assert list(store.repair()) == []


def test_all_users_of_a_shared_store_can_write(tmp_path: Path) -> None:
    """Only root can act as two users, so the modes are checked."""
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o2775)
    (store / "go").touch(0o664)
    for objects, who in enumerate((0, 1, 0), start=1):
        assert job(store, who, 2, 1, objects).wait(timeout=300) == 0
    assert [row[1] for row in read_lines(store / "made.jsonl")] == [0, 1, 0], "each adds to the objects of the other"
    assert all(path.stat().st_mode & 0o060 == 0o060 for path in store.rglob("*") if path.name != "go")


def no_locks_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks, as the operating system says it."""
    flock = fcntl.flock

    def refused(file: Any, operation: int) -> None:
        number = file if isinstance(file, int) else file.fileno()
        if Path(f"/proc/self/fd/{number}").readlink().is_relative_to(folder):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        flock(file, operation)

    monkeypatch.setattr("fcntl.flock", refused)


def test_a_file_system_without_locks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_locks_in(tmp_path, monkeypatch)
    words = r"the file system does not support locks .* Set `store:` in config/config.yaml to a folder on a file system"
    with pytest.raises(UserError, match=words), Store(tmp_path).lock_exclusively("ab" * 32):
        pass


# Work in progress


def test_work_in_progress_is_in_the_folder_of_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBS_OWN", str(tmp_path / "node"))
    store = tmp_path / "store"
    folder = store_on_node(store, "$JOBS_OWN/${JOBS_OWN}").scratch("x").parent
    assert folder.is_relative_to(tmp_path / "node") and folder.name == f"reprise-{os.getuid()}"
    assert store_on_node(store, "").scratch("x").parent == store / "tmp"
    monkeypatch.delenv("JOBS_OWN")
    with pytest.raises(UserError, match=r"^scratch .* on .*: '\$JOBS_OWN': the variable \$JOBS_OWN is not set"):
        store_on_node(store, "$JOBS_OWN")


def test_a_file_from_another_disk_is_kept_whole(tmp_path: Path) -> None:
    """The store's own file system sees it by a rename alone."""
    with TemporaryDirectory(dir="/dev/shm") as other:
        assert Path(other).stat().st_dev != tmp_path.stat().st_dev, "a second file system"
        store = Store(tmp_path, Path(other))
        scratch = store.scratch("x.mp4")
        scratch.write_bytes(b"frames" * 1000)
        kept = store.keep_file(scratch, "clips", "ab" * 32, ".mp4")
        assert kept.read_bytes() == b"frames" * 1000 and not list((tmp_path / "tmp").iterdir())
        (Path(other) / f"reprise.{os.uname().nodename}.999999999.left").touch()
        store.delete_stale_temporaries()
        assert not list(Path(other).iterdir()), "what a killed job left there is removed"
