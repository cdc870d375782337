"""Sizes and seed of the harness, the undisturbed run that it compares with, and a summary by class of fault.

Environment: FAULTS=whole for the whole form; FAULTS_SEED; FAULTS_<CLASS> for the trials of a class, such as FAULTS_KILLS=10;
FAULTS_TRIAL=17 for one trial alone.
"""

import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from tests.faults.runs import Job, Reduced
from tests.faults.suite import ask_people, hub_of_weights, reduced_suite

SIZES = {
    # class: trials of the short form, of the whole form
    "kills": (1, 10),  # of 1 or 10 kills each
    "updates": (1, 6),
    "disks": (1, 4),
    "damages": (4, 300),
    "clocks": (1, 4),
    "dry_runs": (1, 4),
    "adapters": (3, 13),
}
SEED = int(os.environ.get("FAULTS_SEED", "20261122"))
MEMORY, ROOM = Path("/dev/shm"), 2**30  # noqa: S108  a folder of its own is made there
IS_WHOLE = os.environ.get("FAULTS") == "whole"


def trials(kind: str) -> range:
    """The numbers of the trials of a class."""
    only = os.environ.get("FAULTS_TRIAL")
    if only is not None:
        return range(int(only), int(only) + 1)
    return range(int(os.environ.get(f"FAULTS_{kind.upper()}", SIZES[kind][IS_WHOLE])))


class FaultNotHandledError(Exception):
    """A fault that the workflow did not handle as it must."""


@dataclass
class Trials:
    """Runs the trials of each class side by side, and remembers how they ended."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    hits: dict[str, Counter[str]] = field(default_factory=dict)

    def run(self, kind: str, one: Callable[[Random, int], str]) -> None:
        """Run all trials of a class, each with a generator of its own; fail with all that were not handled."""
        begun, counts = time.monotonic(), self.outcomes.setdefault(kind, Counter())
        with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:  # one more, for a trial waits now and then
            results = pool.map(lambda number: self._one(kind, number, one), trials(kind))
            failures = []
            for number, (outcome, problem) in zip(trials(kind), results, strict=True):
                counts[outcome] += 1
                if problem:
                    failures.append(f"{kind}, FAULTS_SEED={SEED} FAULTS_TRIAL={number}: {outcome}\n{problem}")
        self.seconds[kind] = time.monotonic() - begun
        assert not failures, f"{len(failures)} of {len(trials(kind))} {kind} not handled\n\n" + "\n\n".join(failures)

    def struck(self, kind: str, what: Iterable[str]) -> None:
        """Note what the faults of a class hit, for the summary."""
        self.hits.setdefault(kind, Counter()).update(what)

    @staticmethod
    def _one(kind: str, number: int, one: Callable[[Random, int], str]) -> tuple[str, str]:
        try:
            return one(Random(f"{SEED}/{kind}/{number}"), number), ""
        except FaultNotHandledError as error:
            outcome, _, details = str(error).partition("\n")
            return f"NOT HANDLED: {outcome}", details or outcome


ALL = Trials()


@pytest.fixture(scope="session")
def all_trials() -> Trials:
    return ALL


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not ALL.outcomes:
        return
    terminalreporter.section(f"faults, FAULTS_SEED={SEED}, {'whole' if IS_WHOLE else 'short'} form")
    for kind, counts in ALL.outcomes.items():
        terminalreporter.write_line(f"{kind}: {counts.total()} trials, {ALL.seconds.get(kind, 0):.0f} s")
        for outcome, count in sorted(counts.items()):
            terminalreporter.write_line(f"    {count:4}  {outcome}")
        hits = ", ".join(f"{what} {count}" for what, count in sorted(ALL.hits.get(kind, Counter()).items()))
        if hits:
            terminalreporter.write_line(f"          hit: {hits}")


@pytest.fixture(scope="session", autouse=True)
def hub() -> Iterator[None]:
    """The server of weights, as the runs see it."""
    with hub_of_weights() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", url)
        patch.setenv("HF_HUB_DISABLE_XET", "1")
        patch.delenv("HF_HUB_OFFLINE", raising=False)  # a test before these may have loaded a model in this process
        yield


@pytest.fixture(scope="session")
def reference(hub: None, tmp_path_factory: pytest.TempPathFactory) -> Reduced:
    """The suite after an undisturbed run."""
    project = reduced_suite(tmp_path_factory.mktemp("reference") / "project")
    ask_people(project)
    project.finish()
    return project


@pytest.fixture(scope="session")
def jobs(reference: Reduced) -> list[Job]:
    return reference.jobs()


@pytest.fixture(scope="session")
def numbers(reference: Reduced) -> dict[str, str]:
    return reference.numbers()


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """Paths for copies: in memory where there is room, for a disk takes a second of the processor for each."""
    count = iter(range(10**6))
    has_room = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    folder = Path(tempfile.mkdtemp(dir=MEMORY)) if has_room else tmp_path
    yield lambda: folder / f"copy{next(count)}"
    if has_room:
        shutil.rmtree(folder)
