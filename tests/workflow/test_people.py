"""People's answers are planned as a run's, and again only where a file of theirs changed."""

from pathlib import Path

import pytest
from reprise.core.schemas import REQUESTS, read_table
from reprise.people.surveys import question_tasks

from tests.workflow.conftest import Project, own_copy

SUITE, FOLDER = "config/suites/small.yaml", "results/small/people/velociti/three"
GROUP = """\
    people:
      three: {run: entail/all/humans, answers: "answers/*.csv", left_out: "captions/*.csv", surveys: 3}
"""


@pytest.fixture(scope="module")
def project(prepared_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = own_copy(prepared_small, tmp_path_factory.mktemp("people"))
    made.write(SUITE, made.text(SUITE) + GROUP)
    row = "          - {label: Oracle, model: oracle}\n"
    made.edit("config/tables/small.yaml", row, f"{row}          - {{label: Human, model: humans, sampling: all}}\n")
    return made


def test_answers_are_a_run_that_needs_no_video(project: Project) -> None:
    project.write("answers/ann.csv", "task_id,digest,reviewer,verdict\nelsewhere,0,ann,Yes\n")
    page, run = f"{FOLDER}/statistics.md", "results/small/metrics/velociti/entail/all/humans.parquet"
    made = set(project.made(page, run))
    assert {"import_answers", "people_statistics", "score"} <= made and not {"clips", "sources", "infer"} & made
    assert "undefined by design" in project.text(page)
    problems = project.text("results/small/responses/velociti/entail/all/humans.problems.csv")
    assert "answers/ann.csv: row 1" in problems and "foreign_task" in problems
    asked = read_table(project.root / "results/small/requests/velociti/entail.parquet", REQUESTS)
    task = question_tasks("velociti/three/all", asked)[0]
    row = f"{task.task_id},{task.digest},Label-Studio 3,Yes"
    project.write("answers/3.csv", f"task_id,digest,reviewer,verdict\n{row}\n")
    project.write("captions/a.csv", "clip,reviewer\nv,LABEL-STUDIO 3\n")
    assert set(project.made(page, run)) == {"import_answers", "people_statistics", "score"}
    assert "| people left out | - | 1 | of 1 in `left_out:` |" in project.text(page)
