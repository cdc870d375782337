"""The overview of a suite: which run stands behind each line, and what a line says."""

from reprise.config.suite import OverviewLine
from reprise.plan.runs import run_of

from tests.unit.config.conftest import Project


def runs(project: Project) -> dict[str, list[str]]:
    """Model -> the runs of its line, as a table names them, by benchmark."""
    found: dict[str, list[str]] = {}
    for benchmark, spec in project.plan().overview.items():
        for row in spec.rows():
            run = run_of(benchmark, row)
            found.setdefault(row.label, []).append(run.name.rpartition("/")[0] if run else "")
    return found


def test_a_model_of_the_main_table_is_asked_as_there_and_another_one_as_all(project: Project) -> None:
    project.edit("config/suites/demo.yaml", "\noverview:\n", "\noverview:\n  - always-first\n  - cannot-tell\n")
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
