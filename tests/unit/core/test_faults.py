"""Test that a machine failure ends the job without a result, and that a faulty file is a row with a status."""

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
    convert_machine_errors,
    describe_machine_fault,
    raise_if_ffmpeg_machine_fault,
)
from reprise.core.files import write_record
from reprise.core.store import Store
from reprise.fetch.outcome import FetchedFile, Fetcher, FetchError
from reprise.media.errors import MediaError
from reprise.stages.sources import fetch_shard, fetch_source

from tests.unit.core.programs import write

MACHINE_ERRNOS = sorted(set(REMEDIES) - {errno.EACCES, errno.EPERM})


def make_failing_fetcher(error: BaseException) -> Fetcher:
    def fetch(source_id: str, folder: Path) -> FetchedFile:
        raise error

    return Fetcher(lambda source_id: ["test", source_id], fetch)


def set_cause(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.parametrize("error_number", MACHINE_ERRNOS)
def test_machine_failures_are_not_recorded(error_number: int, store: Store) -> None:
    os_error = OSError(error_number, os.strerror(error_number), "/some/file")
    for error in (
        os_error,
        set_cause(MediaError("unreadable", "x"), os_error),
        set_cause(FetchError("network", "x"), os_error),
    ):
        with pytest.raises(MachineError, match=f"/some/file: {os.strerror(error_number)}. Nothing was recorded"):
            fetch_source("a", make_failing_fetcher(error), store)
    with pytest.raises(MachineError, match="make room"):
        fetch_source("a", make_failing_fetcher(FetchError("disk_full", "no space left on device")), store)
    assert not list(store.root.rglob("*.json"))


@pytest.mark.parametrize("error_number", [errno.EACCES, errno.EPERM])
def test_a_permission_error_is_a_machine_failure_only_in_the_store(
    error_number: int, tmp_path: Path, store: Store
) -> None:
    outside_store = PermissionError(error_number, os.strerror(error_number), str(tmp_path / "videos/a.mp4"))
    manifest = fetch_shard([("a", "u")], make_failing_fetcher(outside_store), store)
    assert manifest["status"].to_list() == ["unreadable"]
    inside_store = PermissionError(error_number, os.strerror(error_number), str(tmp_path / "store/tmp/a.mp4"))
    with pytest.raises(MachineError, match="let this user read and write"):
        fetch_source("b", make_failing_fetcher(inside_store), store)


@pytest.mark.parametrize(("name", "access", "message"), [
    ("results", lambda path: path.mkdir(exist_ok=True), "results: a link to {gone}, which does not exist. Nothing was"),
    ("results", lambda path: (path / "a.csv").read_text(), "results: a link to {gone}, which does not exist. Nothing was"),
    ("file", lambda path: path.mkdir(exist_ok=True), "file: File exists. Nothing was recorded: move or rename what is"),
])  # fmt: skip
def test_the_cause_of_a_blocked_path_is_reported(
    name: str, access: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    (tmp_path / "results").symlink_to(tmp_path / "gone")
    write(tmp_path / "file")
    with pytest.raises(MachineError) as caught, convert_machine_errors():
        access(tmp_path / name)
    assert message.format(gone=tmp_path / "gone") in str(caught.value)


def test_problems_of_a_file_are_not_machine_failures(tmp_path: Path) -> None:
    damaged: FFmpegError = AvOSError(errno.EIO, "Input/output error", "a.mp4")
    missing = FileNotFoundError(errno.ENOENT, "x")
    for error in (damaged, set_cause(MediaError("truncated", "x"), damaged), missing, ValueError()):
        assert describe_machine_fault(error) is None
    raise_if_ffmpeg_machine_fault(1, "Invalid data found when processing input", Path("a"))
    for kind in (FileNotFoundError, ValueError):
        with pytest.raises(kind), convert_machine_errors():
            (tmp_path / "none").read_text() if kind is FileNotFoundError else int("x")


def test_a_file_name_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    message = r"^.*/caf\\xe9/a: the name of this file or folder is not UTF-8\. Rename it\.$"
    with pytest.raises(UserError, match=message), convert_machine_errors():
        write_record(tmp_path / "record.json", {"path": str(folder / "a"), "other": 1})
    with pytest.raises(UnicodeEncodeError), convert_machine_errors():
        "caf\xe9".encode("ascii")


def test_lack_of_memory_and_disk_space_are_machine_failures() -> None:
    assert "more memory" in (describe_machine_fault(set_cause(MediaError("corrupt", "x"), MemoryError())) or "")
    with pytest.raises(OSError, match="a.parquet"), add_path_to_errors(Path("a.parquet")):
        raise OSError("No space left on device (os error 28)")  # the form of an error of polars
    with pytest.raises(OSError) as caught, add_path_to_errors(Path("/dev/full")):
        Path("/dev/full").write_text("x")
    assert "/dev/full: No space left on device. Nothing was recorded: make room" in (
        describe_machine_fault(caught.value) or ""
    )


def test_a_killed_ffmpeg_gives_no_result(tmp_path: Path) -> None:
    killed, full = "ffmpeg was ended by SIGKILL", "No space left on device"
    for code, message in ((-9, killed), (255, "ffmpeg was ended by a signal"), (228, full)):
        target = write(tmp_path / "cut.mp4", b"half")
        with pytest.raises(MachineError, match=f"cut.mp4: {message}. Nothing was recorded"):
            raise_if_ffmpeg_machine_fault(code, f"x: {full}" if message == full else "", target)
        assert not target.exists()
