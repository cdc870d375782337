"""The rehearsal through the real Slurm: the papers' tables at full size, by a baseline in place of every model."""

from collections import Counter
from dataclasses import dataclass

import pytest

from tests.cluster.slurm import Slurm
from tests.cluster.suite import RULE, OnSlurm, submissions
from tests.faults.runs import Outcome
from tests.workflow.conftest import copy_project

# Each job starts Snakemake twice on its node: on two cores it takes about half an hour.
LONGEST_S = 7200
AT_ONCE = "8"
ON_NODES = {"sources", "clips", "facts", "infer", "judge"}


@dataclass(frozen=True)
class Rehearsed:
    """What is left of it."""

    project: OnSlurm
    planned: Counter[str]
    """jobs by rule, as a dry run has them"""
    outcome: Outcome


@pytest.fixture(scope="module")
def rehearsed(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    project = OnSlurm(copy_project(tmp_path_factory.mktemp("rehearsal") / "project").root, targets=("all",))
    project.edit("config/config.yaml", "suite: demo", "suite: rehearsal")
    project.said("site")
    planned = project.start("--dry-run").wait()
    assert planned.is_ok, planned.tail()
    run = project.start("--jobs", AT_ONCE)
    try:
        outcome = run.wait(LONGEST_S)
    finally:
        run.kill()  # it has a session of its own, which Ctrl-C does not reach
    return Rehearsed(project, Counter(rule for rule, _ in RULE.findall(planned.output)), outcome)


def test_every_table_is_complete(rehearsed: Rehearsed) -> None:
    """But for what is undefined: chance has no choice bias."""
    assert rehearsed.outcome.is_ok, rehearsed.outcome.tail(200)
    assert rehearsed.project.said("incomplete").splitlines() == [
        "velociti/table5: Random: Control Bias (mc_bias), Benchmark Average Bias (mc_bias)",
        "2 numbers are missing in 1 tables",
    ]


def test_each_job_of_a_node_is_submitted_once_or_the_log_says_why(rehearsed: Rehearsed) -> None:
    submitted, restarted = submissions(rehearsed.outcome)
    assert submitted - Counter(submitted.keys()) == restarted
    assert len(submitted) == sum(rehearsed.planned[rule] for rule in ON_NODES) > 0
    ran = Counter(rule for rule, _ in RULE.findall(rehearsed.outcome.output))
    assert ran.total() - restarted.total() == len(submitted)
    assert ran.keys() == {rule for rule in ON_NODES if rehearsed.planned[rule]}


def test_nothing_is_left_to_do(rehearsed: Rehearsed) -> None:
    outcome = rehearsed.project.start().wait()
    assert outcome.is_ok and "Nothing to be done" in outcome.output, outcome.tail()
