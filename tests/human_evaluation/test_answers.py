"""Which answers count, names of annotators, the mode of answers, and agreement, computed by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from human_evaluation.agreement import alpha
from human_evaluation.answers import NAMES_DIFFER, TIE, TOO_FEW, common_answers, gather
from human_evaluation.keys import AnswerFiles
from human_evaluation.statistics import BY_DESIGN, agreement, answer_statistics, worker_rows
from human_evaluation.surveys import question_tasks, task_id
from human_evaluation.tasks import COLUMNS, Verdict, as_csv, read_verdicts
from reprise.core.errors import UserError
from reprise.core.files import file_digest
from reprise.core.schemas import REQUESTS

from tests.human_evaluation.designs import AB, TASKS, TEST, counted_of, design, said, task
from tests.unit.rows import request_row

Row = dict[str, Any]
RECORDED = Path(__file__).parents[1] / "data/people"


def test_a_recorded_export_of_label_studio_is_read() -> None:
    """One answer before, and all after: one skipped task, and one that the same person answered twice."""
    half, whole, corrected = (RECORDED / f"label-studio-{name}.json" for name in ("half", "whole", "corrected"))
    names = [task_id("toy/script/all", f"{n}_pos/text#text_pos") for n in range(4)]
    tasks = [task(name, f"{n}.pos", f"Toy question {n}? A. one, B. two") for n, name in enumerate(names)]
    assert [(one.task_id, one.verdict) for one in read_verdicts([half])] == [(names[0], "A")]
    found = counted_of(read_verdicts([half, whole]), tasks=tasks)
    assert found.votes.by_task == {names[0]: {"1": "A"}, names[1]: {"1": "B"}}
    assert [one.problem for one in found.votes.problems] == ["two_verdicts"]
    assert counted_of(read_verdicts([whole])).votes.problems[0].problem == "foreign_task"
    later = counted_of(read_verdicts([corrected]), tasks=tasks)
    assert later.votes.by_task == {names[0]: {"1": "B"}, names[1]: {"1": "B"}}


ONE = pl.DataFrame([request_row("q1#text", options=["A", "B"])], schema=REQUESTS)


@pytest.mark.parametrize(
    ("reviewer", "wrote", "is_left_out"),
    [(" ANN Smith ", "ann smith", True), ("Straße", "STRASSE", True), ("label-studio 4", "Ann Smith", False)],
)
def test_excluded_annotators_are_matched_by_name(tmp_path: Path, reviewer: str, wrote: str, is_left_out: bool) -> None:
    captions, answers = tmp_path / "captions.csv", tmp_path / "answers.csv"
    captions.write_text(f"clip,reviewer\na,{wrote}\nb,\n")
    asked = question_tasks("b/g/all", ONE)[0]
    verdict = {"task_id": asked.task_id, "digest": asked.digest, "reviewer": reviewer, "verdict": "A"}
    answers.write_text(as_csv([verdict], COLUMNS))
    paths = {"answers": answers, "left_out": captions}
    files = AnswerFiles.model_validate({kind: {str(path): file_digest(path)} for kind, path in paths.items()})
    _, found = gather("b/g/all", design(), files, ONE)
    assert [one.problem for one in found.votes.problems] == (["wrote_captions"] if is_left_out else [])
    assert (found.excluded_names, found.left_out, found.is_exclusion_unmatched) == (
        1,
        int(is_left_out),
        not is_left_out,
    )
    captions.write_text("clip,who\na,ann\n")
    with pytest.raises(UserError, match=r"captions.csv: column 'reviewer' is missing. Found: clip, who."):
        gather("b/g/all", design(), files, ONE)


def test_a_row_that_does_not_count_is_named_without_a_name() -> None:
    """Of two answers of one person, however the name is written, neither counts."""
    bad = said("ann", TASKS[0], "C")
    two = [said("Ann ", TASKS[2], "A"), said("ANN", TASKS[2], "B"), said("ann", TASKS[1], "B")]
    found = counted_of([bad, *two])
    assert [(one.where, one.problem) for one in found.votes.problems] == [
        (bad.location, "unknown_verdict"), (two[1].location, "two_verdicts"),
    ]  # fmt: skip
    assert "ann" not in found.votes.problems[0].found and found.votes.by_task == {"q2": {"1": "B"}}
    assert "'1' gave 'A' and 'B' for q3" in found.votes.problems[1].found


def test_unqualified_and_excluded_annotators_do_not_count() -> None:
    asked = design(qualification={"questions": "q.csv", "right": 2})
    tests = [said(who, task, "A") for who in ("ann", "bob") for task in TEST.tasks]
    tests += [said("cy", TEST.tasks[0], "A"), said("cy", TEST.tasks[1], "B")]
    answers = [said(who, TASKS[0], "A") for who in ("ann", "bob", "cy", "dan")]
    found = counted_of([*tests, *answers, said("eve", task("x"), "A")], asked, TEST, {"bob"})
    problems = {one.where: (one.problem, one.found.split(" ", 2)[2]) for one in found.votes.problems[1:]}
    why = "of 2 answers of the qualification right, needed: 2"
    failed = {f"file: {who} q1": ("not_qualified", f"has {right} {why}") for who, right in (("cy", 1), ("dan", 0))}
    assert problems == failed | {"file: bob q1": ("wrote_captions", "wrote captions")}
    assert found.votes.problems[0].problem == "foreign_task"
    assert list(found.votes.by_task) == ["q1"] and len(found.votes.by_task["q1"]) == 1
    rows = worker_rows(found, common_answers(TASKS, found.votes, asked), {"q1": "B", "q2": "A", "q3": "A"})
    assert [row["worker"] for row in rows] == [1, 2, 3, 4], "only who answered a known task has a number"
    assert sorted(row["counts"] for row in rows) == ["not_qualified", "not_qualified", "wrote_captions", "yes"]
    assert sum(row["with_most"] for row in rows) == 1 and sum(row["right"] for row in rows) == 0


def by_ten(answers: str) -> list[Verdict]:
    return [said(f"p{n}", TASKS[0], answer) for n, answer in enumerate(answers)]


MODES = [
    ("AAAAAABBBB", "wrong", "A", ""), ("BBBBBBBBBA", "wrong", "B", ""), ("AAAAABBBBB", "wrong", "", TIE),
    ("BBBBBAAAAA", "first_option", "A", ""), ("AAAAABBBBA", "draw", "A", ""), ("AAAAABBBB", "wrong", "", TOO_FEW),
    ("", "wrong", "", TOO_FEW), ("AAAAAABBBBB", "wrong", "A", ""),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "ties", "option", "error"), MODES)
def test_the_mode_of_ten(answers: str, ties: str, option: str, error: str) -> None:
    asked = design(workers=10, ties=ties)
    reply = common_answers(TASKS, counted_of(by_ten(answers), asked).votes, asked)["q1"]
    assert (reply.option, reply.error) == (option, error)


def test_a_random_tie_is_reproducible_and_falls_both_ways() -> None:
    drawn = set()
    for seed in range(20):
        asked = design(workers=10, ties="draw", seed=seed)
        votes = [counted_of(by_ten(said), asked).votes for said in ("AAAAABBBBB", "BBBBBAAAAA")]
        drawn.add(tuple(common_answers(TASKS, one, asked)["q1"].option for one in votes))
    assert drawn == {("A", "A"), ("B", "B")}


def test_alpha_by_hand() -> None:
    """AA, AB, BB: of 6 values 3 are A; 2 of 6 pairs differ; 2*3*3/(6-1) = 3.6 would by chance; B alone tells nothing."""
    answers = [{"A": 2}, {"A": 1, "B": 1}, {"B": 2}, {"B": 1}]
    assert alpha(answers, AB) == pytest.approx(1 - 2 / 3.6)
    assert [alpha(one, AB) for one in ([], [{"A": 1}, {"B": 1}], [{"A": 3}, {"A": 2}])] == [None] * 3


def lines_of(benchmark: str, *verdicts: Verdict, out: set[str] = frozenset()) -> Row:  # type: ignore[assignment]
    found = counted_of(verdicts, out=out)
    answers = common_answers(TASKS, found.votes, design())
    return {one.what: one for one in answer_statistics(benchmark, TASKS, found, answers, design())}


def test_numbers_of_answers() -> None:
    """Of two who differ there is no most frequent answer; both count."""
    ann = said("ann", TASKS[0], "A")
    found = lines_of("velociti", ann)
    assert (found["questions"].paper, found["questions"].ours) == (2100, 3) and "annotators excluded" not in found
    assert found["questions with too few annotators"].ours == 2
    assert agreement(TASKS, counted_of([ann]).votes, design()) == (None, BY_DESIGN)
    assert found["Krippendorff's alpha"].note == BY_DESIGN
    two = lines_of("temporalbench", ann, said("bob", TASKS[0], "B"), said("ann", TASKS[1], "A"))
    assert two["questions with more annotators"].ours == 1 and two["ties"].ours == 1
    assert two["questions with more annotators"].note == "more than needed; all answers count"

    both = [said("ann", TASKS[0], "A"), said("bob", TASKS[0], "A")]
    notes = [({"ann"}, ""), ({"ann", "zoe"}, ""), ({"zoe"}, f". {NAMES_DIFFER}")]
    for out, note in notes:  # it is said when nobody is left out
        left = lines_of("velociti", *both, out=out)["annotators excluded"]
        assert (left.ours, left.note) == (len(out & {"ann"}), f"of {len(out)} in `left_out:`{note}")
