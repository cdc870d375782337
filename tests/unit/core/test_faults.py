"""What this machine could not do ends the job and leaves no result; what is wrong with a file is a row."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from av.error import FFmpegError
from av.error import OSError as AvOSError
from reprise.core.errors import (
    REMEDIES,
    MachineError,
    UserError,
    add_path_to_errors,
    find_fault,
    raise_machine_errors,
    stop_on_fault_of_ffmpeg,
)
from reprise.core.files import write_record
from reprise.core.store import Store
from reprise.fetch.outcome import FetchedFile, Fetcher, FetchError
from reprise.media.errors import MediaError
from reprise.stages.sources import fetch_shard, fetch_source

from tests.unit.core.programs import write

MACHINE = sorted(set(REMEDIES) - {errno.EACCES, errno.EPERM})


def failing(error: BaseException) -> Fetcher:
    def fetch(source_id: str, folder: Path) -> FetchedFile:
        raise error

    return Fetcher(lambda source_id: ["test", source_id], fetch)


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.parametrize("number", MACHINE)
def test_machine_failures_are_not_recorded(number: int, store: Store) -> None:
    plain = OSError(number, os.strerror(number), "/some/file")
    for error in (plain, caused(MediaError("unreadable", "x"), plain), caused(FetchError("network", "x"), plain)):
        with pytest.raises(MachineError, match=f"/some/file: {os.strerror(number)}. Nothing was recorded"):
            fetch_source("a", failing(error), store)
    with pytest.raises(MachineError, match="make room"):
        fetch_source("a", failing(FetchError("disk_full", "no space left on device")), store)
    assert not list(store.root.rglob("*.json"))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_refusal_is_a_machine_failure_in_the_store_only(number: int, tmp_path: Path, store: Store) -> None:
    theirs = PermissionError(number, os.strerror(number), str(tmp_path / "videos/a.mp4"))
    manifest = fetch_shard([("a", "u")], failing(theirs), store)
    assert manifest["status"].to_list() == ["unreadable"]
    ours = PermissionError(number, os.strerror(number), str(tmp_path / "store/tmp/a.mp4"))
    with pytest.raises(MachineError, match="let this user read and write"):
        fetch_source("b", failing(ours), store)


@pytest.mark.parametrize(("place", "act", "said"), [
    ("results", lambda path: path.mkdir(exist_ok=True), "results: a link to {gone}, which does not exist. Nothing was"),
    ("results", lambda path: (path / "a.csv").read_text(), "results: a link to {gone}, which does not exist. Nothing was"),
    ("file", lambda path: path.mkdir(exist_ok=True), "file: File exists. Nothing was recorded: move or rename what is"),
])  # fmt: skip
def test_what_blocks_a_path_is_reported(place: str, act: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    (tmp_path / "results").symlink_to(tmp_path / "gone")
    write(tmp_path / "file")
    with pytest.raises(MachineError) as caught, raise_machine_errors():
        act(tmp_path / place)
    assert said.format(gone=tmp_path / "gone") in str(caught.value)


def test_problems_of_a_file_are_not_machine_failures(tmp_path: Path) -> None:
    damaged: FFmpegError = AvOSError(errno.EIO, "Input/output error", "a.mp4")
    missing = FileNotFoundError(errno.ENOENT, "x")
    for error in (damaged, caused(MediaError("truncated", "x"), damaged), missing, ValueError()):
        assert find_fault(error) is None
    stop_on_fault_of_ffmpeg(1, "Invalid data found when processing input", Path("a"))
    for kind in (FileNotFoundError, ValueError):
        with pytest.raises(kind), raise_machine_errors():
            (tmp_path / "none").read_text() if kind is FileNotFoundError else int("x")


def test_a_name_that_is_not_utf8_is_shown(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    message = r"^.*/caf\\xe9/a: the name of this file or folder is not UTF-8\. Rename it\.$"
    with pytest.raises(UserError, match=message), raise_machine_errors():
        write_record(tmp_path / "record.json", {"path": str(folder / "a"), "other": 1})
    with pytest.raises(UnicodeEncodeError), raise_machine_errors():
        "caf\xe9".encode("ascii")


def test_lack_of_memory_and_disk_space_are_machine_failures() -> None:
    assert "more memory" in (find_fault(caused(MediaError("corrupt", "x"), MemoryError())) or "")
    with pytest.raises(OSError, match="a.parquet"), add_path_to_errors(Path("a.parquet")):
        raise OSError("No space left on device (os error 28)")  # as polars says it
    with pytest.raises(OSError) as caught, add_path_to_errors(Path("/dev/full")):
        Path("/dev/full").write_text("x")
    assert "/dev/full: No space left on device. Nothing was recorded: make room" in (find_fault(caught.value) or "")


def test_a_killed_ffmpeg_gives_no_result(tmp_path: Path) -> None:
    killed, full = "ffmpeg was ended by SIGKILL", "No space left on device"
    for code, words in ((-9, killed), (255, "ffmpeg was ended by a signal"), (228, full)):
        target = write(tmp_path / "cut.mp4", b"half")
        with pytest.raises(MachineError, match=f"cut.mp4: {words}. Nothing was recorded"):
            stop_on_fault_of_ffmpeg(code, f"x: {full}" if words == full else "", target)
        assert not target.exists()
