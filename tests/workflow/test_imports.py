"""Answers made elsewhere, end to end: exported by one run and imported as another model's, or given by people; without a video."""

import re
import shutil

import pytest
from human_evaluation.surveys import question_tasks
from reprise.core.schemas import REQUESTS, read_table

from tests.workflow.conftest import Project

RUN = "velociti/entail/fps1/people"
TABLE = "results/tables/velociti/table2"
FOLDER = "resources/imports/velociti/people"
GROUP = """\
    annotators:
      three: {run: entail/all/humans, answers: "answers/*.csv", left_out: "captions/*.csv", surveys: 3}
"""


@pytest.fixture
def imported(small: Project) -> Project:
    """The small suite with the oracle's exported answers as those of people."""
    said = small.called("export", "velociti/entail/fps1/oracle", "--to", FOLDER)
    assert said.split()[0] == f"{FOLDER}/control.csv"
    small.write("config/models/people.yaml", "label: People\nadapter: import\n")
    row = "          - {label: Always Yes"
    small.edit("config/tables/small.yaml", row, f"          - {{label: People, model: people}}\n{row}")
    return small


def people(project: Project) -> dict[str, dict[str, str]]:
    return {column: cell for (row, column), cell in project.cells("velociti/table2").items() if row == "People"}


def test_imported_answers_score_as_the_run_they_come_from_and_a_changed_file_reruns_exactly_its_run(
    imported: Project,
) -> None:
    assert imported.made(f"{TABLE}.md") == ["import_answers", "metrics", "table", "verdicts"]
    assert {name: float(row["value"]) for name, row in people(imported).items()} == {"Ctrl": 100, "Avg": 100}
    assert {row["source"] for row in people(imported).values()} == {"imported"}
    assert "Imported predictions, scored here." in imported.text(f"{TABLE}.md")
    imported.edit(f"{FOLDER}/control.csv", ",1.0,0.0", ",0.0,0.0")
    imported.edit(f"{FOLDER}/control.csv", "v_bbbbbbbbbbb_seg_2_12", "v_bbbbbbbbbbb_seg_9_99")
    assert imported.made(f"{TABLE}.md") == ["import_answers", "metrics", "table", "verdicts"]
    control = people(imported)["Ctrl"]
    assert (control["value"], control["requested"], control["failed"]) == ("50.0", "4", "1")
    text = imported.text(f"{TABLE}.md")
    assert "1 failed" in text and "Problems of imported answers: 1 unknown id." in text
    rows = imported.rows(f"results/small/responses/{RUN}.problems.csv")
    lost = [("", f"control/v_bbbbbbbbbbb_seg_2_12/Ev3/1#{role}", "no_answer") for role in ("pos", "neg")]
    unknown = ("4", "control/v_bbbbbbbbbbb_seg_9_99/Ev3", "unknown id")
    assert [(row["line"], row["id"], row["problem"]) for row in rows] == [unknown, *lost]


def test_no_video_is_needed_and_without_files_the_row_does_not_run(imported: Project) -> None:
    """Not 0.0 for tests that nobody answered, nor for the average over them."""
    for name in ("results", "resources/store", "videos"):
        shutil.rmtree(imported.root / name)
    imported.edit("config/suites/small.yaml", "run: [local]", "run: [people]")
    for path in (imported.root / FOLDER).glob("*.csv"):
        if path.stem != "control":
            path.unlink()
    steps = ["annotations", "import_answers", "metrics", "release", "requests", "table", "verdicts"]
    assert imported.made(f"{TABLE}.md") == steps
    assert {name: row["value"] for name, row in people(imported).items()} == {"Ctrl": "100.0", "Avg": ""}
    assert {(row["missing"], row["failed"]) for row in people(imported).values()} == {("0", "0")}
    assert set(imported.parquet(f"small/responses/{RUN}")["frames_shown"]) == {0}
    text = imported.text(f"{TABLE}.md")
    assert re.search(r"Problems of imported answers: \d test without a file\.", text)
    shutil.rmtree(imported.root / FOLDER)
    assert imported.made(f"{TABLE}.md") == ["table"]
    assert people(imported) == {} and "Not run." in imported.text(f"{TABLE}.md")


def test_annotators_answers_are_a_run_that_needs_no_video(fresh: Project) -> None:
    """Asked again only where a file of theirs changed."""
    fresh.write("config/suites/small.yaml", fresh.text("config/suites/small.yaml") + GROUP)
    row = "          - {label: Oracle, model: oracle}\n"
    fresh.edit("config/tables/small.yaml", row, f"{row}          - {{label: Human, model: humans, sampling: all}}\n")
    fresh.write("answers/ann.csv", "task_id,digest,reviewer,verdict\nelsewhere,0,ann,Yes\n")
    page, run = (
        "results/small/human_evaluation/velociti/three/statistics.md",
        "results/small/metrics/velociti/entail/all/humans.parquet",
    )
    made = set(fresh.made(page, run))
    assert {"human_answers", "human_statistics", "metrics"} <= made and not {"clips", "sources", "infer"} & made
    assert "undefined by design" in fresh.text(page)
    problems = fresh.text("results/small/responses/velociti/entail/all/humans.problems.csv")
    assert "answers/ann.csv: row 1" in problems and "foreign_task" in problems
    asked = read_table(fresh.root / "results/small/requests/velociti/entail.parquet", REQUESTS)
    task = question_tasks("velociti/three/all", asked)[0]
    row = f"{task.task_id},{task.digest},Label-Studio 3,Yes"
    fresh.write("answers/3.csv", f"task_id,digest,reviewer,verdict\n{row}\n")
    fresh.write("captions/a.csv", "clip,reviewer\nv,LABEL-STUDIO 3\n")
    assert set(fresh.made(page, run)) == {"human_answers", "human_statistics", "metrics", "verdicts"}
    assert "| annotators excluded | - | 1 | of 1 in `left_out:` |" in fresh.text(page)
