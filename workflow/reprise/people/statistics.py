"""Numbers of people's answers: what the paper states beside ours, their agreement, each person by a number."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reprise.construction.review import Task, Votes
from reprise.people.answers import NAMES_DIFFER, TIE, TOO_FEW, Counted, Reply, Worker
from reprise.people.settings import AnswerDesign, Asked
from reprise.people.tasks import in_surveys
from reprise.stats.reliability import Level, alpha

# VELOCITI, A.6; Vinoground, 4.2 and appendix H. TemporalBench states none of these, and MMBench-Video's people rate.
PAPER: Mapping[str, Mapping[str, float]] = {
    "velociti": {"questions": 2100, "people": 3, "answers a question": 1},
    "vinoground": {"questions": 2000, "surveys": 50, "answers a question": 10, "people who may answer": 170},
}
BY_DESIGN = "undefined by design: each question has one person"
NOTHING_TO_COMPARE = "undefined: no question has two different answers to compare with others"
ALL_COUNT = "than needed; all of their answers count"
WORKER_COLUMNS = ("worker", "counts", "qualification_right", "answers", "with_most", "right")


class Number(NamedTuple):
    """A line of the page."""

    what: str
    paper: float | None
    ours: float | None
    note: str = ""


def numbers(
    benchmark: str, tasks: Sequence[Task], counted: Counted, replies: Mapping[str, Reply], design: AnswerDesign
) -> list[Number]:
    """What was asked, who answered, how far they agree."""
    paper = PAPER.get(benchmark, {})
    errors = Counter(reply.error for reply in replies.values())
    surveys = in_surveys([task.task_id for task in tasks], design.surveys, design.per_survey)
    counts = [len(given) for given in counted.votes.by_task.values()]
    ours: list[tuple[str, float | None, str]] = [
        ("questions", len(tasks), ""),
        ("surveys", len(set(surveys.values())), ""),
        *people_lines(counted, "answer"),
        ("answers that count", sum(counts), ""),
        ("answers a question", min(counts, default=0), f"the fewest; the most: {max(counts, default=0)}"),
        ("questions with an answer", errors[""], ""),
        ("questions that too few people answered", errors[TOO_FEW], f"needed: {design.workers}"),
        ("questions that more people answered", sum(count > design.workers for count in counts), ALL_COUNT),
        ("ties", errors[TIE], "without an answer; `ties: wrong`"),
        ("rows that do not count", len(counted.votes.problems), "named in the problems of the run"),
        ("Krippendorff's alpha", *agreement(tasks, counted.votes, design)),
    ]
    return [Number(what, paper.get(what), value, note) for what, value, note in ours]


def people_lines(counted: Counted, do: str) -> list[tuple[str, float | None, str]]:
    """Who took part, and who may not."""
    lines: list[tuple[str, float | None, str]] = [
        ("people", len(counted.workers), ""),
        (f"people who may {do}", sum(not worker.refused for worker in counted.workers), "of those who took part here"),
    ]
    if counted.named:
        note = f"of {counted.named} in `left_out:`"
        lines.append(
            ("people left out", counted.left_out, f"{note}. {NAMES_DIFFER}" if counted.nobody_left_out else note)
        )
    return lines


def agreement(tasks: Sequence[Task], votes: Votes, design: Asked, level: Level = "nominal") -> tuple[float | None, str]:
    """Krippendorff's alpha of the answers that count, or why there is none."""
    if design.workers == 1 and all(len(given) < 2 for given in votes.by_task.values()):
        return None, BY_DESIGN
    options = list(dict.fromkeys(option for task in tasks for option in task.choices))
    found = alpha([Counter(given.values()) for given in votes.by_task.values()], options, level)
    return found, NOTHING_TO_COMPARE if found is None else f"{level}, of the answers that count"


def worker_rows(counted: Counted, replies: Mapping[str, Reply], expected: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row a person, by number: how often theirs is the answer of most, and the right one."""
    said: dict[int, list[tuple[str, str]]] = {}
    for task, given in counted.votes.by_task.items():
        for person, option in given.items():
            said.setdefault(int(person), []).append((task, option))
    ordered = sorted(counted.workers, key=lambda worker: worker.number)
    return [_worker_row(worker, said.get(worker.number, []), replies, expected) for worker in ordered]


def _worker_row(
    worker: Worker, said: Sequence[tuple[str, str]], replies: Mapping[str, Reply], expected: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "worker": worker.number,
        "counts": worker.refused or "yes",
        "qualification_right": worker.right,
        "answers": worker.given,
        "with_most": sum(replies[task].option == option for task, option in said),
        "right": sum(expected[task] == option for task, option in said),
    }
