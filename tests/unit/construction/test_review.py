"""People's verdicts: merged from half-finished files, and every row that does not count is named."""

import json
from pathlib import Path

import pytest
from reprise.construction.review import Task, Verdict, as_csv, as_sheet, counted, decided, read_verdicts, task_rows
from reprise.core.errors import UserError

CHOICES = ("both fit", "negative is wrong")
TASKS = [Task(name, CHOICES, {"positive": f"{name} runs.", "negative": f"{name} sits."}) for name in ("a", "b", "c")]
COLUMNS = ("task_id", "digest", "reviewer", "verdict", "note")


def row(task: int, reviewer: str, verdict: str = CHOICES[0], **other: str) -> dict[str, str]:
    return {
        "task_id": TASKS[task].task_id,
        "digest": TASKS[task].digest,
        "reviewer": reviewer,
        "verdict": verdict,
        **other,
    }


def saved(path: Path, rows: list[dict[str, str]]) -> Path:
    text = json.dumps(rows) if path.suffix == ".json" else as_csv(rows, COLUMNS)
    path.write_text(text)
    return path


def test_a_half_finished_export_is_merged_with_the_whole_one(tmp_path: Path) -> None:
    half = saved(tmp_path / "1.csv", [row(0, "ann"), row(1, "ann", ""), row(2, "ann", "")])
    whole = saved(tmp_path / "2.json", [row(0, "ann"), row(1, "ann", CHOICES[1]), row(0, "bob")])
    votes = counted(TASKS, read_verdicts([half, whole]))
    assert votes.by_task == {"a": {"ann": CHOICES[0], "bob": CHOICES[0]}, "b": {"ann": CHOICES[1]}}
    assert votes.problems == []


BAD = {
    "an export of another project": (row(0, "ann") | {"task_id": "elsewhere/1"}, "foreign_task"),
    "a caption that was edited since": (row(0, "ann") | {"digest": "0" * 12}, "other_text"),
    "nobody named": (row(0, ""), "no_reviewer"),
    "a verdict that nobody offered": (row(0, "ann", "maybe"), "unknown_verdict"),
}


@pytest.mark.parametrize(("bad", "problem"), BAD.values(), ids=BAD)
def test_a_row_that_does_not_count_is_named_with_its_place(tmp_path: Path, bad: dict[str, str], problem: str) -> None:
    path = saved(tmp_path / "1.csv", [row(1, "ann"), bad])
    votes = counted(TASKS, read_verdicts([path]))
    assert [(one.where, one.problem) for one in votes.problems] == [(f"{path}: row 2", problem)]
    assert votes.problems[0].found and votes.by_task == {"b": {"ann": CHOICES[0]}}


HEADER = "task_id,digest,reviewer,verdict"
UNREADABLE = {
    "a quote that stays open": (
        "a.csv",
        f'{HEADER}\na,d,"ann,both fit\na,d,bob,both fit\n',
        "row 1: not readable as csv",
    ),
    "a column twice": ("a.csv", f"{HEADER},verdict\na,d,ann,x,y\n", "duplicate column 'verdict'"),
    "semicolons": ("a.csv", HEADER.replace(",", ";"), "its columns are separated by ';'"),
    "no verdict": (
        "a.CSV",
        "task_id,digest,reviewer\n",
        "column 'verdict' is missing. Found: task_id, digest, reviewer.",
    ),
    "another template": (
        "a.json",
        '[{"data": {"task_id": "a"}, "annotations": [{"result": [{"from_name": "choice", "value": {"choices": ["x"]}}]}]}]',
        "its annotations say choice, and none says 'verdict'",
    ),
    "a field without a name": (
        "a.json",
        '[{"data": {"task_id": "a"}, "annotations": [{"result": [{"value": {"choices": ["x"]}}]}]}]',
        "its annotations say something without a name, and none says 'verdict'",
    ),
}


@pytest.mark.parametrize(("name", "text", "words"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as caught:
        read_verdicts([tmp_path / name])
    assert str(tmp_path / name) in str(caught.value) and words in str(caught.value)


def test_half_a_sign_in_json_is_a_bad_row(tmp_path: Path) -> None:
    path = saved(tmp_path / "1.json", [row(0, "ann") | {"task_id": "\ud800"}])
    (problem,) = counted(TASKS, read_verdicts([path])).problems
    assert problem.problem == "foreign_task" and b"'?'" in str(problem).encode()


def test_no_spreadsheet_takes_a_digest_for_a_number() -> None:
    names = [Task(str(number), CHOICES, {"text": str(number)}).digest for number in range(1000)]
    assert {name[0] for name in names} == {"d"} and {len(name) for name in names} == {13}


def test_two_verdicts_of_one_person_count_for_nothing_and_go_back_to_review() -> None:
    given = [Verdict(TASKS[0].task_id, TASKS[0].digest, "ann", verdict, "here") for verdict in CHOICES]
    votes = counted(TASKS, given)
    assert votes.by_task == {} and [one.problem for one in votes.problems] == ["two_verdicts"]
    assert "'ann' said 'both fit' and 'negative is wrong' of a" in votes.problems[0].found
    assert task_rows(TASKS, votes, 1)[0]["judged_by"] == ""


def test_a_name_in_two_spellings_is_one_person() -> None:
    given = [Verdict(TASKS[0].task_id, TASKS[0].digest, name, CHOICES[0], "here") for name in ("Ann", "ann ", "bob")]
    votes = counted(TASKS, given)
    assert votes.by_task == {TASKS[0].task_id: {"Ann": CHOICES[0], "bob": CHOICES[0]}} and not votes.problems


def test_most_votes_decide_and_a_tie_does_not_keep() -> None:
    given = [("a", "ann", 0), ("a", "bob", 0), ("a", "cy", 1), ("b", "ann", 0), ("b", "bob", 1), ("c", "ann", 0)]
    known = {task.task_id: task for task in TASKS}
    votes = counted(TASKS, [Verdict(task, known[task].digest, who, CHOICES[n], "-") for task, who, n in given])
    found = decided(TASKS, votes, 2, keep_undecided=False)
    assert {name: one["filter"] for name, one in found.items()} == {"a": "", "b": "refused", "c": "not_reviewed"}
    assert found["b"]["why"] == "ann: both fit, bob: negative is wrong" and found["c"]["why"] == "judged by 1 of 2"
    assert decided(TASKS, votes, 2, keep_undecided=True)["c"]["filter"] == ""


def test_tasks_that_lack_verdicts_come_first() -> None:
    votes = counted(TASKS, [Verdict("a", TASKS[0].digest, "ann", CHOICES[0], "-")])
    rows = task_rows(TASKS, votes, 1)
    assert [one["task_id"] for one in rows] == ["b", "c", "a"] and rows[2]["judged_by"] == "ann"


def test_a_spreadsheet_takes_nothing_for_a_formula(tmp_path: Path) -> None:
    bad = Task("=1+1", CHOICES, {"positive": '=HYPERLINK("x")', "negative": "-"})
    rows = [one | {"reviewer": "ann", "verdict": CHOICES[0]} for one in task_rows([bad], counted([bad], []), 1)]
    path = tmp_path / "1.csv"
    path.write_text(as_sheet(rows, list(rows[0])))
    assert "'=HYPERLINK" in path.read_text() and "\n'=1+1," in path.read_text()
    assert counted([bad], read_verdicts([path])).by_task == {"=1+1": {"ann": CHOICES[0]}}


MISTAKES = {
    "1.txt": ("", "file type '.txt' is not known. Allowed: .csv, .json."),
    "1.csv": (
        "task_id,verdict\na,both fit\n",
        "column 'digest' is missing. Found: task_id, verdict. Needed: task_id, digest, reviewer, verdict.",
    ),
    "1.json": ('{"a": 1}', "expected a list of objects with task_id, digest, reviewer, verdict, or what Label Studio"),
}


@pytest.mark.parametrize(("name", "mistake"), [(name, one) for name, one in MISTAKES.items()], ids=MISTAKES)
def test_a_file_that_is_no_export_is_refused(tmp_path: Path, name: str, mistake: tuple[str, str]) -> None:
    (tmp_path / name).write_text(mistake[0])
    with pytest.raises(UserError) as error:
        read_verdicts([tmp_path / name])
    assert mistake[1] in str(error.value) and name in str(error.value)


def test_a_rating_of_0_may_be_a_number(tmp_path: Path) -> None:
    row = {"task_id": "a", "digest": "d", "reviewer": "ann"}
    (tmp_path / "a.json").write_text(json.dumps([{**row, "verdict": 0}, {**row, "verdict": None}]))
    assert [one.verdict for one in read_verdicts([tmp_path / "a.json"])] == ["0"]


@pytest.mark.parametrize("content", ['[{"task_id": "a", ', "[" * 100_000])
def test_half_an_export_is_to_be_exported_again(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(UserError, match=r"a.json: not whole JSON .*Export it again; the other files of verdicts stay"):
        read_verdicts([tmp_path / "a.json"])
