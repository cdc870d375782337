"""One run of the suite here and one through Slurm, in which jobs are ended in the ways that a cluster knows.

CLUSTER=whole adds a kill, a time limit, a lost node and two users of one machine. See `make test-cluster`.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.cluster.slurm import Slurm, ask, running_slurm, wait_until
from tests.cluster.suite import TWICE, Local, OnSlurm, cluster_suite
from tests.faults.runs import Outcome, Run

SHORT = ("fails", "cancelled")
WHOLE = (*SHORT, "killed", "slow", "lost")
LONGEST_S = 600
# Of the Slurm that `tests/cluster/slurm.py` starts, which keeps no accounts.
PARTITIONS = """\
partitions:
  accel: {max_runtime: 120, max_mem_mb: 8000, max_threads: 8, max_gpu: 1}
  short: {max_runtime: 60, max_mem_mb: 8000, max_threads: 8}
"""
FORM = os.environ.get("CLUSTER", "short")
NAMES = SHORT if FORM == "short" else WHOLE
# Other users must be able to read the environment, which is not so everywhere.
collect_ignore = ["test_users.py"] if FORM == "short" else []


@dataclass(frozen=True)
class Ended:
    """What is left of the two runs."""

    here: Local
    cluster: OnSlurm
    outcome: Outcome
    second: Outcome
    """of another snakemake that was started in the folder meanwhile"""
    allocation: str
    """what Slurm says of the allocation that two runs of a model share"""


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
    project.write("profiles/slurm/partitions.yaml", PARTITIONS)
    project.edit("profiles/slurm/config.yaml", "slurm-status-command: sacct", "slurm-status-command: squeue")
    return project


@pytest.fixture(scope="session")
def ended(here: Local, slurm: Slurm, fresh: OnSlurm) -> Ended:
    """The suite, run through Slurm with trouble."""
    for name in NAMES:
        fresh.trouble(name, "fail" if name == "fails" else "hang")
    run = fresh.start()
    wait_until(lambda: fresh.reached("cancelled").is_file() or not run.is_running(), "a job hangs", LONGEST_S)
    second = fresh.start().wait()
    allocation = ask("scontrol", "show", "job", fresh.reached(TWICE).read_text().split()[1])
    meet(run, fresh, slurm)
    outcome = run.wait()
    if not outcome.is_ok:
        outcome = Outcome(outcome.returncode, f"{outcome.output}\n{slurm.logs()}")
    return Ended(here, fresh, outcome, second, allocation)


def meet(run: Run, project: OnSlurm, slurm: Slurm) -> None:
    """End each job that hangs, as it hangs, until the run has ended."""
    ways: dict[str, Callable[[str, str, str], object]] = {
        "cancelled": lambda process, job, node: ask("scancel", job),
        "killed": lambda process, job, node: os.kill(int(process), 9),
        "slow": lambda process, job, node: None,  # Slurm ends it
        "lost": lambda process, job, node: slurm.lose(node, job),
    }
    waiting = {name: ways[name] for name in NAMES if name in ways}
    end = time.monotonic() + LONGEST_S
    while run.is_running() and time.monotonic() < end:
        for name in [name for name in waiting if project.reached(name).is_file()]:
            waiting.pop(name)(*project.reached(name).read_text().split())
        time.sleep(0.2)
