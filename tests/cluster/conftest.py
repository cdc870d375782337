"""Fixtures with a local run of the suite and a run through Slurm, in which jobs end in several ways.

CLUSTER=whole adds a killed job, a time limit, a lost node, and two users of one machine. See `make test-cluster`.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.cluster.slurm import Slurm, run_slurm, running_slurm, wait_until
from tests.cluster.suite import GPU, MODEL_WITH_TWO_RUNS, MODELS, Local, OnSlurm, cluster_suite
from tests.faults.runs import Outcome, Run

# Models of the suite, each named after what happens to its job.
SHORT_FORM_MODELS = ("fails", "cancelled")
WHOLE_FORM_MODELS = (*SHORT_FORM_MODELS, "killed", "slow", "lost")
LONGEST_S = 600
# The partitions of the Slurm that `tests/cluster/slurm.py` starts. It has no accounting.
PARTITIONS = """\
partitions:
  accel: {max_runtime: 120, max_mem_mb: 8000, max_threads: 8, max_gpu: 1}
  short: {max_runtime: 60, max_mem_mb: 8000, max_threads: 8}
"""
FORM = os.environ.get("CLUSTER", "short")
FAULTY_MODELS = SHORT_FORM_MODELS if FORM == "short" else WHOLE_FORM_MODELS
# The test of two users needs an environment that other users can read.
collect_ignore = ["test_users.py"] if FORM == "short" else []


@dataclass(frozen=True)
class FinishedRuns:
    """The projects of the local run and of the run through Slurm, and what the latter returned."""

    local: Local
    cluster: OnSlurm
    outcome: Outcome
    """outcome of the run through Slurm"""
    second: Outcome
    """outcome of another snakemake that started in the same folder during the run"""
    allocation: str
    """Slurm's description of the allocation that two runs of a model share"""


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Local:
    """Return the suite after a local run without faults."""
    project = Local(cluster_suite(tmp_path_factory.mktemp("here") / "project", FAULTY_MODELS).root)
    for name in FAULTY_MODELS:
        if GPU in MODELS[name]:  # The nodes of the cluster declare GPUs, which no model uses. This machine has none.
            project.edit(f"config/models/{name}.yaml", GPU, "")
    project.finish()
    return project


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    with running_slurm() as slurm:
        yield slurm


@pytest.fixture(scope="session")
def fresh(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> OnSlurm:
    """Return the suite before its first run, with a profile for this Slurm."""
    project = OnSlurm(cluster_suite(tmp_path_factory.mktemp("cluster") / "project", FAULTY_MODELS).root)
    project.write("profiles/slurm/partitions.yaml", PARTITIONS)
    project.edit("profiles/slurm/config.yaml", "slurm-status-command: sacct", "slurm-status-command: squeue")
    return project


@pytest.fixture(scope="session")
def finished(local: Local, slurm: Slurm, fresh: OnSlurm) -> FinishedRuns:
    """Return the suite after a run through Slurm with faults."""
    for name in FAULTY_MODELS:
        fresh.trouble(name, "fail" if name == "fails" else "hang")
    run = fresh.start()
    wait_until(lambda: fresh.reached("cancelled").is_file() or not run.is_running(), "a job hangs", LONGEST_S)
    second = fresh.start().wait()
    allocation = run_slurm("scontrol", "show", "job", fresh.reached(MODEL_WITH_TWO_RUNS).read_text().split()[1])
    end_hanging_jobs(run, fresh, slurm)
    outcome = run.wait()
    if not outcome.is_ok:
        outcome = Outcome(outcome.returncode, f"{outcome.output}\n{slurm.logs()}")
    return FinishedRuns(local, fresh, outcome, second, allocation)


def end_hanging_jobs(run: Run, project: OnSlurm, slurm: Slurm) -> None:
    """End the hanging jobs, each in the way that its model is named after, until the run has ended."""
    end_by_name: dict[str, Callable[[str, str, str], object]] = {
        "cancelled": lambda process, job, node: run_slurm("scancel", job),
        "killed": lambda process, job, node: os.kill(int(process), 9),
        "slow": lambda process, job, node: None,  # The time limit ends the job.
        "lost": lambda process, job, node: slurm.lose(node, job),
    }
    waiting = {name: end_by_name[name] for name in FAULTY_MODELS if name in end_by_name}
    end = time.monotonic() + LONGEST_S
    while run.is_running() and time.monotonic() < end:
        for name in [name for name in waiting if project.reached(name).is_file()]:
            waiting.pop(name)(*project.reached(name).read_text().split())
        time.sleep(0.2)
