"""Sizes and seed of the harness, and the undisturbed run that it compares with.

Environment: FAULTS=whole for the whole form; FAULTS_SEED; FAULTS_<CLASS> for the trials of a class, such as FAULTS_KILLS=10;
FAULTS_TRIAL=17 for one trial alone.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

import pytest

from tests.faults.runs import Job, Reduced
from tests.faults.suite import ask_people, hub_of_weights, reduced_suite

# Class: trials of the short form, of the whole form. A kill is 1 or 10 kills.
SIZES = {"kills": (1, 10), "updates": (1, 6), "disks": (1, 4), "damages": (4, 300), "clocks": (1, 4), "adapters": (3, 8)}  # fmt: skip
SEED = int(os.environ.get("FAULTS_SEED", "20261122"))
MEMORY, ROOM = Path("/dev/shm"), 2**30  # noqa: S108  a folder of its own is made there
IS_WHOLE = os.environ.get("FAULTS") == "whole"


class FaultNotHandledError(Exception):
    """A fault that the workflow did not handle as it must."""


def trials(kind: str) -> range:
    only = os.environ.get("FAULTS_TRIAL")
    if only is not None:
        return range(int(only), int(only) + 1)
    return range(int(os.environ.get(f"FAULTS_{kind.upper()}", SIZES[kind][IS_WHOLE])))


def run_trials(kind: str, one: Callable[[Random, int], None]) -> None:
    """Run all trials of a class side by side, each with a generator of its own; fail with all that were not handled."""

    def problem_of(number: int) -> str:
        try:
            one(Random(f"{SEED}/{kind}/{number}"), number)
        except FaultNotHandledError as error:
            return f"{kind}, FAULTS_SEED={SEED} FAULTS_TRIAL={number}: NOT HANDLED: {error}"
        return ""

    with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:  # one more, for a trial waits now and then
        failures = list(filter(None, pool.map(problem_of, trials(kind))))
    assert not failures, f"{len(failures)} of {len(trials(kind))} {kind} not handled\n\n" + "\n\n".join(failures)


@dataclass(frozen=True)
class Undisturbed:
    """The suite after a run without a fault."""

    project: Reduced
    jobs: list[Job]
    numbers: dict[str, str]
    folder: Path
    names: Iterator[int]

    @contextmanager
    def copy(self) -> Iterator[Reduced]:
        project = self.project.copy(self.folder / f"copy{next(self.names)}")
        try:
            yield project
        finally:
            shutil.rmtree(project.root)


@pytest.fixture(scope="session", autouse=True)
def hub() -> Iterator[None]:
    with hub_of_weights() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", url)
        patch.setenv("HF_HUB_DISABLE_XET", "1")
        patch.delenv("HF_HUB_OFFLINE", raising=False)  # a test before these may have loaded a model in this process
        yield


@pytest.fixture(scope="session")
def world(hub: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    """Copies lie in memory where there is room, for a disk takes a second of the processor for each."""
    project = reduced_suite(tmp_path_factory.mktemp("reference") / "project")
    ask_people(project)
    project.finish()
    has_room = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    folder = Path(tempfile.mkdtemp(dir=MEMORY)) if has_room else tmp_path_factory.mktemp("copies")
    yield Undisturbed(project, project.jobs(), project.numbers(), folder, count())
    shutil.rmtree(folder)
