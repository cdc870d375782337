"""One run of the suite here and one through Slurm, in which jobs are ended in the ways that a cluster knows.

CLUSTER=whole adds a kill, a time limit and a lost node to a failure and a cancellation, and the rehearsal of all tables. See
`make test-cluster`.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.slurm import Slurm, ask, end_job_of_lost_node, running_slurm, wait_until
from tests.cluster.suite import Local, OnSlurm, cluster_suite
from tests.faults.runs import Outcome, Run

SHORT = ("fails", "cancelled")
WHOLE = (*SHORT, "killed", "slow", "lost")
LONGEST_S = 600
FORM = os.environ.get("CLUSTER", "short")
NAMES = SHORT if FORM == "short" else WHOLE
collect_ignore = ["test_rehearsal.py"] if FORM == "short" else []  # it takes minutes


@dataclass(frozen=True)
class Ended:
    """What is left of the two runs."""

    here: Local
    cluster: OnSlurm
    outcome: Outcome
    second: Outcome
    """of another snakemake that was started in the folder meanwhile"""


@dataclass(frozen=True)
class Reached:
    """Where a model hangs."""

    process: int
    job: str
    node: str


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Local:
    """The suite, run here without trouble."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "0")  # its models only say that they take a GPU
        project = Local(cluster_suite(tmp_path_factory.mktemp("here") / "project", NAMES).root)
        project.finish()
    return project


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    with running_slurm() as slurm:
        yield slurm


@pytest.fixture(scope="session")
def fresh(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> OnSlurm:
    """The suite with this Slurm as its site, nothing run."""
    project = OnSlurm(cluster_suite(tmp_path_factory.mktemp("cluster") / "project", NAMES).root)
    written = project.reprise("reprise", "site")
    assert written.returncode == 0, written.stderr
    return project


@pytest.fixture(scope="session")
def ended(here: Local, slurm: Slurm, fresh: OnSlurm) -> Ended:
    """The suite, run through Slurm with trouble."""
    for name in NAMES:
        fresh.trouble(name, "fail" if name == "fails" else "hang")
    run = fresh.start()
    wait_until(lambda: fresh.reached("cancelled").is_file() or not run.is_running(), "a job hangs", LONGEST_S)
    second = fresh.start().wait()
    meet(run, fresh, slurm)
    outcome = run.wait()
    if not outcome.is_ok:
        outcome = Outcome(outcome.returncode, f"{outcome.output}\n{slurm.logs()}")
    return Ended(here, fresh, outcome, second)


def meet(run: Run, project: OnSlurm, slurm: Slurm) -> None:
    """End each job that hangs, as it hangs, until the run has ended."""
    ways: dict[str, Callable[[Reached], object]] = {
        "cancelled": lambda found: ask("scancel", found.job),
        "killed": lambda found: os.kill(found.process, 9),
        "slow": lambda found: None,  # Slurm ends it
        "lost": lambda found: lose(slurm, found),
    }
    waiting = {name: ways[name] for name in NAMES if name in ways}
    end = time.monotonic() + LONGEST_S
    while run.is_running() and time.monotonic() < end:
        for name in [name for name in waiting if project.reached(name).is_file()]:
            waiting.pop(name)(_read(project.reached(name)))
        time.sleep(0.2)


def lose(slurm: Slurm, found: Reached) -> None:
    """A node loses its power."""
    slurm.end(found.node)
    end_job_of_lost_node(found.job)
    ask("scontrol", "update", f"nodename={found.node}", "state=down", "reason=test")


def _read(note: Path) -> Reached:
    process, job, node = note.read_text().split()
    return Reached(int(process), job, node)
