"""Helpers of tests with questions and annotators' verdicts."""

from collections.abc import Collection, Sequence

from human_evaluation.answers import CountedAnswers, count_answers
from human_evaluation.settings import AnswerDesign, SurveyDesign
from human_evaluation.surveys import NO_QUALIFICATION, QualificationTest
from human_evaluation.tasks import Task, Verdict

OPTIONS = ("A", "B")


def task(name: str, clip: str = "", question: str = "") -> Task:
    return Task(name, OPTIONS, {"clip": clip, "question": question, "choices": "A | B"})


TASKS = [task(name, f"{name}.mp4", f"{name}?") for name in ("q1", "q2", "q3")]
TEST = QualificationTest([task(f"t{n}", "", n) for n in "12"], {f"t{n}": "A" for n in "12"}, {})


def design(**settings: object) -> AnswerDesign:
    return AnswerDesign.model_validate({"run": "paper/all/humans", "answers": "*.csv", **settings})


def make_verdict(annotator: str, task: Task, answer: str) -> Verdict:
    return Verdict(task.task_id, task.digest, annotator, answer, f"file: {annotator} {task.task_id}")


def count(
    verdicts: Sequence[Verdict],
    survey_design: SurveyDesign | None = None,
    qualification: QualificationTest = NO_QUALIFICATION,
    excluded: Collection[str] = (),
    tasks: Sequence[Task] = TASKS,
) -> CountedAnswers:
    return count_answers(tasks, verdicts, survey_design or design(), qualification, excluded)
