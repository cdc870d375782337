"""Test the merge of annotators' verdicts from unfinished files, and the report of rows that do not count."""

from pathlib import Path

import pytest
from construction.review import decide, task_rows
from construction.settings import ReviewSettings
from human_evaluation.tasks import Task, Verdict, as_csv, as_sheet, count_votes, log_problems, read_verdicts
from reprise.core.errors import UserError

CHOICES = ("both fit", "negative is wrong")
TASKS = [Task(name, CHOICES, {"positive": f"{name} runs.", "negative": f"{name} sits."}) for name in ("a", "b", "c")]
COLUMNS = ("task_id", "digest", "reviewer", "verdict", "note")


def row(task_index: int, reviewer: str, verdict: str = CHOICES[0], **changes: str) -> dict[str, str]:
    defaults = {
        "task_id": TASKS[task_index].task_id,
        "digest": TASKS[task_index].digest,
        "reviewer": reviewer,
        "verdict": verdict,
    }
    return defaults | changes


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text(as_csv(rows, COLUMNS))
    return path


def verdicts_of(*verdicts: tuple[int, str, int]) -> list[Verdict]:
    return [
        Verdict(TASKS[task_index].task_id, TASKS[task_index].digest, reviewer, CHOICES[choice_index], "here")
        for task_index, reviewer, choice_index in verdicts
    ]


def test_a_row_that_does_not_count_is_reported_with_its_location(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows_by_problem = {
        "foreign_task": row(0, "ann", task_id="elsewhere/1"), "other_text": row(0, "ann", digest="0" * 12),
        "no_reviewer": row(0, ""), "unknown_verdict": row(0, "ann", "maybe"),
    }  # fmt: skip
    path = write_rows(tmp_path / "1.csv", [row(1, "ann"), *rows_by_problem.values(), *rows_by_problem.values()])
    votes = count_votes(TASKS, read_verdicts([path]))
    assert votes.by_task == {"b": {"ann": CHOICES[0]}}
    expected_problems = [
        (f"{path}: row {n}", name) for n, name in enumerate([*rows_by_problem, *rows_by_problem], start=2)
    ]
    assert [(problem.location, problem.problem) for problem in votes.problems] == expected_problems and all(
        problem.detail for problem in votes.problems
    )
    log_problems(votes.problems, Path("p.csv"))
    assert caplog.messages[0].startswith(f"{path}: row 2: foreign_task: unknown task 'elsewhere/1'")
    assert len(caplog.messages) == 6 and caplog.messages[-1] == "3 more such rows: see p.csv."


OTHER_FIELD_EXPORT = '[{"data": {}, "annotations": [{"completed_by": 1, "result": [{"from_name": "choice", "value": {"choices": ["x"]}}]}]}]'
HEADER = "task_id,digest,reviewer,verdict"
UNREADABLE: list[tuple[str, str, str]] = [
    ("a.csv", f'{HEADER}\na,d,"ann,both fit\na,d,bob,both fit\n', "row 1: not readable as csv"),
    ("a.csv", f"{HEADER},verdict\na,d,ann,x,y\n", "duplicate column 'verdict'"),
    ("a.csv", HEADER.replace(",", ";"), "its columns are separated by ';'"),
    ("a.CSV", "task_id,digest,reviewer\n", "column 'verdict' is missing. Found: task_id, digest, reviewer. Needed: task_id, digest, reviewer, verdict."),
    ("a.json", OTHER_FIELD_EXPORT, "an annotation has the fields choice, but not 'verdict'. Create the project with the tasks' `template.xml`"),
    ("a.txt", "", "unknown file type '.txt'. Allowed: .csv, .json."),
    ("a.json", '[{"task_id": "a"}]', "not a `JSON` export of Label Studio: 0.data: Field required. Export it again, or fill in"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "message"), UNREADABLE, ids=[message[:40] for *_, message in UNREADABLE])
def test_an_unreadable_file_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as error:
        read_verdicts([tmp_path / name])
    assert str(tmp_path / name) in str(error.value) and message in str(error.value)


def test_contradicting_verdicts_of_an_annotator_do_not_count() -> None:
    votes = count_votes(TASKS, verdicts_of((0, "ann", 0), (0, "ann", 1)))
    assert votes.by_task == {} and [problem.problem for problem in votes.problems] == ["two_verdicts"]
    assert "'ann' gave 'both fit' and 'negative is wrong' for a" in votes.problems[0].detail
    assert task_rows(TASKS, votes, 1)[0]["judged_by"] == ""
    differently_spelled = count_votes(TASKS, verdicts_of((0, "Ann", 0), (0, "ann ", 0), (0, "bob", 0)))
    assert (
        differently_spelled.by_task == {"a": {"Ann": CHOICES[0], "bob": CHOICES[0]}}
        and not differently_spelled.problems
    )


def test_the_majority_decides_and_a_tie_drops() -> None:
    votes = count_votes(
        TASKS, verdicts_of((0, "ann", 0), (0, "bob", 0), (0, "cy", 1), (1, "ann", 0), (1, "bob", 1), (2, "ann", 0))
    )
    settings = ReviewSettings(verdicts="-", votes=2)
    decisions = decide(TASKS, votes, settings)
    assert {name: decision["filter"] for name, decision in decisions.items()} == {
        "a": "",
        "b": "refused",
        "c": "not_reviewed",
    }
    assert (
        decisions["b"]["why"] == "ann: both fit, bob: negative is wrong" and decisions["c"]["why"] == "judged by 1 of 2"
    )
    assert decide(TASKS, votes, settings.model_copy(update={"undecided": "keep"}))["c"]["filter"] == ""
    rows = task_rows(TASKS, votes, 2)
    assert [row["task_id"] for row in rows] == ["c", "a", "b"] and rows[2]["judged_by"] == "ann, bob"


def test_no_cell_is_a_formula_or_a_number_in_a_spreadsheet(tmp_path: Path) -> None:
    task = Task("=1+1", CHOICES, {"positive": '=HYPERLINK("x")', "negative": "-"})
    rows = [row | {"reviewer": "ann", "verdict": CHOICES[0]} for row in task_rows([task], count_votes([task], []), 1)]
    path = tmp_path / "1.csv"
    path.write_text(as_sheet(rows, list(rows[0])))
    assert "'=HYPERLINK" in path.read_text() and "\n'=1+1," in path.read_text()
    assert count_votes([task], read_verdicts([path])).by_task == {"=1+1": {"ann": CHOICES[0]}}
    digests = [Task(str(number), CHOICES, {"text": str(number)}).digest for number in range(1000)]
    assert {digest[0] for digest in digests} == {"d"} and {len(digest) for digest in digests} == {13}
