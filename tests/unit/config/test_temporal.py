"""Test the temporal profiles of a suite: the runs that they need, and messages about impossible conditions."""

import pytest
from reprise.core.errors import UserError
from reprise.core.paths import ScoredRun
from reprise.media.ablations import DESCRIPTIONS, PROBE_ABLATIONS
from reprise.plan.runs import Plan
from reprise.plan.targets import check_targets, find_target_runs

from tests.unit.config.conftest import Project

SUITE, SLUG = "config/suites/demo.yaml", "toy-llava-ov"
THREE_ABLATIONS = "temporal_ablations: [none, middle, shuffled]\n"
PROFILE = f"results/temporal/{SLUG}.html"


def list_conditions(plan: Plan, slug: str, benchmark: str) -> dict[str, str]:
    """Return the run of each condition, or the reason why the condition is impossible."""
    items = plan.temporal_profiles[slug][benchmark].items()
    return {name: run.run.name.partition("/")[2] if isinstance(run, ScoredRun) else f"- {run}" for name, run in items}


def test_a_suite_selects_the_ablations_of_its_profiles(project: Project) -> None:
    profile = list_conditions(project.plan(), "toy-llava-ov", "vinoground")
    samplings = {"planned": "fps1", "none": "none", "middle": "fps1.middle", "shuffled": "fps1.shuffled"}
    assert profile == {name: f"paper/{sampling}/{SLUG}" for name, sampling in samplings.items()}
    project.edit(SUITE, THREE_ABLATIONS, "temporal_ablations: [none, sorted]\n")
    *names, last_name = (repr(name) for name in DESCRIPTIONS if name not in PROBE_ABLATIONS)
    assert f"temporal_ablations.1: should be {', '.join(names)} or {last_name}" in project.message()


def test_impossible_ablations_are_named(project: Project) -> None:
    samplings = "{vinoground: linspace1, temporalbench: none}"
    project.edit(SUITE, "overview:\n", f"overview:\n  - {{model: oracle, samplings: {samplings}}}\n")
    project.edit(SUITE, f"temporal: [{SLUG}]\n{THREE_ABLATIONS}", "temporal: [oracle]\n")
    plan = project.plan()
    one_frame = list_conditions(plan, "oracle", "vinoground")
    assert one_frame["none"] == "paper/none/oracle" and one_frame["mismatched"] == "paper/linspace1.mismatched/oracle"
    assert one_frame["middle"].startswith(
        "- sampling 'linspace1.middle': rule 'linspace' selects one frame, which 'middle' does not change"
    )
    without_frames = list_conditions(plan, "oracle", "temporalbench")
    assert without_frames["planned"] == without_frames["none"] == "short/none/oracle"
    assert without_frames["shuffled"].startswith(
        "- sampling 'none.shuffled': it selects no frames, so 'shuffled' does not apply"
    )


def test_missing_transforms_are_named(project: Project) -> None:
    project.edit("config/config.yaml", "  reversed: {show: reversed}\n", "")
    project.edit(SUITE, THREE_ABLATIONS, "")
    assert "has no 'reversed' transform. Add: reversed: {show: reversed}" in project.message()


def test_targets_of_temporal_profiles_are_checked(project: Project) -> None:
    plan = project.plan()
    check_targets(plan, [PROFILE, "results/temporal/toy-llava-ov.items.csv", "results/temporal/all.pdf"])
    profile_runs = {scored.run for scored in find_target_runs(plan, [PROFILE])}
    assert profile_runs == {scored.run for scored in plan.temporal_scored_runs(plan.temporal_profiles)}
    assert profile_runs == {scored.run for scored in find_target_runs(plan, ["results/temporal/all.png"])}
    project.edit("config/suites/paper.yaml", "\nbenchmarks:\n", "\ntemporal: [all]\n\nbenchmarks:\n")
    paper = project.plan("paper")
    for suite_plan, target, advice in (
        (plan, "results/temporal/toy-llava-ovv.html", "Did you mean 'toy-llava-ov.html'?"),
        (plan, "results/temporal/toy-llava-ov.jpg", "Did you mean 'toy-llava-ov."),
        (paper, "results/temporal/gpt-4o.html", "velociti/.*cannot run"),
    ):
        with pytest.raises(UserError, match=f"has no such file. {advice}"):
            check_targets(suite_plan, [target])
