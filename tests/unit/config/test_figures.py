"""Mistakes in the files of figures: file, key, what was found, what is allowed."""

import pytest

from tests.unit.config.conftest import Project

FILE = "config/figures/demo/velociti.yaml"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("benchmark: velociti", "benchmark: vinoground", "benchmark: found 'vinoground', expected 'velociti'"),
        ("kind: scatter", "kind: scater", "figures.fig3.kind: should be 'bars', 'lines', 'radar', 'scatter', 'distribution', found 'scater'. Did you mean"),
        ("table: table2", "table: table99", "figures.fig3.table: unknown table 'table99'."),
        ("sections: [VELOCITI Subset]", "sections: [Velociti Subset]", "unknown section 'Velociti Subset'. Allowed: \"\", VELOCITI Subset."),
        ("rows: [Random draws,", "rows: [Random drawz,", "figures.fig4: table2.rows: unknown row 'Random drawz'. Did you mean 'Random draws'?"),
        ("group: agent_random", "group: agent_rando", "unknown group 'agent_rando'. Did you mean 'agent_random'?"),
        ("fig4:", "figure4:", "figures.figure4: should be fig<N>, such as fig3, or own_<name> for an analysis of our own, found 'figure4'."),
        ("up: neg", "up: neg\n    upp: neg", "figures.fig3.upp: unknown key. Did you mean 'up'?"),
        ('sections: [""], rows: [Random draws, Toy LLaVA-OV early, Toy LLaVA-OV late, Oracle]', 'sections: [""], rows: ["Random draws, imported"]', "no row of its sections is left."),
    ],
)  # fmt: skip
def test_a_mistake_is_said_in_words(project: Project, old: str, new: str, said: str) -> None:
    project.edit(FILE, old, new)
    message = project.message("demo")
    assert FILE in message and said in message, message


def test_a_file_that_is_not_there_is_named(project: Project) -> None:
    project.edit("config/suites/demo.yaml", FILE, "config/figures/demo/velocity.yaml")
    assert "benchmarks.velociti.figures: no file 'config/figures/demo/velocity.yaml'. Did you mean" in project.message()


def test_a_distribution_counts_one_thing(project: Project) -> None:
    file = "config/figures/demo/mmbench_video.yaml"
    project.edit(file, "    groups:\n", "    fact: shots\n    groups:\n")
    assert "a figure counts by one of them" in project.message("demo")
