"""The overview of a suite: which run stands behind each line, and what is said where a line cannot be."""

import pytest
from reprise.config.load import load
from reprise.config.suite import OverviewLine
from reprise.plan.runs import Plan, run_of

from tests.unit.config.conftest import Project

SUITE, TABLES, RUN = "config/suites/demo.yaml", "config/tables/demo/vinoground.yaml", "run: [local]"
LINES = "overview:\n"


def runs(project: Project) -> dict[str, list[str]]:
    """Model -> the runs of its line, as a table names them, by benchmark."""
    plan = Plan(load(project.root))
    found: dict[str, list[str]] = {}
    for benchmark, spec in plan.overview.items():
        for row in spec.rows():
            run = run_of(benchmark, row)
            found.setdefault(row.label, []).append(run.name.rpartition("/")[0] if run else "")
    return found


def test_a_model_of_the_main_table_is_asked_as_there_and_another_one_as_all(project: Project) -> None:
    project.edit(SUITE, LINES, f"{LINES}  - always-first\n  - cannot-tell\n")
    found = runs(project)
    everything = ["velociti/entail.subset/fps1", "vinoground/paper/fps1", "temporalbench/short/linspace8"]
    assert found["Toy LLaVA-OneVision (late)"] == [*everything, "mmbench_video/unpacked/interior8"]
    (draws,) = [line for label, line in found.items() if label.startswith("Random")]
    assert draws == ["velociti/entail/fps1", "vinoground/paper/black8", "temporalbench/short/linspace8", ""]
    (first,) = [line for label, line in found.items() if label.startswith("Always the first")]
    assert first[:2] == ["velociti/entail/fps1", "vinoground/paper/black8"], "it is in Vinoground's table alone"
    assert len(found) == 5, "a line each"


def test_what_a_line_says_stays_when_more_is_asked() -> None:
    first = OverviewLine(model="m", benchmarks=["vinoground"], samplings={"vinoground": "linspace8"})
    both = first.with_more(["velociti", "vinoground"], {"vinoground": "linspace4"})
    assert both.as_written() == {
        "model": "m", "benchmarks": ["vinoground", "velociti"], "samplings": {"vinoground": "linspace4"},
    }  # fmt: skip
    assert OverviewLine(model="m").with_more(["velociti"], {}).as_written() == "m", "it has all already"
    assert OverviewLine(model="m", benchmarks=["velociti"]).with_more(None, {}).as_written() == "m"


MISTAKES = [
    (SUITE, LINES, f"{LINES}  - oracel\n", "overview: 'oracel': unknown model 'oracel'. Did you mean 'oracle'?"),
    (SUITE, LINES, f"{LINES}  - toy-llava-ov\n", "overview: 'toy-llava-ov': named twice; a model has one line."),
    (SUITE, LINES, f"{LINES}  - {{model: oracle, bench: [a]}}\n", "overview.0.bench: unknown key. Did you mean 'benchmarks'?"),
    (SUITE, LINES, f"{LINES}  - toy-text\n", "overview: 'toy-text': vinoground: adapter 'text' takes no frames, but sampling 'fps1' shows some."),
    (TABLES, "  protocol: paper\n  sampling: fps1\n  columns", "  protocol: papr\n  sampling: fps1\n  columns", "overview.protocol: unknown protocol 'papr'. Did you mean 'paper'?"),
    (TABLES, "overview:\n  table: table3", "overview:\n  table: table33", "overview.table: no table33 here. There are: table2, table3,"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "said"), MISTAKES, ids=[said[:40] for *_, said in MISTAKES])
def test_a_mistake_is_met_in_words(project: Project, file: str, old: str, new: str, said: str) -> None:
    text = (project.root / file).read_text()
    at = text.rindex(old)
    project.write(file, text[:at] + new + text[at + len(old) :])
    message = project.message()
    assert said in message and file in message
