"""What is said of mistakes in a suite's `people:`."""

import pytest

from tests.unit.config.conftest import Project

SUITE = "config/suites/construction.yaml"
MISTAKES = [
    ("run: paper/all/toy-script", "run: paper/all/toy-scrip", "people.script.run: unknown model 'toy-scrip'. Did you mean 'toy-script'?"),
    ("run: paper/all/toy-script", "run: pape/all/toy-script", "people.script.run: unknown protocol 'pape'. Did you mean 'paper'?"),
    ("run: paper/all/toy-script", "run: paper/every/toy-script", "people.script.run: unknown sampling 'every'."),
    ("run: paper/all/toy-script", "run: paper/all/oracle", "people.script.run: 'oracle' is asked here. Name a model whose answers are imported"),
    ("run: paper/all/toy-script", "run: paper/all", "people.script.run: should be <protocol>/<sampling>/<model>"),
    ("per_survey: 8", "per_survey: 8\n        surveys: 3", "people.script.surveys: found 3, and per_survey 8. Name one of both."),
    ("per_survey: 8", "per_survey: 0", "people.script.per_survey: should be greater than or equal to 1, found 0."),
    ("workers: 10", "workers: 10\n        ties: second", "people.script.ties: should be 'wrong', 'draw' or 'first_option', found 'second'."),
    ("workers: 10", "worker: 10", "people.script.worker: unknown key. Did you mean 'workers'?"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES, ids=[new[-40:] for _, new, _ in MISTAKES])
def test_a_mistake_is_one_message(project: Project, old: str, new: str, said: str) -> None:
    project.edit(SUITE, old, new)
    message = project.message("construction")
    assert f"benchmarks.vinoground.{said}" in message and SUITE in message


def test_a_run_has_one_group(project: Project) -> None:
    project.edit(SUITE, "      script:\n", "      again: {run: paper/all/toy-script, answers: x.csv}\n      script:\n")
    assert (
        "people.script.run: 'paper/all/toy-script' is the run of 'again' too; a run has one group."
        in project.message("construction")
    )
