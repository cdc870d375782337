"""A part of a suite by its name: what it is called, where it lies, what everything says of it."""

import pytest
from reprise.benchmarks.keys import AnnotationsKey
from reprise.config.load import load
from reprise.plan.runs import Plan
from reprise.plan.suite import collect_keys
from reprise.tables.keys import TableKey

from tests.unit.config.conftest import CODE, Project


def test_a_part_has_files_of_its_own_and_the_answers_of_the_whole(project: Project) -> None:
    whole, part = (Plan(load(project.root, {"suite": name})) for name in ("demo", "demo-limit5"))
    names = (part.results.folder.name, part.config.whole, part.config.file)
    assert names == ("demo-limit5", "demo", "config/suites/demo.yaml")
    keys, of_whole = collect_keys(part, CODE), collect_keys(whole, CODE)
    run = next(run for run in part.runs() if run.model == "toy-llava-ov")
    assert keys[part.results.run_key(run)] == of_whole[whole.results.run_key(run)], "one journal for both"
    asked = keys[part.results.key("annotations", "velociti")]
    assert isinstance(asked, AnnotationsKey) and asked.limit == 5
    assert "limit" not in of_whole[whole.results.key("annotations", "velociti")].model_dump()
    tables = [key for key in keys.values() if isinstance(key, TableKey)]
    assert tables and {key.suite for key in tables} == {"demo-limit5"}
    assert {key.suite_title for key in tables} == {"Demo (toy world), a part: 5 units of each benchmark"}
    (notice,) = {key.notice for key in tables}
    assert notice.startswith("A part only: at most 5 units (videos, or pairs of Vinoground) of each benchmark")
    assert notice.endswith("Rendered clips and tiny checkpoints; they say nothing about real models.")


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
