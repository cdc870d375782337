"""Runs of the reduced suite: their output, their results, and how they are killed."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from reprise.core.files import file_digest, text_digest, value_digest

from tests.workflow.conftest import FULL, Project
from tests.workflow.warm import LONGEST_S

REPORT = "results/report/index.html"
STARTED_JOB = re.compile(r"^ *(?:local)?rule (\w+):\n(?: +\w+: .*\n)*? +jobid: (\d+)$", re.MULTILINE)
FINISHED_JOB = re.compile(r"^Finished jobid: (\d+)", re.MULTILINE)
PLANNED_JOB = re.compile(r"^ *(?:local)?rule (\w+):\n((?: +\w+: .*\n)+)", re.MULTILINE)  # jobs of a group are indented
# Files that contain durations.
TIMED_FILE = re.compile(r"timings|^\.?overview\.")
# Parts of the report that contain durations: rows of a run's page, cells of the overview, and digests of these pages.
TIMED_PARTS = {
    "results/report/runs/": re.compile(rb'<tr><th scope="row">(?:Time|Of this)</th>.*</tr>'),
    REPORT: re.compile(rb'<td class="right">[0-9.]+</td>'),
    "results/report/manifest.json": re.compile(rb'"(?:runs/[^"]*|index\.html)":"[0-9a-f]*"'),
}
TRACEBACK = "Traceback (most recent call last)"
UNLOCK = "--unlock"
MAX_OUTPUT_WAIT_S = 10  # A child process of the run may keep the pipe open.


@dataclass(frozen=True)
class Job:
    """A job of the suite, as Snakemake plans it."""

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and all that it printed."""

    returncode: int
    output: str

    @property
    def is_ok(self) -> bool:
        return self.returncode == 0

    @property
    def has_traceback(self) -> bool:
        return TRACEBACK in self.output

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.output.splitlines()[-lines:])


class Run:
    """A run of the suite in a process group of its own."""

    def __init__(self, command: Sequence[str], root: Path) -> None:
        environment = Project(root).environment
        # A pipe, unlike a file, is not affected by a limit of file sizes.
        self._process = subprocess.Popen(
            command, cwd=root, env=environment, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._said = bytearray()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                self._said += chunk

    def wait(self, timeout_s: float = LONGEST_S) -> Outcome:
        try:
            code = self._process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return Outcome(-1, f"{self.output()}\nstill running after {timeout_s:.0f} s\n")
        self._listener.join(MAX_OUTPUT_WAIT_S)
        return Outcome(code, self.output())

    def output(self) -> str:
        return bytes(self._said).decode(errors="replace")

    def wait_for_jobs(self, count: int) -> bool:
        """Wait until this number of jobs have started; return False if the run ends before."""
        while len(self.started()) < count:
            if not self.is_running():
                return False
            time.sleep(0.01)
        return True

    def is_running(self) -> bool:
        return self._process.poll() is None

    def started(self) -> dict[str, str]:
        """Return the rule of each started job by its id."""
        return {job: rule for rule, job in STARTED_JOB.findall(self.output())}

    def running(self) -> list[str]:
        """Return the rules of the running jobs."""
        ended = set(FINISHED_JOB.findall(self.output()))
        return [rule for job, rule in self.started().items() if job not in ended]

    def kill(self) -> None:
        if self.is_running():
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@dataclass
class Reduced(Project):
    """A copy of the project with the reduced suite."""

    targets: tuple[str, ...] = ("all",)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", "2", FULL, *arguments]

    def start(self, *arguments: str, inside: Sequence[str] = ()) -> Run:
        """Start a run of all targets, with an optional command prefix."""
        return Run([*inside, *self.command(*self.targets, *arguments)], self.root)

    def run_suite(self, inside: Sequence[str] = ()) -> Outcome:
        """Run all targets; if Snakemake requests `--unlock`, unlock and run again."""
        outcome = self.start(inside=inside).wait()
        if not outcome.is_ok and UNLOCK in outcome.output:
            Run(self.command(UNLOCK), self.root).wait()
            outcome = self.start(inside=inside).wait()
        return outcome

    def unlock(self) -> None:
        """Remove Snakemake's locks, as `--unlock` does, without planning all jobs."""
        shutil.rmtree(self.root / ".snakemake/locks", ignore_errors=True)

    def finish(self) -> None:
        outcome = self.run_suite()
        assert outcome.is_ok, outcome.output

    def copy(self, target: Path) -> "Reduced":
        """Copy the project with file times, so no result is out of date."""
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.root), str(target)], check=True)
        return replace(self, root=target)

    def jobs(self) -> list[Job]:
        """Return all jobs of the suite, from a dry run with `--forceall`."""
        outcome = self.start("--dry-run", "--forceall").wait()
        assert outcome.is_ok, outcome.output
        blocks = PLANNED_JOB.findall(outcome.output)
        return [Job(rule, _names(block, "input"), _names(block, "output")) for rule, block in blocks if rule != "all"]

    def numbers(self) -> dict[str, str]:
        """Return the digests of all results.

        Logs, durations and provenance are excluded, because provenance records repeated jobs.
        """
        files = [
            path for path in (self.root / "results").rglob("*") if path.is_file() and not TIMED_FILE.search(path.name)
        ]
        names = [(str(path.relative_to(self.root)), path) for path in files if path.suffix != ".sum"]
        return {name: digest_of(name, path) for name, path in names if "/logs/" not in name}


def digest_of(name: str, path: Path) -> str:
    """Return the digest of a result's content, without durations and without metadata of tables."""
    for prefix, pattern in TIMED_PARTS.items():
        if name.startswith(prefix):
            return text_digest(pattern.sub(b"", path.read_bytes()).decode("latin-1"))
    if path.suffix == ".parquet":
        try:
            table = pl.read_parquet(path)
        except pl.exceptions.PolarsError:  # damaged
            return file_digest(path)
        return value_digest([str(table.schema), table.write_json()])
    return file_digest(path)


def _names(block: str, key: str) -> tuple[str, ...]:
    match = re.search(rf"^ +{key}: (.*)$", block, re.MULTILINE)
    return tuple(match[1].split(", ")) if match else ()
