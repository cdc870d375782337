"""Test the store: concurrent writers, several users, pruning, and temporary files."""

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
from reprise.core.store import Store, open_job_store, read_lines
from reprise.fetch.records import forget_failures
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path

from tests.unit.core.programs import python, write


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", ".", "", "link/x"])
def test_a_name_or_link_outside_the_folder_is_rejected(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path)
    assert resolve_inside(tmp_path / "in", name) is None
    assert resolve_inside(tmp_path / "in", "plain/x") is not None


def test_temporary_files_of_ended_jobs_are_deleted(tmp_path: Path) -> None:
    store, host = Store(tmp_path), socket.gethostname()
    ended_pid = python("import os; print(os.getpid())").stdout.strip()
    write(tmp_path / f"tmp/reprise.{host}.{ended_pid}.a.mp4")
    write(tmp_path / f"tmp/reprise.{host}.{ended_pid}.folder/inside")
    videos = write(tmp_path / "videos/a.mp4").parent
    (tmp_path / f"tmp/reprise.{host}.{ended_pid}.link").symlink_to(videos)
    other_machine_file = write(tmp_path / f"tmp/reprise.{host}-2.1.old.mp4")
    os.utime(other_machine_file, (0, 0))
    # Files of a running job, of another machine, and of a machine whose name begins with this one's name.
    kept_files = [
        store.scratch_path("mine"),
        tmp_path / f"tmp/reprise.{host}-2.1.young",
        tmp_path / f"tmp/reprise.{host}.lan.1.young",
    ]
    for path in kept_files:
        write(path)
    # A user's files in a folder that became the store by mistake.
    for name in ("thesis.tex", "holiday.2023.mp4", f"{host}.log"):
        kept_files.append(write(tmp_path / "tmp" / name))
        os.utime(kept_files[-1], (0, 0))
    store.delete_stale_temporaries()
    assert sorted((tmp_path / "tmp").iterdir()) == sorted(kept_files)
    assert [path.name for path in videos.iterdir()] == ["a.mp4"]


def test_a_file_is_hashed_once_until_the_file_or_its_record_changes(tmp_path: Path) -> None:
    weights, root = write(tmp_path / "model.safetensors", b"a" * 1000), tmp_path / "store"
    assert Store(root).digest(weights) == file_digest(weights)
    log = root / "digests.jsonl"
    first_log = log.read_text()
    assert Store(root).digest(weights) == file_digest(weights) and log.read_text() == first_log
    weights.write_bytes(b"b" * 1001)
    assert Store(root).digest(weights) == file_digest(weights) and log.read_text() != first_log
    log.write_text(log.read_text().replace(file_digest(weights)[:8], "00000000"))
    assert Store(root).digest(weights) == file_digest(weights), "a damaged record is ignored"


def test_prune_keeps_objects_of_manifests_responses_and_live_work(tmp_path: Path) -> None:
    store = Store(tmp_path)
    a, b, c, d = ("aa" * 32, "bb" * 32, "cc" * 32, "dd" * 32)
    for kind, name in (("clips", a), ("clips", b), ("sources", c), ("response_cache", d)):
        write(store.path(kind, name, ".x"), b"12345")
    write(store.path("sources", c, ".json"))
    half_written = write(store.path("clips", b, ".x").with_name(f".{b}.1234567.tmp.json"), b"123")
    scratch_file = write(store.scratch_path("mine.mp4"))
    assert store.count_files_and_bytes() == {"clips": (3, 13), "sources": (2, 5), "response_cache": (1, 5)}
    unused = store.find_unused([f"clips/aa/{a}.x", ""])  # the row of a failed clip names no object
    assert set(unused) == {store.path("clips", b, ".x"), half_written, store.path("sources", c, ".x")}
    with pytest.raises(ValueError, match="not marked"):
        store.delete(unused)
    store.mark()
    assert store.delete(unused) == 13
    remaining = sorted(path.name for path in tmp_path.rglob("*.*") if path != scratch_file)
    assert remaining == [f"{a}.x", f"{c}.json", f"{d}.x", "reprise-store.json"]
    assert scratch_file.exists()


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
    user_files = [write(tmp_path / name) for name in (*names, f"clips/ab/{digest[:-1]}.mp4", "sources/a/b/c.mkv")]
    logs = [write(tmp_path / name, b'{"mine": 1}\n') for name in ("notes.jsonl", "response_cache/notes.jsonl")]
    assert list(store.objects("clips", "sources")) == store.find_unused([]) == []
    assert forget_failures(store) == 0 and list(store.repair_logs()) == []
    assert all(path.is_file() for path in user_files) and all(path.read_bytes() == b'{"mine": 1}\n' for path in logs)


WRITER_COUNT, LINE_COUNT, OBJECT_COUNT = 3, 60, 12
# A job that adds objects and responses to the store together with others.
WRITER_PROGRAM = """\
import os, sys, time
from pathlib import Path
from reprise.fetch.records import forget_failures
from reprise.core.store import Store, append_lines
from reprise.models.base import Answer
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path, lock_response_cache
from reprise.models.inference.partitions import Partition

store, (writer, writer_count, line_count, object_count) = Store(Path(sys.argv[1])), map(int, sys.argv[2:])
os.umask(0o002)
store.mark()
while not (store.root / "go").exists():
    time.sleep(0.005)
for number in range(object_count):
    digest = f"{number % 4:02x}" * 32
    with store.lock_exclusively(digest):
        if store.read_object_record(store.path("clips", digest, ".mp4")) is None:
            scratch = store.scratch_path(f"{digest}.mp4")
            scratch.write_bytes(digest.encode() * 5000)
            store.record_object(store.add_file(scratch, "clips", digest, ".mp4"))
            append_lines(store.root / "made.jsonl", f'["{digest}",{writer}]', should_sync=False)
with lock_response_cache(store, "cd" * 32, Partition(writer + 1, writer_count)):
    cache = ResponseCache(get_response_cache_path(store, "cd" * 32))
    for number in range(line_count):
        cache.add(f"{writer}-{number}", Answer(text=f"{writer} {number} " + "x" * (number * 37 % 3000)), 0.5)
    cache.sync()
store.delete_stale_temporaries()
"""


def start_writer(store: Path, *numbers: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", WRITER_PROGRAM, str(store), *map(str, numbers)])


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.root.mkdir()
    jobs = [start_writer(store.root, writer, WRITER_COUNT, LINE_COUNT, OBJECT_COUNT) for writer in range(WRITER_COUNT)]
    (store.root / "go").touch()
    assert [start_writer.wait(timeout=300) for start_writer in jobs] == [0] * WRITER_COUNT
    cache = ResponseCache(get_response_cache_path(store, "cd" * 32))
    for writer in range(WRITER_COUNT):
        for number in range(LINE_COUNT):
            answer = cache.get(f"{writer}-{number}")
            assert answer is not None and answer.text == f"{writer} {number} " + "x" * (number * 37 % 3000)
    objects_by_digest = Counter(str(row[0]) for row in read_lines(store.root / "made.jsonl"))
    assert len(objects_by_digest) == 4 and set(objects_by_digest.values()) == {1}, "each object is written once"
    assert not list((store.root / "tmp").iterdir())
    assert list(store.repair_logs()) == []


def test_all_users_of_a_shared_store_can_write(tmp_path: Path) -> None:
    """Only root can act as two users, so the modes are checked."""
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o2775)
    (store / "go").touch(0o664)
    for object_count, user in enumerate((0, 1, 0), start=1):
        assert start_writer(store, user, 2, 1, object_count).wait(timeout=300) == 0
    assert [row[1] for row in read_lines(store / "made.jsonl")] == [0, 1, 0], (
        "each user adds objects to the folders of the other"
    )
    assert all(path.stat().st_mode & 0o060 == 0o060 for path in store.rglob("*") if path.name != "go")


def disable_locks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a file system without locks."""
    flock = fcntl.flock

    def reject_locks(file: Any, operation: int) -> None:
        descriptor = file if isinstance(file, int) else file.fileno()
        if Path(f"/proc/self/fd/{descriptor}").readlink().is_relative_to(folder):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        flock(file, operation)

    monkeypatch.setattr("fcntl.flock", reject_locks)


def test_a_file_system_without_locks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disable_locks(tmp_path, monkeypatch)
    message = (
        r"the file system does not support locks .* Set `store:` in config/config.yaml to a folder on a file system"
    )
    with pytest.raises(UserError, match=message), Store(tmp_path).lock_exclusively("ab" * 32):
        pass


# --- scratch folder --------------------------------------------------------------------------------------------------


def test_temporary_files_are_in_the_scratch_folder_of_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_SCRATCH", str(tmp_path / "node"))
    store = tmp_path / "store"
    folder = open_job_store(store, "$NODE_SCRATCH/${NODE_SCRATCH}").scratch_path("x").parent
    assert folder.is_relative_to(tmp_path / "node") and folder.name == f"reprise-{os.getuid()}"
    assert open_job_store(store, "").scratch_path("x").parent == store / "tmp"
    monkeypatch.delenv("NODE_SCRATCH")
    with pytest.raises(UserError, match=r"^scratch .* on .*: '\$NODE_SCRATCH': the variable \$NODE_SCRATCH is not set"):
        open_job_store(store, "$NODE_SCRATCH")


def test_a_file_from_another_file_system_is_added_atomically(tmp_path: Path) -> None:
    """The file appears in the store only by a rename within the store's file system."""
    with TemporaryDirectory(dir="/dev/shm") as scratch_folder:
        assert Path(scratch_folder).stat().st_dev != tmp_path.stat().st_dev, "a second file system"
        store = Store(tmp_path, Path(scratch_folder))
        scratch = store.scratch_path("x.mp4")
        scratch.write_bytes(b"frames" * 1000)
        stored = store.add_file(scratch, "clips", "ab" * 32, ".mp4")
        assert stored.read_bytes() == b"frames" * 1000 and not list((tmp_path / "tmp").iterdir())
        (Path(scratch_folder) / f"reprise.{os.uname().nodename}.999999999.left").touch()
        store.delete_stale_temporaries()
        assert not list(Path(scratch_folder).iterdir()), "files of a killed job are removed from the scratch folder"
