"""A part of a suite by its name: what it is called, where it lies, what everything says of it."""

import pytest
from reprise.benchmarks.keys import AnnotationsKey
from reprise.config.load import load
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.tables.keys import TableKey

from tests.unit.config.conftest import Project


def test_a_part_has_files_of_its_own_and_the_answers_of_the_whole(project: Project) -> None:
    whole, part = (Plan(load(project.root, {"suite": name})) for name in ("demo", "demo-limit5"))
    assert (part.results.folder.name, part.config.whole, part.config.file) == (
        "demo-limit5", "demo", "config/suites/demo.yaml",
    )  # fmt: skip
    keys, of_whole = collect_keys(part), collect_keys(whole)
    run = next(run for run in part.runs() if run.model == "toy-llava-ov")
    assert keys[part.results.run_key(run)] == of_whole[whole.results.run_key(run)], "one journal for both"
    asked, all_asked = (
        keys[part.results.key("annotations", "velociti")],
        of_whole[whole.results.key("annotations", "velociti")],
    )
    assert isinstance(asked, AnnotationsKey) and isinstance(all_asked, AnnotationsKey)
    assert (asked.limit, all_asked.limit) == (5, None) and "limit" not in all_asked.model_dump()


def test_everything_that_is_read_says_that_it_is_a_part(project: Project) -> None:
    plan = Plan(load(project.root, {"suite": "demo-limit5"}))
    keys = [key for key in collect_keys(plan).values() if isinstance(key, TableKey)]
    assert keys and {key.suite for key in keys} == {"demo-limit5"}
    for key in keys:
        assert key.suite_title == "Demo (toy world), a part: 5 units of each benchmark"
        assert key.notice.startswith("A part only: at most 5 units (videos, or pairs of Vinoground) of each benchmark")
        assert key.notice.endswith("Rendered clips and tiny checkpoints; they say nothing about real models.")


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        ("dmo-limit5", "unknown suite 'dmo'. Did you mean 'demo'?"),
        ("demo-limit0", "unknown suite 'demo-limit0'."),
        ("demo-limit", "unknown suite 'demo-limit'."),
        ("construction-limit5", "config/suites/construction.yaml: it makes benchmarks ("),
    ],
)
def test_a_name_that_names_no_part(project: Project, suite: str, message: str) -> None:
    assert message in project.message(suite)
