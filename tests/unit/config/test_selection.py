"""Test the selection of benchmarks: runs, overview and temporal profiles of a suite with `benchmarks=`."""

from pathlib import Path

import pytest
from reprise.commands.shared import load_plan
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings

from tests.unit.config.conftest import Project

SUITE = "config/suites/demo.yaml"


def list_benchmarks(plan: Plan) -> set[str]:
    return {run.benchmark for run in plan.runs()}


def test_a_selection_limits_all_runs_and_keeps_their_settings(project: Project) -> None:
    everything, selected = project.plan(), Plan(load(Path(), {"benchmarks": "velociti,vinoground"}))
    assert list_benchmarks(everything) > list_benchmarks(selected) == {"velociti", "vinoground"}
    assert {name for profile in selected.temporal_profiles.values() for name in profile} == {"velociti", "vinoground"}
    settings, all_of_suite = all_settings(selected), all_settings(everything)
    answers = [name for name in settings if name.startswith(("velociti/", "vinoground/"))]
    assert len(answers) > 10 and all(settings[name] == all_of_suite[name] for name in answers), "nothing runs again"


def test_a_line_of_the_overview_does_not_override_a_selection(project: Project) -> None:
    project.edit(SUITE, "overview:\n", "overview:\n  - {model: oracle, benchmarks: [vinoground]}\n")
    plan = load_plan(None, "velociti")
    assert list(plan.overview_specs) == ["velociti"]
    models = [row.model for row in plan.overview_specs["velociti"].rows()]
    assert models == ["random", "toy-llava-ov-early", "toy-llava-ov"], "a line without velociti is left out"
    assert {scored.run.benchmark for scored in plan.temporal_scored_runs(["toy-llava-ov"])} == {"velociti"}


def test_an_unknown_benchmark_is_reported(project: Project) -> None:
    with pytest.raises(UserError, match=r"^--benchmarks: unknown benchmark 'velocit'\. Did you mean 'velociti'"):
        load_plan(None, "vinoground,velocit")
    with pytest.raises(UserError, match=r"^--config: benchmarks: unknown benchmark 'velocit'"):
        load(Path(), {"benchmarks": "velocit"})
    project.edit("config/config.yaml", "suite: demo", "suite: demo\nbenchmarks: [velocit]")
    with pytest.raises(UserError, match=r"^config/config\.yaml: benchmarks: unknown benchmark 'velocit'"):
        load(Path())
