"""The workflow through a real Slurm: what jobs are asked for, how they end, and that the numbers are those of a run here."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.conftest import NAMES, Ended
from tests.cluster.slurm import NotHereError, Slurm, ask, refuse_others
from tests.cluster.suite import RULE, SUBMITTED, TWICE, submissions
from tests.workflow.conftest import copy_project
from tests.workflow.test_howto import Page, typed

PARTITION = re.compile(r"Auto-selected partition '(\w+)' for job (\S+)")


def allocations(name: str, output: str) -> list[str]:
    """The jobs of Slurm that were submitted for the runs of a model."""
    return re.findall(rf"group_answers_vinoground_{name}_infer/(\d+)\.log", output)


def test_the_page_is_followed_as_far_as_a_dry_run(tmp_path: Path) -> None:
    project, page = copy_project(tmp_path / "project"), Page("howto/cluster.md")
    page.follow(project)
    make, site, *runs = page.commands
    assert [make, site[0]] == [["make", "cluster"], "generate-slurm-partition-config"]  # typed for what follows
    for command in runs:
        typed(project, [*command[:2], "--dry-run", *command[2:]])


def test_a_machine_that_has_a_slurm_is_left_alone(slurm: Slurm) -> None:
    with pytest.raises(NotHereError, match=r"slurm\.conf exists: this machine has a Slurm of its own"):
        refuse_others()


def test_every_number_is_that_of_a_run_here(ended: Ended) -> None:
    assert ended.outcome.is_ok, ended.outcome.tail(400)
    assert ended.cluster.numbers() == ended.here.numbers()


def test_a_second_workflow_in_the_folder_is_told_to_wait(ended: Ended) -> None:
    assert ended.second.returncode == 1 and not SUBMITTED.search(ended.second.output)
    assert "Directory cannot be locked" in ended.second.output


@pytest.mark.parametrize("name", NAMES)
def test_no_question_is_asked_twice(ended: Ended, name: str) -> None:
    assert not (ended.cluster.root / "trouble" / name).exists(), "it met no trouble"
    found, here = (project.text(f"asked/{name}").split() for project in (ended.cluster, ended.here))
    runs = 2 if name == TWICE else 1
    assert sorted(found) == sorted(here) and set(Counter(found).values()) == {runs}


def test_jobs_are_submitted_where_they_must_and_once_but_for_a_reason_and_more_is_asked_for_then(
    ended: Ended, slurm: Slurm
) -> None:
    submitted, restarted = submissions(ended.outcome)
    assert submitted - Counter(submitted.keys()) == restarted
    # A job whose node is lost is started again by Slurm itself.
    assert restarted.total() == len([name for name in NAMES if name != "lost"])
    given = [ask("scontrol", "show", "job", job) for job in dict.fromkeys(allocations("fails", ended.outcome.output))]
    assert ["mem=400M" in given[0], "mem=800M" in given[1], len(given)] == [True, True, 2]
    chosen = Counter(PARTITION.findall(ended.outcome.output))
    short = ("sources", "clips", "clip_metadata", "_judge")
    assert {partition for partition, job in chosen if job.endswith(short)} == {"short"}
    is_accelerated = any(partition == "accel" and job.endswith("_infer") for partition, job in chosen)
    assert is_accelerated == ("killed" in NAMES or "lost" in NAMES)
    # Jobs of seconds are not submitted.
    measured = {"construction_sources", "construction_cuts", "construction_clip_metadata", "construction_write"}
    asking = {"sources", "clips", "clip_metadata", "infer", "infer_partition", "judge"}
    assert {rule for rule, _ in RULE.findall(ended.outcome.output)} == asking | measured


def test_runs_of_a_model_share_an_allocation_one_after_the_other(ended: Ended) -> None:
    """It is given the time of both, an eighth of the partition's each, and the CPU and the memory of one."""
    assert len(set(allocations(TWICE, ended.outcome.output))) == 2, "once, and again after it was cancelled"
    assert re.search(r"\bTimeLimit=00:14:00\b", ended.allocation), ended.allocation
    assert re.search(r"\bNumCPUs=1\b", ended.allocation) and "mem=400M" in ended.allocation, ended.allocation


def test_a_second_run_has_nothing_to_do(ended: Ended, slurm: Slurm) -> None:
    outcome = ended.cluster.start().wait()
    assert outcome.is_ok and "Nothing to be done" in outcome.output, outcome.tail()
