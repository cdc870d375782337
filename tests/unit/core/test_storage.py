"""Several writers on one store, with its own locks and with locks elsewhere; work in progress on another disk."""

import errno
import fcntl
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from reprise.core.clones import register
from reprise.core.errors import UserError
from reprise.core.locks import HOLDING, put_locks
from reprise.core.store import Store, append_line, read_lines, store_on_node
from reprise.models.asking.journal import Journal, journal_path

WRITERS, LINES, OBJECTS = 3, 60, 12
WRITE = """\
import os, sys, time
from pathlib import Path
from reprise.core.store import Store, append_line
from reprise.models.base import Answer
from reprise.models.asking.journal import Journal, asking_alone, journal_path
from reprise.models.asking.pieces import Piece
store, who, count, lines, objects = Store(Path(sys.argv[1])), int(sys.argv[2]), *map(int, sys.argv[3:6])
while not (store.root / "go").exists():
    time.sleep(0.005)
for number in range(objects):
    digest = f"{number % 4:02x}" * 32
    with store.alone(digest):
        if store.remembered(store.path("clips", digest, ".mp4")) is None:
            scratch = store.scratch(f"{digest}.mp4")
            scratch.write_bytes(digest.encode() * 5000)
            store.remember(store.keep_file(scratch, "clips", digest, ".mp4"))
            append_line(store.root / "made.jsonl", f'["{digest}",{who}]', to_disk=False)
with asking_alone(store, "cd" * 32, Piece(who + 1, count)):
    journal = Journal(journal_path(store, "cd" * 32))
    for number in range(lines):
        journal.add(f"{who}-{number}", Answer(text=f"{who} {number} " + "x" * (number * 37 % 3000)), 0.5)
    journal.sync()
"""


@pytest.mark.parametrize("locks", ["own", "elsewhere"])
def test_several_writers_lose_and_tear_nothing(tmp_path: Path, locks: str) -> None:
    store = Store(tmp_path / "store")
    if locks == "elsewhere":
        put_locks(store.root, str(tmp_path / "elsewhere"))
    arguments = [str(WRITERS), str(LINES), str(OBJECTS)]
    jobs = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(store.root), str(who), *arguments]) for who in range(WRITERS)
    ]
    store.root.mkdir(exist_ok=True)
    (store.root / "go").touch()
    assert [job.wait(timeout=300) for job in jobs] == [0] * WRITERS
    rows = list(read_lines(journal_path(store, "cd" * 32)))
    assert Counter(str(row[0]) for row in rows) == Counter(f"{w}-{n}" for w in range(WRITERS) for n in range(LINES))
    journal = Journal(journal_path(store, "cd" * 32))
    for who in range(WRITERS):
        for number in range(LINES):
            answer = journal.get(f"{who}-{number}")
            assert answer is not None and answer.text == f"{who} {number} " + "x" * (number * 37 % 3000)
    made = Counter(str(row[0]) for row in read_lines(store.root / "made.jsonl"))
    assert len(made) == 4 and set(made.values()) == {1}, "each object is made once"
    assert all(store.remembered(store.path("clips", digest, ".mp4")) for digest in made)
    assert not list((store.root / "tmp").iterdir())
    assert list(store.repair()) == []


def no_locks_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks, as the operating system says it."""
    flock = fcntl.flock

    def refused(file: Any, operation: int) -> None:
        number = file if isinstance(file, int) else file.fileno()
        if Path(f"/proc/self/fd/{number}").readlink().is_relative_to(folder):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        flock(file, operation)

    monkeypatch.setattr("fcntl.flock", refused)


@pytest.mark.parametrize("without", ["store", "clone"])
def test_a_file_system_without_locks_is_named(without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_locks_in(tmp_path / without, monkeypatch)
    with pytest.raises(
        UserError, match=rf"/{without}/\S+: the file system has no locks .* `locks:` there may name a folder"
    ):
        register(Store(tmp_path / "store"), tmp_path / "clone")


def test_locks_elsewhere_serve_a_store_that_can_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "store")
    no_locks_in(store.root, monkeypatch)
    put_locks(store.root, str(tmp_path / "elsewhere"))
    register(store, tmp_path / "clone")
    append_line(store.root / "digests.jsonl", "[1]")
    append_line(store.path("journal", "ab" * 32, ".jsonl"), "[2]")
    with store.alone("ab" * 32):
        assert list(read_lines(store.root / "digests.jsonl")) == [[1]]


def test_all_that_use_a_store_must_agree_on_its_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    monkeypatch.setenv("PLACE", str(tmp_path / "elsewhere"))
    put_locks(store, "$PLACE")
    put_locks(store, str(tmp_path / "elsewhere"))
    put_locks(store, None)
    assert all((store / name).resolve() == tmp_path / "elsewhere" / name for name in HOLDING)
    with pytest.raises(UserError, match=r"locks lie in .*elsewhere, not in .*other .* all that use a store must agree"):
        put_locks(store, str(tmp_path / "other"))


def test_locks_in_use_are_not_moved(tmp_path: Path) -> None:
    with (
        Store(tmp_path).alone("ab" * 32),
        pytest.raises(UserError, match="End all that use the store, delete the folder"),
    ):
        put_locks(tmp_path, str(tmp_path / "elsewhere"))


# Work in progress


def test_work_in_progress_lies_where_the_node_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBS_OWN", str(tmp_path / "node"))
    store = tmp_path / "store"
    folder = store_on_node(store, ["$JOBS_OWN/${JOBS_OWN}"]).scratch("x").parent
    assert folder.is_relative_to(tmp_path / "node") and folder.name == f"reprise-{os.getuid()}"
    assert store_on_node(store, [""]).scratch("x").parent == store / "tmp"
    monkeypatch.delenv("JOBS_OWN")
    with pytest.raises(UserError, match=r"scratch: \$JOBS_OWN .*: a variable in it is not set on "):
        store_on_node(store, ["$JOBS_OWN"])


def test_a_file_from_another_disk_is_kept_whole(tmp_path: Path) -> None:
    """The store's own file system sees it by a rename alone."""
    other = Path("/dev/shm", f"reprise-test-{os.getpid()}")  # noqa: S108
    if not other.parent.is_dir() or other.parent.stat().st_dev == tmp_path.stat().st_dev:
        pytest.fail("this machine has no second file system to try")
    store = Store(tmp_path, other)
    scratch = store.scratch("x.mp4")
    try:
        assert scratch.parent == other
        scratch.write_bytes(b"frames" * 1000)
        kept = store.keep_file(scratch, "clips", "ab" * 32, ".mp4")
        assert kept.read_bytes() == b"frames" * 1000 and not scratch.exists()
        assert not list((tmp_path / "tmp").iterdir())
        (other / f"{os.uname().nodename}.999999999.left").touch()
        store.sweep()
        assert not list(other.iterdir()), "what a killed job left there is removed"
    finally:
        for path in other.glob("*"):
            path.unlink()
        other.rmdir()
