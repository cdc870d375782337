"""What this machine could not do ends the job and leaves no result; what is wrong with a file is a row."""

import errno
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from av.error import FFmpegError
from av.error import OSError as AvOSError
from reprise.core.errors import REMEDIES, MachineError, fault_of, faults_in_words, named, stop_on_fault_of_ffmpeg
from reprise.core.files import value_digest, write_record
from reprise.core.store import Store
from reprise.fetch.outcome import Fetched, Fetcher, FetchError
from reprise.fetch.records import read_record, record_path
from reprise.media.errors import MediaError
from reprise.stages.sources import fetch_shard, fetch_source

from tests.unit.core.programs import python, write

MACHINE = sorted(set(REMEDIES) - {errno.EACCES, errno.EPERM})


def failing(error: BaseException) -> Fetcher:
    def fetch(source_id: str, folder: Path) -> Fetched:
        raise error

    return Fetcher(lambda source_id: ["test", source_id], fetch)


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.parametrize("number", MACHINE)
def test_the_machines_failures_are_no_records(number: int, store: Store) -> None:
    plain = OSError(number, os.strerror(number), "/some/file")
    for error in (plain, caused(MediaError("unreadable", "x"), plain), caused(FetchError("network", "x"), plain)):
        with pytest.raises(MachineError, match=f"/some/file: {os.strerror(number)}. Nothing was recorded"):
            fetch_source("a", failing(error), store)
    with pytest.raises(MachineError, match="make room"):
        fetch_source("a", failing(FetchError("disk_full", "no space left on device")), store)
    assert not list(store.root.rglob("*.json"))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_whose_file_is_refused_decides(number: int, tmp_path: Path, store: Store) -> None:
    theirs = PermissionError(number, os.strerror(number), str(tmp_path / "videos/a.mp4"))
    ledger = fetch_shard([("a", "u")], failing(theirs), store)
    assert ledger["status"].to_list() == ["unreadable"]
    ours = PermissionError(number, os.strerror(number), str(tmp_path / "store/tmp/a.mp4"))
    with pytest.raises(MachineError, match="let this user read and write"):
        fetch_source("b", failing(ours), store)

    def identity(source_id: str) -> Any:
        raise theirs

    assert fetch_source("a", replace(failing(theirs), identity=identity), store).status == "unreadable"


def test_a_record_of_another_source_does_not_count(store: Store) -> None:
    other = fetch_source("b", failing(FetchError("removed", "x")), store)
    mine = record_path(store, value_digest(["test", "a"]))
    for value in (other.model_dump(mode="json"), {"width": 4}, [], None):
        write_record(mine, value)
        assert read_record(store, value_digest(["test", "a"])) is None


@pytest.mark.parametrize(("place", "act", "said"), [
    ("results", lambda path: path.mkdir(exist_ok=True), "results: a link to {gone}, which is not there. Nothing was"),
    ("results", lambda path: (path / "a.csv").read_text(), "results: a link to {gone}, which is not there. Nothing was"),
    ("a.csv", lambda path: path.read_text(), "a.csv: a link to {gone}, which is not there. Nothing was recorded: mount"),
    ("file", lambda path: path.mkdir(exist_ok=True), "file: File exists. Nothing was recorded: move away what lies"),
    ("file", lambda path: (path / "a").read_text(), "a: Not a directory. Nothing was recorded: move away what lies"),
    ("folder", lambda path: path.read_text(), "folder: Is a directory. Nothing was recorded: move away what lies"),
    ("loop", lambda path: path.read_text(), "loop: a link to loop, which is not there. Nothing was recorded: mount"),
])  # fmt: skip
def test_what_is_in_a_files_place_is_said(place: str, act: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    for name, target in {"results": tmp_path / "gone", "a.csv": tmp_path / "gone", "loop": "loop"}.items():
        (tmp_path / name).symlink_to(target)
    write(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(MachineError) as caught, faults_in_words():
        act(tmp_path / place)
    assert said.format(gone=tmp_path / "gone") in str(caught.value)


def test_what_is_wrong_with_a_file_stays_a_result_or_a_bug(tmp_path: Path) -> None:
    damaged: FFmpegError = AvOSError(errno.EIO, "Input/output error", "a.mp4")
    missing = FileNotFoundError(errno.ENOENT, "x")
    for error in (damaged, caused(MediaError("truncated", "x"), damaged), missing, ValueError()):
        assert fault_of(error) is None
    stop_on_fault_of_ffmpeg(1, "Invalid data found when processing input", Path("a"))
    for kind in (FileNotFoundError, ValueError):
        with pytest.raises(kind), faults_in_words():
            (tmp_path / "none").read_text() if kind is FileNotFoundError else int("x")


def test_memory_and_room_are_the_machines() -> None:
    for error in (MemoryError(), caused(MediaError("corrupt", "x"), MemoryError())):
        assert "more memory" in (fault_of(error) or "")
    assert "No space left on device" in (fault_of(OSError("No space left on device (os error 28)")) or "")
    with pytest.raises(OSError, match="a.parquet"), named(Path("a.parquet")):
        raise OSError("No space left on device (os error 28)")
    with pytest.raises(OSError) as caught, named(Path("/dev/full")):
        Path("/dev/full").write_text("x")
    assert "/dev/full: No space left on device. Nothing was recorded: make room" in (fault_of(caught.value) or "")


def test_an_ffmpeg_that_was_ended_makes_no_result(tmp_path: Path) -> None:
    killed, full = "ffmpeg was ended by SIGKILL", "No space left on device"
    for code, words in ((-9, killed), (255, "ffmpeg was ended by a signal"), (228, full)):
        target = write(tmp_path / "cut.mp4", b"half")
        with pytest.raises(MachineError, match=f"cut.mp4: {words}. Nothing was recorded"):
            stop_on_fault_of_ffmpeg(code, f"x: {full}" if words == full else "", target)
        assert not target.exists()


def test_a_message_whose_log_lies_on_the_full_disk_comes_on_the_terminal() -> None:
    program = "from pathlib import Path; from reprise.core.errors import run_command;"
    program += "run_command(lambda: Path('/dev/full').write_text('x'))"
    with Path("/dev/full").open("w") as full:
        done = python(program, capture_output=False, stdout=subprocess.PIPE, stderr=full)
    assert done.returncode != 0 and done.stdout.startswith("Error: ")
    assert "No space left on device. Nothing was recorded: make room" in done.stdout
