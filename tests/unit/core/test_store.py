"""The store and the journal: objects by digest, torn lines, answers that survive a kill; files that are whole or none."""

import os
import socket
from pathlib import Path

import pytest
from reprise.core.files import file_digest, inside, whole_file, write_if_changed
from reprise.core.store import Store

from tests.unit.core.programs import python, write


def test_a_failed_writer_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), whole_file(tmp_path / "out.txt") as temporary:
        temporary.write_text("half")
        raise RuntimeError("disk full")
    assert list(tmp_path.iterdir()) == []


def test_an_unchanged_file_keeps_its_time(tmp_path: Path) -> None:
    target = tmp_path / "key.json"
    assert write_if_changed(target, "one")
    before = target.stat().st_mtime_ns
    assert not write_if_changed(target, "one") and target.stat().st_mtime_ns == before
    assert write_if_changed(target, "two")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", ".", "", "link/x"])
def test_a_name_or_a_link_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path)
    assert inside(tmp_path / "in", name) is None
    assert inside(tmp_path / "in", "plain/x") is not None


def test_work_in_progress_of_jobs_that_ended_is_swept(tmp_path: Path) -> None:
    store, host = Store(tmp_path), socket.gethostname()
    ended = python("import os; print(os.getpid())").stdout.strip()
    write(tmp_path / f"tmp/{host}.{ended}.a.mp4")
    write(tmp_path / f"tmp/{host}.{ended}.folder/inside")
    of_another = write(tmp_path / f"tmp/{host}-2.1.old.mp4")
    os.utime(of_another, (0, 0))
    # Of a job that runs, of another machine, of one whose name begins alike.
    kept = [store.scratch("mine"), tmp_path / f"tmp/{host}-2.1.young", tmp_path / f"tmp/{host}.lan.1.young"]
    for path in kept:
        write(path)
    store.sweep()
    assert sorted((tmp_path / "tmp").iterdir()) == sorted(kept)


def test_a_file_is_hashed_once_until_it_changes(tmp_path: Path) -> None:
    weights, root = write(tmp_path / "model.safetensors", b"a" * 1000), tmp_path / "store"
    assert Store(root).digest(weights) == file_digest(weights)
    log = root / "digests.jsonl"
    once = log.read_text()
    assert Store(root).digest(weights) == file_digest(weights) and log.read_text() == once
    weights.write_bytes(b"b" * 1001)
    assert Store(root).digest(weights) == file_digest(weights) and log.read_text() != once


def test_a_folder_digest_sees_names_and_bytes_but_not_times(tmp_path: Path) -> None:
    folder, store = tmp_path / "checkpoint", Store(tmp_path / "store")
    write(folder / "a", b"1")
    before = store.folder_digest(folder)
    (folder / "a").touch()
    assert store.folder_digest(folder) == before
    (folder / "a").rename(folder / "b")
    assert store.folder_digest(folder) != before


def test_prune_keeps_what_a_ledger_names_every_answer_and_live_work(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for kind, name in (("clips", "aa1"), ("clips", "bb2"), ("sources", "cc3"), ("journal", "dd4")):
        write(store.path(kind, name, ".x"), b"12345")
    write(store.path("sources", "cc3", ".json"))
    mine = write(store.scratch("mine.mp4"))
    assert store.sizes() == {"clips": (2, 10), "sources": (2, 5), "journal": (1, 5)}
    assert store.prune(["clips/aa/aa1.x", ""]) == 10, "the row of a failure names no object"
    assert sorted(path.name for path in tmp_path.rglob("*.*") if path != mine) == ["aa1.x", "cc3.json", "dd4.x"]
    assert mine.exists()
