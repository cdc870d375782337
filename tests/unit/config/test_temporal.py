"""The temporal profiles of a suite: the runs that they need, and messages about impossible ones."""

import pytest
from reprise.core.errors import UserError
from reprise.core.paths import ScoredRun
from reprise.media.ablations import DESCRIPTIONS
from reprise.plan.runs import Plan
from reprise.plan.targets import check_targets, find_target_runs

from tests.unit.config.conftest import Project

SUITE, SLUG = "config/suites/demo.yaml", "toy-llava-ov"
FEW = "temporal_ablations: [none, middle, shuffled]\n"
PROFILE = f"results/temporal/{SLUG}.html"


def conditions(plan: Plan, slug: str, benchmark: str) -> dict[str, str]:
    """Return each condition with its run, or why it is impossible."""
    items = plan.temporal[slug][benchmark].items()
    return {name: run.run.name.partition("/")[2] if isinstance(run, ScoredRun) else f"- {run}" for name, run in items}


def test_a_suite_selects_the_ablations_of_its_profiles(project: Project) -> None:
    profile = conditions(project.plan(), "toy-llava-ov", "vinoground")
    samplings = {"planned": "fps1", "none": "none", "middle": "fps1.middle", "shuffled": "fps1.shuffled"}
    assert profile == {name: f"paper/{sampling}/{SLUG}" for name, sampling in samplings.items()}
    project.edit(SUITE, FEW, "temporal_ablations: [none, sorted]\n")
    *most, last = map(repr, DESCRIPTIONS)
    assert f"temporal_ablations.1: should be {', '.join(most)} or {last}" in project.message()


def test_impossible_ablations_are_named(project: Project) -> None:
    few = "{vinoground: linspace1, temporalbench: none}"
    project.edit(SUITE, "overview:\n", f"overview:\n  - {{model: oracle, samplings: {few}}}\n")
    project.edit(SUITE, f"temporal: [{SLUG}]\n{FEW}", "temporal: [oracle]\n")
    plan = project.plan()
    single = conditions(plan, "oracle", "vinoground")
    assert single["none"] == "paper/none/oracle" and single["mismatched"] == "paper/linspace1.mismatched/oracle"
    assert single["middle"].startswith(
        "- sampling 'linspace1.middle': rule 'linspace' selects one frame, which 'middle' does not change"
    )
    blind = conditions(plan, "oracle", "temporalbench")
    assert blind["planned"] == blind["none"] == "short/none/oracle"
    assert blind["shuffled"].startswith(
        "- sampling 'none.shuffled': it selects no frames, so 'shuffled' does not apply"
    )


def test_missing_transforms_are_named(project: Project) -> None:
    project.edit("config/config.yaml", "  reversed: {show: reversed}\n", "")
    project.edit(SUITE, FEW, "")
    assert "has no 'reversed' transform. Add: reversed: {show: reversed}" in project.message()


def test_targets_of_profiles(project: Project) -> None:
    plan = project.plan()
    check_targets(plan, [PROFILE, "results/temporal/toy-llava-ov.items.csv", "results/temporal/all.pdf"])
    wanted = {one.run for one in find_target_runs(plan, [PROFILE])}
    assert wanted == {one.run for one in plan.temporal_scored_runs(plan.temporal)}
    assert wanted == {one.run for one in find_target_runs(plan, ["results/temporal/all.png"])}
    project.edit("config/suites/paper.yaml", "\nbenchmarks:\n", "\ntemporal: [all]\n\nbenchmarks:\n")
    paper = project.plan("paper")
    for one, target, said in (
        (plan, "results/temporal/toy-llava-ovv.html", "Did you mean 'toy-llava-ov.html'?"),
        (plan, "results/temporal/toy-llava-ov.jpg", "Did you mean 'toy-llava-ov."),
        (paper, "results/temporal/gpt-4o.html", "velociti/.*cannot run"),
    ):
        with pytest.raises(UserError, match=f"has no such file. {said}"):
            check_targets(one, [target])
