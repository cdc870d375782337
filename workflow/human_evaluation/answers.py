"""Whose answers count, and what they come to: who is who, a test, the mode of what is left, the mean of ratings."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from reprise.benchmarks.human_ratings import RATED
from reprise.benchmarks.rows import items_of
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.settings import refuse_edited
from reprise.core.tabular import read_own_rows, require_columns
from reprise.external.answers import Problem as Noted
from reprise.external.answers import write_problems
from reprise.reading.readers import SCALES

from human_evaluation.draws import rank, shuffled
from human_evaluation.keys import Inputs
from human_evaluation.settings import AnswerDesign, Asked
from human_evaluation.surveys import Qualifying, qualification_of, question_tasks
from human_evaluation.tasks import Problem, Task, Verdict, Votes, counted, known_as, read_verdicts, warn_of

# Why a question has no answer, and why a row does not count, besides what a review knows.
TOO_FEW, TIE = "too_few_people", "tie"
WROTE_CAPTIONS = "wrote_captions"
NAMES_DIFFER = "If some are, write them there by the name or number under which they answered"


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
    verdicts, left_out = read_verdicts(map(Path, files.answers)), set[str]()
    for path in map(Path, files.left_out):
        named = require_columns(read_own_rows(path), ("reviewer",), path)["reviewer"].drop_nulls()
        left_out |= {known_as(str(name)) for name in named}
    refuse_edited(files.digests())
    found = counting(tasks, verdicts, design, tested, left_out - {""})
    if found.nobody_left_out:
        log.warning(f"None of the {found.named} people of `left_out:` is among those who answered. {NAMES_DIFFER}.")
    return tasks, found


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
    refused, needed = dict[str, tuple[str, str]](), design.qualification.right if design.qualification else 0
    for name, number in numbers.items():
        if name in left_out:
            refused[number] = (WROTE_CAPTIONS, f"worker {number} wrote captions")
        elif right[number] < needed:
            passed = f"{right[number]} of {len(tested.tasks)} answers of the qualification right, needed: {needed}"
            refused[number] = ("not_qualified", f"worker {number} has {passed}")
    asked = [one for one in anonymous if one.task_id in questions]
    votes = counted(tasks, [one for one in asked if one.reviewer not in refused])
    out = [Problem(one.where, *refused[one.reviewer]) for one in asked if one.reviewer in refused]
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


READER = "robust"  # whose reading of a model's reply people see, which is what tables show


def rating_requests(
    items: pl.DataFrame, answers: Mapping[str, pl.DataFrame], questions: int, seed: int
) -> list[dict[str, Any]]:
    """A request a person for each answer, by run, to the questions that are drawn of those that all runs were asked.

    An answer that failed or could not be read is not shown: there is nothing to rate.
    """
    asked = set.intersection(*(set(table.filter(reader=READER)["item_id"]) for table in answers.values()))
    drawn = set(shuffled(asked, seed)[:questions])
    chosen = items_of(items.filter(pl.col("item_id").is_in(drawn)))
    rows = []
    for run, table in answers.items():
        answered = {row["item_id"]: row for row in table.filter(reader=READER, error="").iter_rows(named=True)}
        if not {tuple(row["replies"]) for row in answered.values()} <= set(SCALES.values()):
            raise UserError(f"{run}: its answers choose an option. Name runs of a protocol whose answers are rated.")
        for item in (item for item in chosen if item.item_id in answered):
            shown = {
                "Question": item.texts["question"],
                "Groundtruth answer": item.answer,
                "Candidate answer": answered[item.item_id]["text"],
            }
            rows.append({
                "request_id": f"{item.item_id}#{run}", "item_id": item.item_id, "clip_id": item.clip_id, "role": run,
                "ask": "choose", "system": "", "prompt": "\n".join(f"{what}: {text}" for what, text in shown.items()),
                "options": list(answered[item.item_id]["replies"]), "option_texts": [], "expected": "", "max_tokens": 1,
            })  # fmt: skip
    return rows


def rated(requests: pl.DataFrame, tasks: Sequence[Task], votes: Votes, workers: int) -> tuple[pl.DataFrame, list[str]]:
    """The means of the answers that enough people rated, in the shape of all human ratings; and what waits for more."""
    rows, waiting = [], []
    for task, request in zip(tasks, requests.iter_rows(named=True), strict=True):
        given = votes.by_task.get(task.task_id, {})
        if len(given) < workers:
            waiting.append(request["request_id"])
        else:
            rows.append((request["role"], request["item_id"], sum(map(int, given.values())) / len(given)))
    return pl.DataFrame(rows, schema=RATED, orient="row"), waiting
