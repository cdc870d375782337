"""Whose answers count, and what they come to: bad rows by name, a test, the mode of what is left."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from reprise.construction.draws import rank, shuffled
from reprise.construction.review import Problem, Task, Verdict, Votes, counted
from reprise.people.settings import AnswerDesign, Asked
from reprise.people.tasks import Qualifying

# Why a question has no answer, and why a row does not count, besides what a review knows.
TOO_FEW, TIE = "too_few_people", "tie"
NOT_QUALIFIED, WROTE_CAPTIONS = "not_qualified", "wrote_captions"
NAMES_DIFFER = "If some are, under another name or number, `names:` of the group says who is who"


class Worker(NamedTuple):
    """A person, known by a number."""

    number: int
    right: int
    """of the qualification"""
    refused: str
    """why no answer counts; empty where they do"""
    given: int
    """answers, those to the qualification left out"""


class Counted(NamedTuple):
    """The answers that count, by task and person, the people, and the rows that do not count."""

    votes: Votes
    workers: list[Worker]
    named: int
    """people that `left_out:` names"""

    @property
    def left_out(self) -> int:
        """Those of them who answered."""
        return sum(worker.refused == WROTE_CAPTIONS for worker in self.workers)

    @property
    def nobody_left_out(self) -> bool:
        """Whether people answered under other names than `left_out:` has, as far as can be seen."""
        return bool(self.named and self.workers and not self.left_out)


class Reply(NamedTuple):
    """What people's answers to a question come to."""

    option: str
    """empty where there is no answer"""
    error: str
    people: int


def numbered(verdicts: Sequence[Verdict], known: Collection[str], seed: int) -> dict[str, str]:
    """A number, in a drawn order, for each person who answered a known task."""
    names = shuffled(sorted({one.reviewer for one in verdicts if one.task_id in known} - {""}), seed)
    return {name: str(number) for number, name in enumerate(names, start=1)}


def counting(
    tasks: Sequence[Task],
    verdicts: Sequence[Verdict],
    design: Asked,
    tested: Qualifying,
    left_out: Collection[str],
) -> Counted:
    """The answers of those who may answer; of one person's two answers to a question neither counts."""
    questions, tests = ({task.task_id for task in some} for some in (tasks, tested.tasks))
    numbers = numbered(verdicts, questions | tests, design.seed)
    anonymous = [one._replace(reviewer=numbers.get(one.reviewer, "")) for one in verdicts]
    asked = [one for one in anonymous if one.task_id in questions]
    of_tests = counted(tested.tasks, [one for one in anonymous if one.task_id in tests])
    foreign = counted((), [one for one in anonymous if one.task_id not in questions | tests])
    right = _right_answers(of_tests, tested)
    refused = {number: (WROTE_CAPTIONS, "wrote captions") for name, number in numbers.items() if name in left_out}
    if design.qualification is not None:
        needed = design.qualification.right
        for number in numbers.values():
            if right[number] < needed:
                why = f"has {right[number]} of {len(tested.tasks)} answers of the qualification right, needed: {needed}"
                refused.setdefault(number, (NOT_QUALIFIED, why))
    votes = counted(tasks, [one for one in asked if one.reviewer not in refused])
    out = [
        Problem(one.where, refused[one.reviewer][0], f"worker {one.reviewer} {refused[one.reviewer][1]}")
        for one in asked
        if one.reviewer in refused
    ]
    given = Counter(one.reviewer for one in asked)
    workers = [
        Worker(int(number), right[number], refused.get(number, ("", ""))[0], given[number])
        for number in numbers.values()
    ]
    return Counted(
        Votes(votes.by_task, [*foreign.problems, *of_tests.problems, *out, *votes.problems]), workers, len(left_out)
    )


def _right_answers(votes: Votes, tested: Qualifying) -> Counter[str]:
    return Counter(
        person for task, given in votes.by_task.items() for person, said in given.items() if said == tested.right[task]
    )


def replies(tasks: Sequence[Task], votes: Votes, design: AnswerDesign) -> dict[str, Reply]:
    """By task: the mode of people's answers; without enough people, or with a tie that counts as wrong, none."""
    return {task.task_id: _reply(task, votes.by_task.get(task.task_id, {}), design) for task in tasks}


def _reply(task: Task, given: Mapping[str, str], design: AnswerDesign) -> Reply:
    if len(given) < design.workers:
        return Reply("", TOO_FEW, len(given))
    first = modes(list(given.values()), task.choices)
    if len(first) > 1 and design.ties == "wrong":
        return Reply("", TIE, len(given))
    if design.ties == "draw":
        first = sorted(first, key=lambda option: rank(design.seed, task.task_id, option))
    return Reply(first[0], "", len(given))


def modes(answers: Sequence[str], options: Sequence[str]) -> list[str]:
    """The most frequent answers, in the order in which they are offered."""
    counts = Counter(answers)
    most = max(counts.values())
    return [option for option in options if counts[option] == most]
