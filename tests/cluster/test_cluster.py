"""The workflow through a real Slurm: what jobs are asked for, how they end, and that the numbers are those of a run here."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.conftest import NAMES, Ended
from tests.cluster.slurm import NotHereError, Slurm, refuse_others
from tests.cluster.suite import RULE, SUBMITTED, submissions
from tests.workflow.conftest import copy_project
from tests.workflow.test_howto import Page, typed

PARTITION = re.compile(r"Auto-selected partition '(\w+)' for job (\w+)")


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
    assert sorted(found) == sorted(here) and len(set(found)) == len(found)


def test_jobs_are_submitted_where_they_must_and_once_but_for_a_reason_and_more_is_asked_for_then(ended: Ended) -> None:
    submitted, restarted = submissions(ended.outcome)
    assert submitted - Counter(submitted.keys()) == restarted
    # A job whose node is lost is started again by Slurm itself.
    assert restarted.total() == len([name for name in NAMES if name != "lost"])
    asked_for = [resources for rule, resources in RULE.findall(ended.outcome.output) if rule == "infer"]
    assert any("mem_mb=400," in one for one in asked_for) and any("mem_mb=800," in one for one in asked_for)
    chosen = Counter(PARTITION.findall(ended.outcome.output))
    assert {partition for partition, rule in chosen if rule in ("sources", "clips", "facts", "judge")} == {"short"}
    assert (chosen["accel", "infer"] > 0) == ("killed" in NAMES or "lost" in NAMES)
    # Jobs of seconds are not submitted.
    measured = {"construction_sources", "construction_cuts", "construction_facts", "construction_write"}
    asking = {"sources", "clips", "facts", "infer", "infer_piece", "judge"}
    assert {rule for rule, _ in RULE.findall(ended.outcome.output)} == asking | measured


def test_a_second_run_has_nothing_to_do(ended: Ended, slurm: Slurm) -> None:
    outcome = ended.cluster.start().wait()
    assert outcome.is_ok and "Nothing to be done" in outcome.output, outcome.tail()
