"""Questions that tests ask, and what people say of them."""

from collections.abc import Collection, Sequence

from human_evaluation.answers import Counted, counting
from human_evaluation.settings import AnswerDesign, Asked
from human_evaluation.surveys import NOT_TESTED, Qualifying
from human_evaluation.tasks import Task, Verdict

AB = ("A", "B")


def task(name: str, clip: str = "", question: str = "") -> Task:
    return Task(name, AB, {"clip": clip, "question": question, "choices": "A | B"})


TASKS = [task(name, f"{name}.mp4", f"{name}?") for name in ("q1", "q2", "q3")]
TEST = Qualifying([task(f"t{n}", "", n) for n in "12"], {f"t{n}": "A" for n in "12"}, {})


def design(**settings: object) -> AnswerDesign:
    return AnswerDesign.model_validate({"run": "paper/all/humans", "answers": "*.csv", **settings})


def said(person: str, task: Task, answer: str) -> Verdict:
    return Verdict(task.task_id, task.digest, person, answer, f"file: {person} {task.task_id}")


def counted_of(
    verdicts: Sequence[Verdict],
    asked: Asked | None = None,
    tested: Qualifying = NOT_TESTED,
    out: Collection[str] = (),
    tasks: Sequence[Task] = TASKS,
) -> Counted:
    return counting(tasks, verdicts, asked or design(), tested, out)
