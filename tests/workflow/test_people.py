"""People's answers are planned as a run's, and again only where a file of theirs changed."""

import pytest
from reprise.core.schemas import REQUESTS, read_table
from reprise.people.surveys import question_tasks

from tests.workflow.conftest import Project, copy_project, small_suite

FOLDER = "results/small/people/velociti/three"
GROUP = """\
    people:
      three:
        run: entail/all/humans
        answers: "answers/*.csv"
        left_out: "captions/*.csv"
        surveys: 3
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = copy_project(tmp_path_factory.mktemp("people") / "project")
    small_suite(made)
    suite = made.root / "config/suites/small.yaml"
    suite.write_text(suite.read_text() + GROUP)
    made.edit(
        "config/tables/small.yaml",
        "          - {label: Oracle, model: oracle}\n",
        "          - {label: Oracle, model: oracle}\n          - {label: Human, model: humans, sampling: all}\n",
    )
    return made


def test_before_the_first_answer_there_are_surveys_and_no_row(project: Project) -> None:
    planned = project.planned(f"{FOLDER}/surveys.csv")
    assert "people_surveys" in planned and "clips" in planned and "infer" not in planned
    assert "import_answers" not in project.planned("results/tables/velociti/table2.md")
    assert project.planned(f"{FOLDER}/tasks-1.json", f"{FOLDER}/tasks-3.json").count("people_tasks") == 2


def test_answers_are_a_run_that_needs_no_video(project: Project) -> None:
    project.write("answers/ann.csv", "task_id,digest,reviewer,verdict\nelsewhere,0,ann,Yes\n")
    page, run = f"{FOLDER}/statistics.md", "results/small/metrics/velociti/entail/all/humans.parquet"
    assert not {"clips", "sources", "infer"} & set(project.planned(page, run))
    made = project.made(page, run)
    assert {"import_answers", "people_statistics", "score"} <= set(made)
    assert "undefined by design" in (project.root / page).read_text()
    problems = (project.root / "results/small/responses/velociti/entail/all/humans.problems.csv").read_text()
    assert "answers/ann.csv: row 1" in problems and "foreign_task" in problems
    asked = read_table(project.root / "results/small/requests/velociti/entail.parquet", REQUESTS)
    task = question_tasks("velociti/three/all", asked)[0]
    project.write(
        "answers/3.csv", f"task_id,digest,reviewer,verdict\n{task.task_id},{task.digest},Label-Studio 3,Yes\n"
    )
    project.write("captions/a.csv", "clip,reviewer\nv,LABEL-STUDIO 3\n")
    assert set(project.planned(page, run)) == {"import_answers", "people_statistics", "score"}
    project.made(page)
    assert "| people left out | - | 1 | of 1 in `left_out:` |" in (project.root / page).read_text()
