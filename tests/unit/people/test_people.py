"""Whose answers count, and the mode of several; each by hand."""

from pathlib import Path

import pytest
from reprise.construction.review import COLUMNS, Task, Verdict, as_csv, read_verdicts
from reprise.people.answers import TIE, TOO_FEW, modes, replies
from reprise.people.settings import Qualification
from reprise.people.statistics import worker_rows

from tests.unit.people.asked import AB, TASKS, TEST, counted_of, design, said, task


def by_ten(answers: str) -> list[Verdict]:
    return [said(f"p{n}", TASKS[0], answer) for n, answer in enumerate(answers)]


@pytest.mark.parametrize(
    ("answers", "ties", "option", "error"),
    [
        ("AAAAAABBBB", "wrong", "A", ""),
        ("BBBBBBBBBA", "wrong", "B", ""),
        ("AAAAABBBBB", "wrong", "", TIE),
        ("BBBBBAAAAA", "first_option", "A", ""),
        ("AAAAABBBBA", "draw", "A", ""),
        ("AAAAABBBB", "wrong", "", TOO_FEW),
        ("", "wrong", "", TOO_FEW),
        ("AAAAAABBBBB", "wrong", "A", ""),
    ],
)
def test_the_mode_of_ten(answers: str, ties: str, option: str, error: str) -> None:
    asked = design(workers=10, ties=ties)
    reply = replies(TASKS, counted_of(by_ten(answers), asked).votes, asked)["q1"]
    assert (reply.option, reply.error, reply.people) == (option, error, len(answers))


def test_a_drawn_tie_is_the_same_each_time_and_falls_both_ways() -> None:
    drawn = {}
    for seed in range(20):
        asked = design(workers=10, ties="draw", seed=seed)
        votes = counted_of(by_ten("AAAAABBBBB"), asked).votes
        drawn[seed] = replies(TASKS, votes, asked)["q1"].option
        assert drawn[seed] == replies(TASKS, counted_of(by_ten("BBBBBAAAAA"), asked).votes, asked)["q1"].option
    assert set(drawn.values()) == {"A", "B"}


def test_of_three_options_those_that_are_equal_stand_as_offered() -> None:
    assert modes(list("CCBBA"), "ABC") == ["B", "C"] and modes(list("CCBBB"), "ABC") == ["B"]


BAD = {
    "foreign_task": said("ann", Task("x", AB, {}), "A"),
    "other_text": said("ann", TASKS[0], "A")._replace(digest="0"),
    "no_reviewer": said("", TASKS[0], "A"),
    "unknown_verdict": said("ann", TASKS[0], "C"),
}


@pytest.mark.parametrize(("problem", "bad"), BAD.items(), ids=BAD)
def test_a_row_that_does_not_count_is_named_without_a_name(problem: str, bad: Verdict) -> None:
    found = counted_of([said("bob", TASKS[1], "A"), bad], design())
    assert [(one.where, one.problem) for one in found.votes.problems] == [(bad.where, problem)]
    assert "ann" not in found.votes.problems[0].found and found.votes.by_task.keys() == {"q2"}


def test_two_answers_of_one_person_count_for_nothing() -> None:
    found = counted_of([said("ann", TASKS[0], "A"), said("ann", TASKS[0], "B"), said("ann", TASKS[1], "B")], design())
    assert [one.problem for one in found.votes.problems] == ["two_verdicts"]
    assert "'1' said 'A' and 'B' of q1" in found.votes.problems[0].found and found.votes.by_task == {"q2": {"1": "B"}}


def test_who_fails_the_test_or_wrote_captions_does_not_count() -> None:
    asked = design(qualification=Qualification(questions="q.csv", right=2))
    right = [said(who, task, "A") for who in ("ann", "bob") for task in TEST.tasks]
    wrong = [said("cy", TEST.tasks[0], "A"), said("cy", TEST.tasks[1], "B")]
    answers = [said(who, TASKS[0], "A") for who in ("ann", "bob", "cy", "dan")]
    found = counted_of([*right, *wrong, *answers], asked, TEST, {"bob"})
    problems = {one.where: (one.problem, one.found.split(" ", 2)[2]) for one in found.votes.problems}
    why = "of 2 answers of the qualification right, needed: 2"
    assert problems == {
        "file: bob q1": ("wrote_captions", "wrote captions"),
        "file: cy q1": ("not_qualified", f"has 1 {why}"),
        "file: dan q1": ("not_qualified", f"has 0 {why}"),
    }
    assert list(found.votes.by_task) == ["q1"] and len(found.votes.by_task["q1"]) == 1
    rows = worker_rows(found, replies(TASKS, found.votes, asked), {"q1": "B", "q2": "A", "q3": "A"})
    assert sorted(row["counts"] for row in rows) == ["not_qualified", "not_qualified", "wrote_captions", "yes"]
    assert [(row["with_most"], row["right"]) for row in rows if row["counts"] == "yes"] == [(1, 0)]
    assert [row["worker"] for row in rows] == [1, 2, 3, 4]


def test_only_who_answered_a_known_task_has_a_number() -> None:
    elsewhere = [said(who, task("x"), "A") for who in ("cy", "bob")]
    found = counted_of([said("ann", TASKS[0], "A"), *elsewhere, said("bob", TASKS[1], "A")], design(), out={"bob"})
    assert sorted(worker.number for worker in found.workers) == [1, 2] and [w.given for w in found.workers] == [1, 1]
    problems = [(one.where, one.problem) for one in found.votes.problems]
    foreign = [(f"file: {who} x", "foreign_task") for who in ("cy", "bob")]
    assert problems == [*foreign, ("file: bob q2", "wrote_captions")]


def test_a_half_finished_file_and_the_whole_one_add_up(tmp_path: Path) -> None:
    def saved(name: str, verdicts: list[Verdict]) -> Path:
        (tmp_path / name).write_text(as_csv([{c: one._asdict()[c] for c in COLUMNS} for one in verdicts], COLUMNS))
        return tmp_path / name

    half = saved("1.csv", [said("ann", TASKS[0], "A"), said("ann", TASKS[1], "")])
    whole = saved("2.csv", [said("ann", TASKS[0], "A"), said("ann", TASKS[1], "B")])
    found = counted_of(read_verdicts([half, whole]), design())
    assert found.votes.by_task == {"q1": {"1": "A"}, "q2": {"1": "B"}} and found.votes.problems == []
