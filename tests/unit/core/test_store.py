"""The store and the journal: objects by digest, torn lines, answers that survive a kill."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reprise.core.files import file_digest, inside, whole_file, write_if_changed
from reprise.core.store import Store, append_line, read_lines
from reprise.models.asking.journal import Journal, entry_id
from reprise.models.base import Answer


def test_a_failed_writer_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"

    def write_and_fail() -> None:
        with whole_file(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert list(tmp_path.iterdir()) == []


def test_an_unchanged_file_keeps_its_time(tmp_path: Path) -> None:
    target = tmp_path / "key.json"
    assert write_if_changed(target, "one")
    before = target.stat().st_mtime_ns
    assert not write_if_changed(target, "one")
    assert target.stat().st_mtime_ns == before
    assert write_if_changed(target, "two")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", ".", ""])
def test_a_name_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    assert inside(tmp_path, name) is None


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path)
    assert inside(tmp_path / "in", "link/x") is None
    assert inside(tmp_path / "in", "plain/x") is not None


def test_a_finished_file_becomes_an_object_by_rename(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for text in ("damaged", "made again"):
        scratch = store.scratch("x")
        scratch.write_text(text)
        path = store.keep_file(scratch, "clips", "ab" * 32, ".mp4")
    assert path.read_text() == "made again"
    assert not list((tmp_path / "store/tmp").iterdir())


def test_work_in_progress_of_jobs_that_ended_is_swept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    mine = store.scratch("mine.mp4")
    mine.touch()
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    host, names = socket.gethostname(), ("a.mp4", "folder")
    killed = [tmp_path / f"tmp/{host}.{ended.stdout.strip()}.{name}" for name in names]
    killed[0].touch()
    (killed[1] / "inside").mkdir(parents=True)
    others = [tmp_path / f"tmp/{host}-2.1.{name}" for name in ("young.mp4", "old.mp4")]
    for path in others:
        path.touch()
    os.utime(others[1], (0, 0))
    others.append(tmp_path / f"tmp/{host}.lan.1.young.mp4")  # another machine, whose name begins alike
    others[2].touch()
    store.sweep()
    assert sorted((tmp_path / "tmp").iterdir()) == sorted([mine, others[0], others[2]])


def test_one_object_is_made_by_one_job_at_a_time(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from reprise.core.store import Store\n"
        "with Store(Path(sys.argv[1])).alone('ab' * 32):\n"
        "    log = Path(sys.argv[1]) / 'log'\n"
        "    log.open('a').write('begin ')\n"
        "    time.sleep(0.2)\n"
        "    log.open('a').write('end ')\n"
    )
    jobs = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(3)]
    assert [job.wait(60) for job in jobs] == [0, 0, 0]
    assert (tmp_path / "log").read_text().split() == ["begin", "end"] * 3


def test_a_file_is_hashed_once_until_it_changes(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"a" * 1000)
    root = tmp_path / "store"
    assert Store(root).digest(weights) == file_digest(weights)
    log = root / "digests.jsonl"
    once = log.read_text()
    assert Store(root).digest(weights) == file_digest(weights) and log.read_text() == once
    weights.write_bytes(b"b" * 1001)
    assert Store(root).digest(weights) == file_digest(weights) and log.read_text() != once


def test_a_folder_digest_sees_names_and_bytes_but_not_times(tmp_path: Path) -> None:
    folder, store = tmp_path / "checkpoint", Store(tmp_path / "store")
    folder.mkdir()
    (folder / "a").write_text("1")
    before = store.folder_digest(folder)
    (folder / "a").touch()
    assert store.folder_digest(folder) == before
    (folder / "a").rename(folder / "b")
    assert store.folder_digest(folder) != before


def test_prune_keeps_what_a_ledger_names_and_every_answer(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for kind, name in (("clips", "aa1"), ("clips", "bb2"), ("sources", "cc3"), ("journal", "dd4")):
        path = store.path(kind, name, ".x")
        path.parent.mkdir(parents=True)
        path.write_text("12345")
    assert store.prune(["clips/aa/aa1.x"]) == 10
    assert sorted(path.name for path in tmp_path.rglob("*.x")) == ["aa1.x", "dd4.x"]


def test_prune_takes_rows_of_failures_and_leaves_live_work_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.path("clips", "aa1", ".mp4")
    path.parent.mkdir(parents=True)
    path.write_text("12345")
    mine = store.scratch("mine.mp4")
    mine.touch()
    assert store.prune([str(path.relative_to(tmp_path)), ""]) == 0
    assert path.exists() and mine.exists()


def test_a_torn_line_is_passed_over_and_ended(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path)
    journal.add("one", Answer(text="A"))
    with path.open("a") as stream:
        stream.write('["two","B",[')
    again = Journal(path)
    assert again.get("one") == Answer(text="A") and again.get("two") is None
    again.add("three", Answer(scores=(0.25, 0.75)))
    assert Journal(path).get("three") == Answer(scores=(0.25, 0.75)) and len(Journal(path)) == 2


def test_a_killed_journal_keeps_every_answer_and_waits_for_the_disk_once_a_second(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from unittest import mock;"
        "from reprise.models.base import Answer; from reprise.models.asking.journal import Journal;"
        "journal = Journal(Path(sys.argv[1]));"
        "counted = mock.patch('os.fsync', side_effect=os.fsync).start();"
        "[journal.add(str(number), Answer(text='A')) for number in range(500)];"
        "print(counted.call_count, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    path, start = tmp_path / "j", time.monotonic()
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == -9 and len(Journal(path)) == 500
    assert 1 <= int(done.stdout) <= 2 + time.monotonic() - start


def test_scores_come_back_bit_by_bit(tmp_path: Path) -> None:
    scores = (0.1 + 0.2, 1 / 3, 5e-324)
    Journal(tmp_path / "j").add("x", Answer(scores=scores))
    answer = Journal(tmp_path / "j").get("x")
    assert answer is not None and answer.scores == scores


def test_an_entry_is_named_by_clip_and_prompt() -> None:
    assert len({entry_id("r1", "p1"), entry_id("r1", "p2"), entry_id("r2", "p1")}) == 3


def test_lines_are_whole_json_values(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    append_line(path, json.dumps([1]))
    append_line(path, json.dumps([2]))
    assert list(read_lines(path)) == [[1], [2]]
