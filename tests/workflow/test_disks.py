"""Test commands in a working directory that cannot be written, and on a full disk: one line, and no file changes."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.faults import NAMESPACE, can_mount
from tests.unit.permissions import OBEY_PERMISSIONS
from tests.workflow.conftest import ROOT, CompletedRun, Project, printed_text

RUN = "velociti/entail/fps1/oracle"
WRITING = (
    "eval new --yes", "eval toy-llava-ov --yes --no-check", "eval new --dry-run", "temporal new --yes", "init sub", f"publish {RUN}",
)  # fmt: skip
READING = (
    "plan",
    "plan new",
    "show overview",
    "show velociti/table2",
    "runs",
    f"item {RUN}",
    "check toy-llava-ov --questions 4",
)
# A disk with the project and the given number of free bytes; at the end, the names of changed files are printed.
SMALL_DISK = """
mount -t tmpfs -o size=100m tmpfs "$0" && cp -a "$1/." "$0" && cd "$0" || exit 9
dd if=/dev/zero of=fill bs=4k 2> /dev/null
truncate -s -"$2" fill
project=$1; shift 2
PYTHONPATH="$PWD/workflow" "$@"
code=$?
rm fill && echo CHANGED && diff -rq "$project" .
exit $code
"""


@pytest.fixture
def project(toy: Project) -> Project:
    """Return a finished copy with an overview, and a folder `new` with a checkpoint."""
    toy.edit("config/suites/small.yaml", "run: [local]", "run: [local]\noverview: [toy-llava-ov]")
    shutil.copytree(ROOT / "resources/demo/checkpoints/llava-ov-late", toy.root / "new")
    return toy


def reprise_call(command: str) -> list[str]:
    return [sys.executable, "-B", "-m", "reprise", *command.split()]


def read_files(project: Project) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}


@contextmanager
def read_only(project: Project) -> Iterator[Sequence[str]]:
    """Take away the permission to write, and yield the prefix of commands that obey permissions, also as root."""
    subprocess.run(["chmod", "-R", "a-w", str(project.root)], check=True)
    try:
        yield OBEY_PERMISSIONS
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(project.root)], check=True)


def test_a_read_only_working_directory(project: Project) -> None:
    files = read_files(project)
    with read_only(project) as prefix:
        for command in WRITING:
            process = project.run([*prefix, *reprise_call(command)])
            (line,) = process.stderr.splitlines()
            assert process.returncode == 1, printed_text(process)
            if command.startswith(("eval", "temporal")):
                assert line.startswith(f"Error: {project.root}: no permission to write to this working directory")
            else:
                assert (
                    "cannot be written (Permission denied). Nothing was changed there. Choose another folder." in line
                )
        program = f"import reprise; reprise.evaluate(max, name='max', folder={str(project.root)!r})"
        process = project.run([*prefix, sys.executable, "-c", program])
        assert f"UserError: {project.root}: no permission to write" in process.stderr.splitlines()[-1]
        for command in READING:
            process = project.run([*prefix, *reprise_call(command)])
            assert process.returncode == 0 and "Error" not in printed_text(process), printed_text(process)
        output = project.run([*prefix, *reprise_call(f"publish {RUN} --to {project.root.parent / 'out'}")]).stdout
        assert "oracle.zip" in output and (project.root.parent / "out/oracle.zip").is_file()
    assert read_files(project) == files


def run_on_full_disk(project: Project, free_bytes: int, command: str) -> tuple[CompletedRun, list[str]]:
    """Run a command on a disk with few free bytes, and return the names of the files that it changed.

    Where users cannot mount a disk, no file can get larger than this number of bytes.
    """
    if not can_mount():
        files = read_files(project)
        process = project.run(["prlimit", f"--fsize={free_bytes}", *reprise_call(command)])
        new_files = read_files(project)
        changes = [str(path) for path in {**files, **new_files} if files.get(path) != new_files.get(path)]
    else:
        disk = project.root.with_name("disk")
        disk.mkdir(exist_ok=True)
        prefix = [*NAMESPACE, "sh", "-c", SMALL_DISK, str(disk), str(project.root), str(free_bytes)]
        process = project.run([*prefix, *reprise_call(command)])
        process.stdout, _, listing = process.stdout.partition("CHANGED\n")
        changes = listing.splitlines()
    # The cache of digests gets another time.
    return process, [change for change in changes if "digests.jsonl" not in change]


def test_a_full_disk(project: Project) -> None:
    commands = [(0, command) for command in WRITING] + [(8192, "init sub/folder"), (8192, f"publish {RUN}")]
    for free_bytes, command in commands:
        process, changes = run_on_full_disk(project, free_bytes, command)
        (line,) = process.stderr.splitlines()
        assert process.returncode == 1 and line.startswith("Error: ") and not changes, (printed_text(process), changes)
        if command.startswith(("init", "publish")):
            assert "Nothing was changed there. Choose another folder." in line
        elif can_mount():
            assert "MB left, at least 100 MB are needed. Nothing was changed." in line
    for command in READING:
        process, changes = run_on_full_disk(project, 0, command)
        assert process.returncode == 0 and "Error" not in printed_text(process) and not changes, printed_text(process)
