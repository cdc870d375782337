"""Test the workflow through a real Slurm: submitted jobs, how they end, and results equal to those of a local run."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.conftest import FAULTY_MODELS, FinishedRuns
from tests.cluster.slurm import Slurm, SlurmUnavailableError, check_no_other_slurm, run_slurm
from tests.cluster.suite import MODEL_WITH_TWO_RUNS, RULE, SUBMITTED, submissions
from tests.workflow.conftest import copy_project
from tests.workflow.test_howto import Page, run_command

PARTITION = re.compile(r"Auto-selected partition '(\w+)' for job (\S+)")


def allocations(name: str, output: str) -> list[str]:
    """Return the ids of the Slurm jobs for the runs of a model."""
    return re.findall(rf"group_answers_vinoground_{name}_infer/(\d+)\.log", output)


def test_the_commands_of_the_page_up_to_a_dry_run(tmp_path: Path) -> None:
    project, page = copy_project(tmp_path / "project"), Page("howto/cluster.md")
    page.follow(project)
    make_command, site_command, *run_commands = page.commands
    assert [make_command, site_command[0]] == [
        ["make", "cluster"],
        "generate-slurm-partition-config",
    ]  # These commands set up the site.
    for command in run_commands:
        run_command(project, [*command[:2], "--dry-run", *command[2:]])


def test_a_machine_that_has_a_slurm_is_left_alone(slurm: Slurm) -> None:
    with pytest.raises(SlurmUnavailableError, match=r"slurm\.conf exists: this machine has a Slurm of its own"):
        check_no_other_slurm()


def test_results_equal_those_of_a_local_run(finished: FinishedRuns) -> None:
    assert finished.outcome.is_ok, finished.outcome.tail(400)
    assert finished.cluster.numbers() == finished.local.numbers()


def test_a_second_workflow_in_the_folder_is_refused(finished: FinishedRuns) -> None:
    assert finished.second.returncode == 1 and not SUBMITTED.search(finished.second.output)
    assert "Directory cannot be locked" in finished.second.output


@pytest.mark.parametrize("name", FAULTY_MODELS)
def test_no_request_is_sent_twice(finished: FinishedRuns, name: str) -> None:
    assert not (finished.cluster.root / "trouble" / name).exists(), "the fault has not happened"
    cluster_requests, local_requests = (
        project.text(f"asked/{name}").split() for project in (finished.cluster, finished.local)
    )
    runs = 2 if name == MODEL_WITH_TWO_RUNS else 1
    assert sorted(cluster_requests) == sorted(local_requests) and set(Counter(cluster_requests).values()) == {runs}


def test_jobs_use_the_right_partition_and_restart_with_more_memory_after_a_failure(
    finished: FinishedRuns, slurm: Slurm
) -> None:
    submitted, restarted = submissions(finished.outcome)
    assert submitted - Counter(submitted.keys()) == restarted
    # Slurm itself restarts a job after the loss of its node.
    assert restarted.total() == len([name for name in FAULTY_MODELS if name != "lost"])
    job_descriptions = [
        run_slurm("scontrol", "show", "job", job)
        for job in dict.fromkeys(allocations("fails", finished.outcome.output))
    ]
    assert ["mem=400M" in job_descriptions[0], "mem=800M" in job_descriptions[1], len(job_descriptions)] == [
        True,
        True,
        2,
    ]
    partition_by_job = Counter(PARTITION.findall(finished.outcome.output))
    short_jobs = ("sources", "clips", "clip_metadata", "_judge")
    assert {partition for partition, job in partition_by_job if job.endswith(short_jobs)} == {"short"}
    is_accelerated = any(partition == "accel" and job.endswith("_infer") for partition, job in partition_by_job)
    assert is_accelerated == ("killed" in FAULTY_MODELS or "lost" in FAULTY_MODELS)
    # Rules that take only seconds run locally.
    construction_rules = {
        "construction_sources",
        "construction_cuts",
        "construction_clip_metadata",
        "construction_write",
    }
    model_rules = {"sources", "clips", "clip_metadata", "infer", "infer_partition", "judge"}
    assert {rule for rule, _ in RULE.findall(finished.outcome.output)} == model_rules | construction_rules


def test_runs_of_a_model_share_an_allocation_one_after_the_other(finished: FinishedRuns) -> None:
    """The allocation has the time of both runs, and the CPU and memory of one."""
    assert len(set(allocations(MODEL_WITH_TWO_RUNS, finished.outcome.output))) == 2, (
        "one allocation, and another after its cancellation"
    )
    assert re.search(r"\bTimeLimit=00:14:00\b", finished.allocation), finished.allocation
    assert re.search(r"\bNumCPUs=1\b", finished.allocation) and "mem=400M" in finished.allocation, finished.allocation


def test_a_second_run_has_nothing_to_do(finished: FinishedRuns, slurm: Slurm) -> None:
    outcome = finished.cluster.start().wait()
    assert outcome.is_ok and "Nothing to be done" in outcome.output, outcome.tail()
