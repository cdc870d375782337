"""Whose answers count, and what they come to: who is who, bad rows by name, a test, the mode of what is left."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.construction.filters import rank, shuffled
from reprise.construction.review import (
    Problem,
    Task,
    Verdict,
    Votes,
    counted,
    known_as,
    read_verdicts,
    warn_of,
)
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.settings import refuse_edited
from reprise.core.tabular import read_own_rows
from reprise.external.answers import Problem as Noted
from reprise.external.answers import write_problems
from reprise.people.keys import Inputs
from reprise.people.settings import AnswerDesign, Asked
from reprise.people.surveys import Qualifying, qualification_of, question_tasks

# Why a question has no answer, and why a row does not count, besides what a review knows.
TOO_FEW, TIE = "too_few_people", "tie"
NOT_QUALIFIED, WROTE_CAPTIONS = "not_qualified", "wrote_captions"
NAMES_DIFFER = "If some are, write them there by the name or number under which they answered"
REVIEWER = "reviewer"


class Worker(NamedTuple):
    number: int
    right: int  # of the qualification
    refused: str  # why no answer counts; empty where they do
    given: int  # answers, those to the qualification left out


class Counted(NamedTuple):
    """The answers that count, by task and person, the people, and the rows that do not count."""

    votes: Votes
    workers: list[Worker]
    named: int  # people that `left_out:` names

    @property
    def left_out(self) -> int:
        """Those of them who answered."""
        return sum(worker.refused == WROTE_CAPTIONS for worker in self.workers)

    @property
    def nobody_left_out(self) -> bool:
        """Whether people answered under other names than `left_out:` has, as far as can be seen."""
        return bool(self.named and self.workers and not self.left_out)


class Reply(NamedTuple):
    option: str  # empty where there is no answer
    error: str


def gather(scope: str, design: Asked, files: Inputs, requests: pl.DataFrame) -> tuple[list[Task], Counted]:
    """The tasks of a group, in the order of the requests, and all that its files of answers say together."""
    tasks, tested = question_tasks(scope, requests), qualification_of(scope, design)
    verdicts, left_out = read_verdicts(map(Path, files.answers)), people_named(map(Path, files.left_out))
    refuse_edited(files.digests())
    found = counting(tasks, verdicts, design, tested, left_out)
    if found.nobody_left_out:
        log.warning(f"None of the {found.named} people of `left_out:` is among those who answered. {NAMES_DIFFER}.")
    return tasks, found


def people_named(paths: Iterable[Path]) -> set[str]:
    """The people that files name in their column `reviewer`."""
    found: list[str] = []
    for path in paths:
        rows = read_own_rows(path)
        if REVIEWER not in rows.columns:
            raise UserError(
                f"{path}: column '{REVIEWER}' is missing. Found: {', '.join(rows.columns)}. It names people "
                "whose answers do not count."
            )
        found += map(str, rows[REVIEWER].drop_nulls())
    return set(map(known_as, found)) - {""}


def counting(
    tasks: Sequence[Task],
    verdicts: Sequence[Verdict],
    design: Asked,
    tested: Qualifying,
    left_out: Collection[str],
) -> Counted:
    """The answers of those who may answer; of one person's two answers to a question neither counts."""
    questions, tests = ({task.task_id for task in some} for some in (tasks, tested.tasks))
    verdicts = [one._replace(reviewer=known_as(one.reviewer)) for one in verdicts]
    people = {one.reviewer for one in verdicts if one.task_id in questions | tests} - {""}
    numbers = {name: str(number) for number, name in enumerate(shuffled(people, design.seed), start=1)}
    anonymous = [one._replace(reviewer=numbers.get(one.reviewer, "")) for one in verdicts]
    of_tests = counted(tested.tasks, [one for one in anonymous if one.task_id in tests])
    foreign = counted((), [one for one in anonymous if one.task_id not in questions | tests])
    right = Counter(
        person
        for task, given in of_tests.by_task.items()
        for person, said in given.items()
        if said == tested.right[task]
    )
    refused = {number: (WROTE_CAPTIONS, "wrote captions") for name, number in numbers.items() if name in left_out}
    needed = design.qualification.right if design.qualification else 0
    for number in numbers.values():
        if right[number] < needed:
            why = f"has {right[number]} of {len(tested.tasks)} answers of the qualification right, needed: {needed}"
            refused.setdefault(number, (NOT_QUALIFIED, why))
    asked = [one for one in anonymous if one.task_id in questions]
    votes = counted(tasks, [one for one in asked if one.reviewer not in refused])
    out = []
    for one in asked:
        if one.reviewer in refused:
            problem, why = refused[one.reviewer]
            out.append(Problem(one.where, problem, f"worker {one.reviewer} {why}"))
    given = Counter(one.reviewer for one in asked)
    workers = [Worker(int(one), right[one], refused.get(one, ("", ""))[0], given[one]) for one in numbers.values()]
    problems = [*foreign.problems, *of_tests.problems, *out, *votes.problems]
    return Counted(Votes(votes.by_task, problems), workers, len(left_out))


def replies(tasks: Sequence[Task], votes: Votes, design: AnswerDesign) -> dict[str, Reply]:
    """By task: the mode of people's answers; without enough people, or with a tie that counts as wrong, none."""
    found = {}
    for task in tasks:
        given = votes.by_task.get(task.task_id, {})
        counts, error = Counter(given.values()), ""
        options = [one for one in task.choices if counts[one] == max(counts.values(), default=0)]
        if len(given) < design.workers:
            error = TOO_FEW
        elif len(options) > 1 and design.ties == "wrong":
            error = TIE
        elif design.ties == "draw":
            options = sorted(options, key=lambda option: rank(design.seed, task.task_id, option))
        found[task.task_id] = Reply("" if error else options[0], error)
    return found


def write_refused(refused: Sequence[Problem], waiting: Sequence[str], path: Path) -> None:
    """Write the rows that do not count, and the tasks that still wait for people; the log names the first rows."""
    write_problems([Noted(one.where, None, one.found, one.problem) for one in refused], waiting, path)
    warn_of(refused, path)
