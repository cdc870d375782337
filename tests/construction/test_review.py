"""Annotators' verdicts are merged from unfinished files, and every row that does not count is reported."""

from pathlib import Path

import pytest
from construction.review import decide, task_rows
from construction.settings import ReviewSettings
from human_evaluation.tasks import Task, Verdict, as_csv, as_sheet, count_votes, log_problems, read_verdicts
from reprise.core.errors import UserError

CHOICES = ("both fit", "negative is wrong")
TASKS = [Task(name, CHOICES, {"positive": f"{name} runs.", "negative": f"{name} sits."}) for name in ("a", "b", "c")]
COLUMNS = ("task_id", "digest", "reviewer", "verdict", "note")


def row(task: int, reviewer: str, verdict: str = CHOICES[0], **other: str) -> dict[str, str]:
    known = {"task_id": TASKS[task].task_id, "digest": TASKS[task].digest, "reviewer": reviewer, "verdict": verdict}
    return known | other


def saved(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text(as_csv(rows, COLUMNS))
    return path


def said(*verdicts: tuple[int, str, int]) -> list[Verdict]:
    return [Verdict(TASKS[task].task_id, TASKS[task].digest, who, CHOICES[n], "here") for task, who, n in verdicts]


def test_a_row_that_does_not_count_is_named_with_its_place(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bad = {
        "foreign_task": row(0, "ann", task_id="elsewhere/1"), "other_text": row(0, "ann", digest="0" * 12),
        "no_reviewer": row(0, ""), "unknown_verdict": row(0, "ann", "maybe"),
    }  # fmt: skip
    path = saved(tmp_path / "1.csv", [row(1, "ann"), *bad.values(), *bad.values()])
    votes = count_votes(TASKS, read_verdicts([path]))
    assert votes.by_task == {"b": {"ann": CHOICES[0]}}
    places = [(f"{path}: row {n}", name) for n, name in enumerate([*bad, *bad], start=2)]
    assert [(one.where, one.problem) for one in votes.problems] == places and all(one.found for one in votes.problems)
    log_problems(votes.problems, Path("p.csv"))
    assert caplog.messages[0].startswith(f"{path}: row 2: foreign_task: unknown task 'elsewhere/1'")
    assert len(caplog.messages) == 6 and caplog.messages[-1] == "3 more such rows: see p.csv."


OF_FIELD = '[{"data": {}, "annotations": [{"completed_by": 1, "result": [{"from_name": "choice", "value": {"choices": ["x"]}}]}]}]'
HEADER = "task_id,digest,reviewer,verdict"
UNREADABLE: list[tuple[str, str, str]] = [
    ("a.csv", f'{HEADER}\na,d,"ann,both fit\na,d,bob,both fit\n', "row 1: not readable as csv"),
    ("a.csv", f"{HEADER},verdict\na,d,ann,x,y\n", "duplicate column 'verdict'"),
    ("a.csv", HEADER.replace(",", ";"), "its columns are separated by ';'"),
    ("a.CSV", "task_id,digest,reviewer\n", "column 'verdict' is missing. Found: task_id, digest, reviewer. Needed: task_id, digest, reviewer, verdict."),
    ("a.json", OF_FIELD, "an annotation has the fields choice, but not 'verdict'. Create the project with the tasks' `template.xml`"),
    ("a.txt", "", "unknown file type '.txt'. Allowed: .csv, .json."),
    ("a.json", '[{"task_id": "a"}]', "not a `JSON` export of Label Studio: 0.data: Field required. Export it again, or fill in"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "words"), UNREADABLE, ids=[one[2][:40] for one in UNREADABLE])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as caught:
        read_verdicts([tmp_path / name])
    assert str(tmp_path / name) in str(caught.value) and words in str(caught.value)


def test_contradicting_verdicts_of_an_annotator_do_not_count() -> None:
    votes = count_votes(TASKS, said((0, "ann", 0), (0, "ann", 1)))
    assert votes.by_task == {} and [one.problem for one in votes.problems] == ["two_verdicts"]
    assert "'ann' gave 'both fit' and 'negative is wrong' for a" in votes.problems[0].found
    assert task_rows(TASKS, votes, 1)[0]["judged_by"] == ""
    spelled = count_votes(TASKS, said((0, "Ann", 0), (0, "ann ", 0), (0, "bob", 0)))
    assert spelled.by_task == {"a": {"Ann": CHOICES[0], "bob": CHOICES[0]}} and not spelled.problems


def test_most_votes_decide_and_a_tie_does_not_keep() -> None:
    votes = count_votes(
        TASKS, said((0, "ann", 0), (0, "bob", 0), (0, "cy", 1), (1, "ann", 0), (1, "bob", 1), (2, "ann", 0))
    )
    how = ReviewSettings(verdicts="-", votes=2)
    found = decide(TASKS, votes, how)
    assert {name: one["filter"] for name, one in found.items()} == {"a": "", "b": "refused", "c": "not_reviewed"}
    assert found["b"]["why"] == "ann: both fit, bob: negative is wrong" and found["c"]["why"] == "judged by 1 of 2"
    assert decide(TASKS, votes, how.model_copy(update={"undecided": "keep"}))["c"]["filter"] == ""
    rows = task_rows(TASKS, votes, 2)
    assert [one["task_id"] for one in rows] == ["c", "a", "b"] and rows[2]["judged_by"] == "ann, bob"


def test_a_spreadsheet_takes_nothing_for_a_formula_or_a_number(tmp_path: Path) -> None:
    bad = Task("=1+1", CHOICES, {"positive": '=HYPERLINK("x")', "negative": "-"})
    rows = [one | {"reviewer": "ann", "verdict": CHOICES[0]} for one in task_rows([bad], count_votes([bad], []), 1)]
    path = tmp_path / "1.csv"
    path.write_text(as_sheet(rows, list(rows[0])))
    assert "'=HYPERLINK" in path.read_text() and "\n'=1+1," in path.read_text()
    assert count_votes([bad], read_verdicts([path])).by_task == {"=1+1": {"ann": CHOICES[0]}}
    names = [Task(str(number), CHOICES, {"text": str(number)}).digest for number in range(1000)]
    assert {name[0] for name in names} == {"d"} and {len(name) for name in names} == {13}
