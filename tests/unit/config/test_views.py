"""Views of samplings: where they are declared, what they are named, and which are refused."""

import pytest
from reprise.config.load import load
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan

from tests.unit.config.conftest import Project

MAIN, SUITE, TABLES = "config/config.yaml", "config/suites/demo.yaml", "config/tables/demo/mmbench_video.yaml"


def test_a_view_is_named_behind_a_sampling_that_it_fits(project: Project) -> None:
    samplings = load(project.root).main.samplings
    assert samplings["interior16.grid4x4"] == samplings["interior16"] | {
        "view": {"show": "grid", "rows": 4, "columns": 4}
    }
    assert "linspace16.grid4x4" in samplings
    assert not {"interior8.grid4x4", "fps1.grid4x4", "none.grid4x4", "interior16.grid4x4.grid4x4"} & set(samplings)


def test_the_paper_s_row_of_a_grid_asks_for_one(project: Project) -> None:
    config = load(project.root, {"suite": "paper"})
    (row,) = [row for row in config.tables["mmbench_video"].tables["table3"].rows() if row.model == "sharegpt4video-8b"]
    assert row.sampling == "interior16.grid4x4"


def test_a_view_changes_the_key_of_its_run_and_of_no_other(project: Project) -> None:
    runs = [f"unpacked/{one}/toy-llava-ov" for one in ("interior16", "interior16.grid4x4")]
    config = load(project.root)
    entry = config.suite.benchmarks["mmbench_video"]
    suite = config.suite.model_copy(
        update={
            "benchmarks": config.suite.benchmarks
            | {"mmbench_video": entry.model_copy(update={"extra_runs": tuple(runs)})}
        }
    )
    plan = Plan(config.model_copy(update={"suite": suite}))
    keys = collect_keys(plan)
    found = {run: keys[plan.results.run_key(run)].model_dump() for run in plan.runs()}
    alone, viewed = (next(key for run, key in found.items() if run.name.endswith(f"/{one}")) for one in runs)
    assert alone["answers"]["sampling"] == {"rule": "interior", "frames": 16}
    assert alone["key"] != viewed["key"]
    assert all("view" not in key["answers"]["sampling"] for key in found.values() if key is not viewed)


ROW = "sampling: interior8}"
MISTAKES = [
    ("interior8.grid4x4", "sampling 'interior8.grid4x4': a grid of 4 x 4 holds 16 frames, rule 'interior' shows 8."),
    ("fps1_floor.grid4x4", "rule 'fps_floor' shows a number that depends on the clip."),
    ("interior16.grid4x5", "sampling 'interior16' has no view 'grid4x5'. Did you mean 'grid4x4'? Allowed: grid4x4."),
    ("interier16.grid4x4", "unknown sampling 'interier16.grid4x4'. Did you mean 'interior16.grid4x4'?"),
]


@pytest.mark.parametrize(("name", "message"), MISTAKES)
def test_a_view_that_makes_no_sense_is_refused(name: str, message: str, project: Project) -> None:
    run = f"    extra_runs: [unpacked/{name}/random]\n"
    project.edit(SUITE, "  mmbench_video:\n", f"  mmbench_video:\n{run}")
    assert message in project.message()


def test_people_are_shown_no_view(project: Project) -> None:
    project.edit("config/suites/paper.yaml", "run: short/all/humans", "run: short/linspace16.grid4x4/humans")
    assert "'short/linspace16.grid4x4/humans' has a view, by which models are shown frames" in project.message("paper")


def test_a_view_is_declared_in_its_own_place(project: Project) -> None:
    inline = "  mine: {rule: interior, frames: 4, view: {show: grid, rows: 2, columns: 2}}\n"
    project.edit(MAIN, "samplings:\n", f"samplings:\n{inline}")
    assert "'mine': a view is declared in `views:`" in project.message()


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("{show: gird, rows: 4, columns: 4}", "views.grid4x4.show: should be 'grid', found 'gird'."),
        ("{show: grid, rows: 0, columns: 4}", "views.grid4x4.rows: should be greater than or equal to 1, found 0."),
    ],
)
def test_a_view_is_checked(view: str, message: str, project: Project) -> None:
    project.edit(MAIN, "{show: grid, rows: 4, columns: 4}", view)
    assert message in project.message()
