"""Test which answers count, annotators' names, the most frequent answer, and agreement, with hand-computed values."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from human_evaluation.agreement import compute_alpha
from human_evaluation.answers import NAMES_DIFFER, TIE, TOO_FEW, aggregate_answers, read_group_answers
from human_evaluation.keys import AnswerFiles
from human_evaluation.statistics import UNDEFINED_BY_DESIGN, agreement, answer_statistics, worker_rows
from human_evaluation.surveys import build_question_tasks, task_id
from human_evaluation.tasks import COLUMNS, Verdict, as_csv, read_verdicts
from reprise.core.errors import UserError
from reprise.core.files import file_digest
from reprise.core.schemas import REQUESTS

from tests.human_evaluation.designs import OPTIONS, TASKS, TEST, count, design, make_verdict, task
from tests.unit.rows import request_row

Row = dict[str, Any]
RECORDED_EXPORTS = Path(__file__).parents[1] / "data/people"


def test_a_recorded_export_of_label_studio_is_read() -> None:
    """The complete export has a skipped task, and a task that one annotator answered twice."""
    partial, complete, corrected = (
        RECORDED_EXPORTS / f"label-studio-{name}.json" for name in ("half", "whole", "corrected")
    )
    names = [task_id("toy/script/all", f"{n}_pos/text#text_pos") for n in range(4)]
    tasks = [task(name, f"{n}.pos", f"Toy question {n}? A. one, B. two") for n, name in enumerate(names)]
    assert [(verdict.task_id, verdict.verdict) for verdict in read_verdicts([partial])] == [(names[0], "A")]
    counted = count(read_verdicts([partial, complete]), tasks=tasks)
    assert counted.votes.by_task == {names[0]: {"1": "A"}, names[1]: {"1": "B"}}
    assert [problem.problem for problem in counted.votes.problems] == ["two_verdicts"]
    assert count(read_verdicts([complete])).votes.problems[0].problem == "foreign_task"
    corrected_answers = count(read_verdicts([corrected]), tasks=tasks)
    assert corrected_answers.votes.by_task == {names[0]: {"1": "B"}, names[1]: {"1": "B"}}


ONE_REQUEST = pl.DataFrame([request_row("q1#text", options=["A", "B"])], schema=REQUESTS)


@pytest.mark.parametrize(
    ("reviewer", "caption_author", "is_left_out"),
    [(" ANN Smith ", "ann smith", True), ("Straße", "STRASSE", True), ("label-studio 4", "Ann Smith", False)],
)
def test_excluded_annotators_are_matched_by_name(
    tmp_path: Path, reviewer: str, caption_author: str, is_left_out: bool
) -> None:
    captions, answers = tmp_path / "captions.csv", tmp_path / "answers.csv"
    captions.write_text(f"clip,reviewer\na,{caption_author}\nb,\n")
    survey_task = build_question_tasks("b/g/all", ONE_REQUEST)[0]
    verdict = {"task_id": survey_task.task_id, "digest": survey_task.digest, "reviewer": reviewer, "verdict": "A"}
    answers.write_text(as_csv([verdict], COLUMNS))
    paths = {"answers": answers, "excluded_annotators": captions}
    files = AnswerFiles.model_validate({kind: {str(path): file_digest(path)} for kind, path in paths.items()})
    _, counted = read_group_answers("b/g/all", design(), files, ONE_REQUEST)
    assert [problem.problem for problem in counted.votes.problems] == (["wrote_captions"] if is_left_out else [])
    assert (counted.excluded_names, counted.excluded_count, counted.is_exclusion_unmatched) == (
        1,
        int(is_left_out),
        not is_left_out,
    )
    captions.write_text("clip,who\na,ann\n")
    with pytest.raises(UserError, match=r"captions.csv: column 'reviewer' is missing. Found: clip, who."):
        read_group_answers("b/g/all", design(), files, ONE_REQUEST)


def test_a_row_that_does_not_count_is_reported_without_its_annotator() -> None:
    """If one annotator gives two answers to a question, neither counts, however the name is spelled."""
    invalid_verdict = make_verdict("ann", TASKS[0], "C")
    contradicting = [
        make_verdict("Ann ", TASKS[2], "A"),
        make_verdict("ANN", TASKS[2], "B"),
        make_verdict("ann", TASKS[1], "B"),
    ]
    counted = count([invalid_verdict, *contradicting])
    assert [(problem.location, problem.problem) for problem in counted.votes.problems] == [
        (invalid_verdict.location, "unknown_verdict"), (contradicting[1].location, "two_verdicts"),
    ]  # fmt: skip
    assert "ann" not in counted.votes.problems[0].detail and counted.votes.by_task == {"q2": {"1": "B"}}
    assert "'1' gave 'A' and 'B' for q3" in counted.votes.problems[1].detail


def test_unqualified_and_excluded_annotators_do_not_count() -> None:
    survey_design = design(qualification={"questions": "q.csv", "right": 2})
    tests = [make_verdict(who, task, "A") for who in ("ann", "bob") for task in TEST.tasks]
    tests += [make_verdict("cy", TEST.tasks[0], "A"), make_verdict("cy", TEST.tasks[1], "B")]
    answers = [make_verdict(who, TASKS[0], "A") for who in ("ann", "bob", "cy", "dan")]
    counted = count([*tests, *answers, make_verdict("eve", task("x"), "A")], survey_design, TEST, {"bob"})
    problems = {
        problem.location: (problem.problem, problem.detail.split(" ", 2)[2]) for problem in counted.votes.problems[1:]
    }
    reason = "of 2 answers of the qualification right, needed: 2"
    unqualified = {
        f"file: {who} q1": ("not_qualified", f"has {right} {reason}") for who, right in (("cy", 1), ("dan", 0))
    }
    assert problems == unqualified | {"file: bob q1": ("wrote_captions", "wrote captions")}
    assert counted.votes.problems[0].problem == "foreign_task"
    assert list(counted.votes.by_task) == ["q1"] and len(counted.votes.by_task["q1"]) == 1
    rows = worker_rows(
        counted, aggregate_answers(TASKS, counted.votes, survey_design), {"q1": "B", "q2": "A", "q3": "A"}
    )
    assert [row["worker"] for row in rows] == [1, 2, 3, 4], "only annotators who answered a known task have a number"
    assert sorted(row["counts"] for row in rows) == ["not_qualified", "not_qualified", "wrote_captions", "yes"]
    assert sum(row["with_most"] for row in rows) == 1 and sum(row["right"] for row in rows) == 0


def ten_verdicts(answers: str) -> list[Verdict]:
    return [make_verdict(f"p{n}", TASKS[0], answer) for n, answer in enumerate(answers)]


MODES = [
    ("AAAAAABBBB", "wrong", "A", ""), ("BBBBBBBBBA", "wrong", "B", ""), ("AAAAABBBBB", "wrong", "", TIE),
    ("BBBBBAAAAA", "first_option", "A", ""), ("AAAAABBBBA", "draw", "A", ""), ("AAAAABBBB", "wrong", "", TOO_FEW),
    ("", "wrong", "", TOO_FEW), ("AAAAAABBBBB", "wrong", "A", ""),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "ties", "option", "error"), MODES)
def test_the_most_frequent_of_ten_answers(answers: str, ties: str, option: str, error: str) -> None:
    survey_design = design(workers=10, ties=ties)
    reply = aggregate_answers(TASKS, count(ten_verdicts(answers), survey_design).votes, survey_design)["q1"]
    assert (reply.option, reply.error) == (option, error)


def test_a_random_tie_is_reproducible_and_can_give_either_option() -> None:
    tie_results = set()
    for seed in range(20):
        survey_design = design(workers=10, ties="draw", seed=seed)
        votes = [count(ten_verdicts(answers), survey_design).votes for answers in ("AAAAABBBBB", "BBBBBAAAAA")]
        tie_results.add(tuple(aggregate_answers(TASKS, vote, survey_design)["q1"].option for vote in votes))
    assert tie_results == {("A", "A"), ("B", "B")}


def test_alpha_equals_a_hand_computed_value() -> None:
    """AA, AB, BB: of 6 values 3 are A; 2 of 6 pairs differ, by chance 2*3*3/(6-1) = 3.6. A single B does not count."""
    answers = [{"A": 2}, {"A": 1, "B": 1}, {"B": 2}, {"B": 1}]
    assert compute_alpha(answers, OPTIONS) == pytest.approx(1 - 2 / 3.6)
    assert [compute_alpha(counts, OPTIONS) for counts in ([], [{"A": 1}, {"B": 1}], [{"A": 3}, {"A": 2}])] == [None] * 3


def statistics_of(benchmark: str, *verdicts: Verdict, excluded: set[str] = frozenset()) -> Row:  # type: ignore[assignment]
    counted = count(verdicts, excluded=excluded)
    answers = aggregate_answers(TASKS, counted.votes, design())
    return {line.what: line for line in answer_statistics(benchmark, TASKS, counted, answers, design())}


def test_statistics_of_answers() -> None:
    """Two annotators who disagree give a tie, and both answers count."""
    ann = make_verdict("ann", TASKS[0], "A")
    statistics = statistics_of("velociti", ann)
    assert (statistics["questions"].paper, statistics["questions"].ours) == (
        2100,
        3,
    ) and "annotators excluded" not in statistics
    assert statistics["questions with too few annotators"].ours == 2
    assert agreement(TASKS, count([ann]).votes, design()) == (None, UNDEFINED_BY_DESIGN)
    assert statistics["Krippendorff's alpha"].note == UNDEFINED_BY_DESIGN
    other_statistics = statistics_of(
        "temporalbench", ann, make_verdict("bob", TASKS[0], "B"), make_verdict("ann", TASKS[1], "A")
    )
    assert other_statistics["questions with more annotators"].ours == 1 and other_statistics["ties"].ours == 1
    assert other_statistics["questions with more annotators"].note == "more than needed; all answers count"

    equal_verdicts = [make_verdict("ann", TASKS[0], "A"), make_verdict("bob", TASKS[0], "A")]
    notes = [({"ann"}, ""), ({"ann", "zoe"}, ""), ({"zoe"}, f". {NAMES_DIFFER}")]
    for excluded, note in notes:  # it is said when nobody is left out
        exclusion = statistics_of("velociti", *equal_verdicts, excluded=excluded)["annotators excluded"]
        assert (exclusion.ours, exclusion.note) == (
            len(excluded & {"ann"}),
            f"of {len(excluded)} in `excluded_annotators:`{note}",
        )
