"""Sizes and seed of the fault tests, and the undisturbed run with which they compare.

Environment variables: FAULTS=whole selects the full form, FAULTS_SEED sets the seed, FAULTS_<CLASS> sets the number of
trials of a class (such as FAULTS_KILLS=10), and FAULTS_TRIAL=17 selects a single trial.
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
from tests.faults.suite import hub_of_weights, reduced_suite, write_survey_answers

# Class -> number of trials in the short and in the full form. A trial of `kills` has 1 or 10 kills.
SIZES = {"kills": (1, 10), "updates": (1, 6), "disks": (1, 4), "damages": (4, 300), "clocks": (1, 4), "adapters": (3, 8)}  # fmt: skip
SEED = int(os.environ.get("FAULTS_SEED", "20261122"))
MEMORY, ROOM = Path("/dev/shm"), 2**30  # noqa: S108  a folder of its own is made there
IS_FULL_FORM = os.environ.get("FAULTS") == "whole"


class FaultNotHandledError(Exception):
    """The workflow did not handle a fault correctly."""


def trials(kind: str) -> range:
    trial = os.environ.get("FAULTS_TRIAL")
    if trial is not None:
        return range(int(trial), int(trial) + 1)
    return range(int(os.environ.get(f"FAULTS_{kind.upper()}", SIZES[kind][IS_FULL_FORM])))


def run_trials(kind: str, run_trial: Callable[[Random, int], None]) -> None:
    """Run the trials of a class in parallel, each with its own random generator, and report all unhandled faults."""

    def problem_of(number: int) -> str:
        try:
            run_trial(Random(f"{SEED}/{kind}/{number}"), number)
        except FaultNotHandledError as error:
            return f"{kind}, FAULTS_SEED={SEED} FAULTS_TRIAL={number}: NOT HANDLED: {error}"
        return ""

    with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:  # One more than CPUs, because trials sometimes wait.
        failures = list(filter(None, pool.map(problem_of, trials(kind))))
    assert not failures, f"{len(failures)} of {len(trials(kind))} {kind} not handled\n\n" + "\n\n".join(failures)


@dataclass(frozen=True)
class Undisturbed:
    """The suite after a run without faults."""

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
        patch.delenv("HF_HUB_OFFLINE", raising=False)  # An earlier test may have set this variable.
        yield


@pytest.fixture(scope="session")
def world(hub: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    """Run the suite without faults. Copies are kept in memory if possible, because a copy on disk takes a second."""
    project = reduced_suite(tmp_path_factory.mktemp("reference") / "project")
    write_survey_answers(project)
    project.finish()
    has_room = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    folder = Path(tempfile.mkdtemp(dir=MEMORY)) if has_room else tmp_path_factory.mktemp("copies")
    yield Undisturbed(project, project.jobs(), project.numbers(), folder, count())
    shutil.rmtree(folder)
