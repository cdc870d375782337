"""Agreement of people and numbers of their answers; each by hand."""

import pytest
from reprise.people.answers import NAMES_DIFFER, TIE, replies
from reprise.people.statistics import BY_DESIGN, agreement, numbers
from reprise.stats.reliability import alpha

from tests.unit.people.asked import AB, TASKS, counted_of, design, said


def test_alpha_by_hand() -> None:
    """Three questions, two people: AA, AB, BB. Of 6 values 3 are A; 2 of 6 pairs differ; 2*3*3/(6-1) = 3.6 would by chance."""
    answers = [{"A": 2}, {"A": 1, "B": 1}, {"B": 2}]
    assert alpha(answers, AB) == pytest.approx(1 - 2 / 3.6)


@pytest.mark.parametrize(
    "counts", [[(3, 1), (0, 4), (4, 0), (2, 2)], [(10, 0), (5, 5), (1, 9)], [(1, 1), (2, 0), (0, 1)]]
)
def test_alpha_is_its_closed_form(counts: list[tuple[int, int]]) -> None:
    """Of two values: 1 - (n - 1) * sum(a*b / (m - 1)) / (A * B), over questions with m = a + b answers or more than one."""
    paired = [(a, b) for a, b in counts if a + b > 1]
    of_a, of_b = (sum(column) for column in zip(*paired, strict=True))
    differing = sum(a * b / (a + b - 1) for a, b in paired)
    assert alpha([{"A": a, "B": b} for a, b in counts], AB) == pytest.approx(
        1 - (of_a + of_b - 1) * differing / (of_a * of_b)
    )


@pytest.mark.parametrize("answers", [[], [{"A": 1}, {"B": 1}], [{"A": 3}, {"A": 2}]])
def test_alpha_is_undefined_where_nothing_can_be_compared(answers: list[dict[str, int]]) -> None:
    assert alpha(answers, AB) is None


def test_agreement_of_one_person_a_question_is_undefined_by_design() -> None:
    found = counted_of([said("ann", TASKS[0], "A")], design())
    assert agreement(TASKS, found.votes, design()) == (None, BY_DESIGN)
    lines = {
        one.what: one for one in numbers("velociti", TASKS, found, replies(TASKS, found.votes, design()), design())
    }
    assert lines["questions"].paper == 2100 and lines["questions"].ours == 3
    assert lines["questions that too few people answered"].ours == 2 and lines["Krippendorff's alpha"].note == BY_DESIGN


def test_a_second_person_who_answers_one_persons_question_is_counted() -> None:
    """Of two who differ there is no most frequent answer; both count."""
    found = counted_of([said("ann", TASKS[0], "A"), said("bob", TASKS[0], "B"), said("ann", TASKS[1], "A")], design())
    answers = replies(TASKS, found.votes, design())
    lines = {one.what: one for one in numbers("temporalbench", TASKS, found, answers, design())}
    assert lines["questions that more people answered"].ours == 1 and lines["ties"].ours == 1
    assert lines["questions that more people answered"].note == "than needed; all of their answers count"
    assert answers["q1"].error == TIE and answers["q2"].option == "A"


@pytest.mark.parametrize(
    ("out", "note"),
    [
        ({"ann"}, "of 1 in `left_out:`"),
        ({"ann", "zoe"}, "of 2 in `left_out:`"),
        ({"zoe"}, f"of 1 in `left_out:`. {NAMES_DIFFER}"),
    ],
)
def test_it_is_said_when_nobody_is_left_out(out: set[str], note: str) -> None:
    found = counted_of([said("ann", TASKS[0], "A"), said("bob", TASKS[0], "A")], design(), out=out)
    lines = {
        one.what: one for one in numbers("temporalbench", TASKS, found, replies(TASKS, found.votes, design()), design())
    }
    assert lines["people left out"].ours == len(out & {"ann"}) and lines["people left out"].note == note


def test_without_people_to_leave_out_nothing_is_said_of_them() -> None:
    found = counted_of([said("ann", TASKS[0], "A")], design())
    lines = [one.what for one in numbers("velociti", TASKS, found, replies(TASKS, found.votes, design()), design())]
    assert "people left out" not in lines
