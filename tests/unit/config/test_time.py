"""The cards of time of a suite: which runs they need, and what is said where there can be none."""

import pytest
from reprise.core.errors import UserError
from reprise.core.paths import Scored
from reprise.media.views import IN_WORDS
from reprise.plan.runs import Plan
from reprise.plan.targets import asked_by, check_targets

from tests.unit.config.conftest import Project

SUITE, SLUG = "config/suites/demo.yaml", "toy-llava-ov"
FEW = "time_views: [none, middle, shuffled]\n"
CARD = f"results/time/{SLUG}.html"


def views(plan: Plan, slug: str, benchmark: str) -> dict[str, str]:
    """View -> its run, or why there is none."""
    found = plan.time[slug][benchmark].items()
    return {view: one.run.name.partition("/")[2] if isinstance(one, Scored) else f"- {one}" for view, one in found}


def test_a_suite_says_which_views_its_cards_ask(project: Project) -> None:
    asked = views(project.plan(), "toy-llava-ov", "vinoground")
    shown = {"planned": "fps1", "none": "none", "middle": "fps1.middle", "shuffled": "fps1.shuffled"}
    assert asked == {view: f"paper/{sampling}/{SLUG}" for view, sampling in shown.items()}
    project.edit(SUITE, FEW, "time_views: [none, sorted]\n")
    *most, last = map(repr, IN_WORDS)
    assert f"time_views.1: should be {', '.join(most)} or {last}" in project.message()


def test_what_a_view_cannot_be_shown_of_is_named(project: Project) -> None:
    few = "{vinoground: linspace1, temporalbench: none}"
    project.edit(SUITE, "overview:\n", f"overview:\n  - {{model: oracle, samplings: {few}}}\n")
    project.edit(SUITE, f"time: [{SLUG}]\n{FEW}", "time: [oracle]\n")
    plan = project.plan()
    one = views(plan, "oracle", "vinoground")
    assert one["none"] == "paper/none/oracle" and one["another"] == "paper/linspace1.another/oracle"
    assert one["middle"].startswith("- sampling 'linspace1.middle': rule 'linspace' shows one frame, which is the same")
    blind = views(plan, "oracle", "temporalbench")
    assert blind["planned"] == blind["none"] == "short/none/oracle"
    assert blind["shuffled"].startswith("- sampling 'none.shuffled': it shows no frame, so that there is none to show")


def test_views_that_cards_need_are_named(project: Project) -> None:
    project.edit("config/config.yaml", "  reversed: {show: reversed}\n", "")
    project.edit(SUITE, FEW, "")
    assert "has no view that shows it. Add: reversed: {show: reversed}" in project.message()


def test_targets_of_cards(project: Project) -> None:
    plan = project.plan()
    check_targets(plan, [CARD, "results/time/toy-llava-ov.items.csv", "results/time/all.pdf"])
    wanted = {one.run for one in asked_by(plan, [CARD])}
    assert wanted == {one.run for one in plan.time_scored(plan.time)}
    assert wanted == {one.run for one in asked_by(plan, ["results/time/all.png"])}
    project.edit("config/suites/paper.yaml", "\nbenchmarks:\n", "\ntime: [all]\n\nbenchmarks:\n")
    paper = project.plan("paper")
    for one, target, said in (
        (plan, "results/time/toy-llava-ovv.html", "Did you mean 'toy-llava-ov.html'?"),
        (plan, "results/time/toy-llava-ov.jpg", "Did you mean 'toy-llava-ov."),
        (paper, "results/time/gpt-4o.html", "velociti/.*cannot be made"),
    ):
        with pytest.raises(UserError, match=f"makes no such file. {said}"):
            check_targets(one, [target])
