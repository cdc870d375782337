"""Test imported predictions and annotators' answers end to end, without videos."""

import re
import shutil

import pytest
from human_evaluation.surveys import build_question_tasks
from reprise.core.schemas import REQUESTS, read_table

from tests.workflow.conftest import Project

RUN = "velociti/entail/fps1/people"
TABLE = "results/tables/velociti/table2"
FOLDER = "resources/imports/velociti/people"
GROUP = """\
    annotators:
      three: {run: entail/all/humans, answers: "answers/*.csv", excluded_annotators: "captions/*.csv", surveys: 3}
"""


@pytest.fixture
def imported(small: Project) -> Project:
    """Return the small suite with the oracle's exported answers as the predictions of another model."""
    output = small.call_reprise("export", "velociti/entail/fps1/oracle", "--to", FOLDER)
    assert output.split()[0] == f"{FOLDER}/control.csv"
    small.write("config/models/people.yaml", "label: People\nadapter: import\n")
    row = "          - {label: Always Yes"
    small.edit("config/tables/small.yaml", row, f"          - {{label: People, model: people}}\n{row}")
    return small


def human_cells(project: Project) -> dict[str, dict[str, str]]:
    return {column: cell for (row, column), cell in project.cells("velociti/table2").items() if row == "People"}


def test_imported_answers_score_like_their_original_run_and_follow_changes_of_their_files(
    imported: Project,
) -> None:
    assert imported.run_rules(f"{TABLE}.md") == ["import_answers", "metrics", "table", "verdicts"]
    assert {name: float(row["value"]) for name, row in human_cells(imported).items()} == {"Ctrl": 100, "Avg": 100}
    assert {row["source"] for row in human_cells(imported).values()} == {"imported"}
    assert "Imported predictions, scored here." in imported.text(f"{TABLE}.md")
    imported.edit(f"{FOLDER}/control.csv", ",1.0,0.0", ",0.0,0.0")
    imported.edit(f"{FOLDER}/control.csv", "v_bbbbbbbbbbb_seg_2_12", "v_bbbbbbbbbbb_seg_9_99")
    assert imported.run_rules(f"{TABLE}.md") == ["import_answers", "metrics", "table", "verdicts"]
    control = human_cells(imported)["Ctrl"]
    assert (control["value"], control["requested"], control["failed"]) == ("50.0", "4", "1")
    text = imported.text(f"{TABLE}.md")
    assert "1 failed" in text and "Problems of imported answers: unknown id (1)." in text
    rows = imported.rows(f"results/small/responses/{RUN}.problems.csv")
    missing_rows = [("", f"control/v_bbbbbbbbbbb_seg_2_12/Ev3/1#{role}", "no_answer") for role in ("pos", "neg")]
    unknown_row = ("4", "control/v_bbbbbbbbbbb_seg_9_99/Ev3", "unknown id")
    assert [(row["line"], row["id"], row["problem"]) for row in rows] == [unknown_row, *missing_rows]


def test_lost_answers_leave_an_imported_score_without_a_verdict(imported: Project) -> None:
    """The authors' convention leaves failed answers out of all counts."""
    imported.edit("config/suites/small.yaml", "show_published: false", "show_published: true")
    imported.edit("config/tables/small.yaml", "label: People, ", "label: People, published: QVL-7B, ")

    def find_comparison(column: str) -> dict[str, str]:
        imported.run_rules("results/reproduction.md")
        return next(row for row in imported.rows("results/reproduction.csv") if row["column"] == column)

    comparison = find_comparison("Ctrl")
    assert (comparison["ours"], comparison["published"], comparison["verdict"]) == ("100.0", "84.6", "too few to tell")
    assert comparison["conditions"] == "imported predictions; protocol entail; frames fps1"
    imported.edit(f"{FOLDER}/control.csv", "v_bbbbbbbbbbb_seg_2_12", "v_bbbbbbbbbbb_seg_9_99")
    comparison = find_comparison("Ctrl")
    assert (comparison["ours"], comparison["verdict"]) == ("100.0", "not comparable")
    assert comparison["why"] == "1 of 4 failed or unparsed"


def test_imports_need_no_video_and_without_files_the_row_does_not_run(imported: Project) -> None:
    """Tests without answers, and the average over them, have no value instead of 0.0."""
    for name in ("results", "resources/store", "videos"):
        shutil.rmtree(imported.root / name)
    imported.edit("config/suites/small.yaml", "run: [local]", "run: [people]")
    for path in (imported.root / FOLDER).glob("*.csv"):
        if path.stem != "control":
            path.unlink()
    steps = ["annotations", "import_answers", "metrics", "release", "requests", "table", "verdicts"]
    assert imported.run_rules(f"{TABLE}.md") == steps
    assert {name: row["value"] for name, row in human_cells(imported).items()} == {"Ctrl": "100.0", "Avg": ""}
    assert {(row["missing"], row["failed"]) for row in human_cells(imported).values()} == {("0", "0")}
    assert set(imported.parquet(f"small/responses/{RUN}")["frames_shown"]) == {0}
    text = imported.text(f"{TABLE}.md")
    assert re.search(r"Problems of imported answers: test without a file \(\d\)\.", text)
    shutil.rmtree(imported.root / FOLDER)
    assert imported.run_rules(f"{TABLE}.md") == ["table"]
    assert human_cells(imported) == {} and "Not run." in imported.text(f"{TABLE}.md")


def test_annotators_answers_are_a_run_that_needs_no_video(fresh: Project) -> None:
    """The run is repeated only if an annotators' file changes."""
    fresh.write("config/suites/small.yaml", fresh.text("config/suites/small.yaml") + GROUP)
    row = "          - {label: Oracle, model: oracle}\n"
    fresh.edit("config/tables/small.yaml", row, f"{row}          - {{label: Human, model: humans, sampling: all}}\n")
    fresh.write("answers/ann.csv", "task_id,digest,reviewer,verdict\nelsewhere,0,ann,Yes\n")
    page, run = (
        "results/small/human_evaluation/velociti/three/statistics.md",
        "results/small/metrics/velociti/entail/all/humans.parquet",
    )
    jobs = set(fresh.run_rules(page, run))
    assert {"human_answers", "human_statistics", "metrics"} <= jobs and not {"clips", "sources", "infer"} & jobs
    assert "undefined by design" in fresh.text(page)
    problems = fresh.text("results/small/responses/velociti/entail/all/humans.problems.csv")
    assert "answers/ann.csv: row 1" in problems and "foreign_task" in problems
    requests = read_table(fresh.root / "results/small/requests/velociti/entail.parquet", REQUESTS)
    task = build_question_tasks("velociti/three/all", requests)[0]
    row = f"{task.task_id},{task.digest},Label-Studio 3,Yes"
    fresh.write("answers/3.csv", f"task_id,digest,reviewer,verdict\n{row}\n")
    fresh.write("captions/a.csv", "clip,reviewer\nv,LABEL-STUDIO 3\n")
    assert set(fresh.run_rules(page, run)) == {"human_answers", "human_statistics", "metrics", "verdicts"}
    assert "| annotators excluded | - | 1 | of 1 in `excluded_annotators:` |" in fresh.text(page)
