"""Compute statistics of human answers and ratings, next to the values in the papers, and a row per annotator."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from human_evaluation.agreement import Level, compute_alpha
from human_evaluation.answers import NAMES_DIFFER, TIE, TOO_FEW, AggregatedAnswer, CountedAnswers, compute_mean_ratings
from human_evaluation.settings import AnswerDesign, RatingDesign, SurveyDesign
from human_evaluation.surveys import assign_surveys
from human_evaluation.tasks import Task, Votes

# Sources: VELOCITI, A.6; Vinoground, 4.2 and appendix H; MMBench-Video, 4.4 (two authors rated 100 questions of two
# models). TemporalBench states none of these numbers.
PAPER: Mapping[str, Mapping[str, float]] = {
    "velociti": {"questions": 2100, "annotators": 3, "answers a question": 1},
    "vinoground": {"questions": 2000, "surveys": 50, "answers a question": 10, "annotators who may answer": 170},
    "mmbench_video": {"questions": 100, "answers to rate": 200, "annotators": 2, "ratings an answer": 2},
}
UNDEFINED_BY_DESIGN = "undefined by design: each question has one annotator"
UNDEFINED_AGREEMENT = "undefined: no question has two answers, or all answers are equal"
ALL_ANSWERS_COUNT = "more than needed; all answers count"
WORKER_COLUMNS = ("worker", "counts", "qualification_right", "answers", "with_most", "right")
RATER_COLUMNS = ("worker", "counts", "qualification_right", "answers", "mean")
Lines = list[tuple[str, float | None, str]]  # name of the statistic, measured value, note


class StatisticRow(NamedTuple):
    """A statistic beside the value in the paper."""

    what: str
    paper: float | None  # None if the paper states no value
    ours: float | None
    note: str = ""


def answer_statistics(
    benchmark: str,
    tasks: Sequence[Task],
    counted: CountedAnswers,
    answer_by_task: Mapping[str, AggregatedAnswer],
    design: AnswerDesign,
) -> list[StatisticRow]:
    """Return the numbers of questions, surveys, annotators and answers, and the annotators' agreement."""
    errors = Counter(answer.error for answer in answer_by_task.values())
    surveys = assign_surveys([task.task_id for task in tasks], design.surveys, design.per_survey)
    counts = [len(votes) for votes in counted.votes.by_task.values()]
    lines: Lines = [
        ("questions", len(tasks), ""),
        ("surveys", len(set(surveys.values())), ""),
        *_annotator_counts(counted, "answer"),
        *_vote_counts(counts, "answers that count", "answers a question"),
        ("questions with an answer", errors[""], ""),
        ("questions with too few annotators", errors[TOO_FEW], f"needed: {design.workers}"),
        ("questions with more annotators", sum(count > design.workers for count in counts), ALL_ANSWERS_COUNT),
        ("ties", errors[TIE], "without an answer; `ties: wrong`"),
        ("rows that do not count", len(counted.votes.problems), "listed in the problems file of the run"),
        ("Krippendorff's alpha", *agreement(tasks, counted.votes, design)),
    ]
    return [StatisticRow(name, PAPER.get(benchmark, {}).get(name), measured, note) for name, measured, note in lines]


def rating_statistics(
    benchmark: str, requests: pl.DataFrame, tasks: Sequence[Task], counted: CountedAnswers, design: RatingDesign
) -> list[StatisticRow]:
    """Return the numbers of answers and raters, the raters' agreement, and each run's mean rating."""
    counts = [len(votes) for votes in counted.votes.by_task.values()]
    ratings, unrated = compute_mean_ratings(requests, tasks, counted.votes, design.workers)
    by_run = {run: ratings.filter(run=run)["rating"].to_list() for run in requests["role"].unique(maintain_order=True)}
    lines: Lines = [
        ("questions", requests["item_id"].n_unique(), f"sample size: {design.questions}"),
        ("answers to rate", len(tasks), "without failed ones"),
        *_annotator_counts(counted, "rate"),
        *_vote_counts(counts, "ratings that count", "ratings an answer"),
        ("answers with a mean", ratings.height, ""),
        ("answers with too few ratings", len(unrated), f"needed: {design.workers}"),
        ("answers with more ratings", sum(count > design.workers for count in counts), ALL_ANSWERS_COUNT),
        ("rows that do not count", len(counted.votes.problems), "listed in problems.csv"),
        ("Krippendorff's alpha", *agreement(tasks, counted.votes, design, "interval")),
        *((f"mean rating of {run}", _mean(values), f"of {len(values)} answers") for run, values in by_run.items()),
    ]
    return [StatisticRow(name, PAPER.get(benchmark, {}).get(name), measured, note) for name, measured, note in lines]


def _vote_counts(counts: Sequence[int], total_name: str, minimum_name: str) -> Lines:
    """Return the total and the minimum of the numbers of answers of each question."""
    note = f"minimum; maximum: {max(counts, default=0)}"
    return [(total_name, sum(counts), ""), (minimum_name, min(counts, default=0), note)]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _annotator_counts(counted: CountedAnswers, verb: str) -> Lines:
    """Return how many annotators answered, may answer and are excluded."""
    accepted = sum(not worker.refusal_reason for worker in counted.annotators)
    note = f"of {counted.excluded_names} in `excluded_annotators:`"
    if counted.is_exclusion_unmatched:
        note += f". {NAMES_DIFFER}"
    return [
        ("annotators", len(counted.annotators), ""),
        (f"annotators who may {verb}", accepted, "of the annotators above"),
        *([("annotators excluded", counted.excluded_count, note)] if counted.excluded_names else []),
    ]


def agreement(
    tasks: Sequence[Task], votes: Votes, design: SurveyDesign, level: Level = "nominal"
) -> tuple[float | None, str]:
    """Return Krippendorff's alpha of the answers that count, with a note; or None, with the reason."""
    if design.workers == 1 and all(len(answers) < 2 for answers in votes.by_task.values()):
        return None, UNDEFINED_BY_DESIGN
    options = list(dict.fromkeys(option for task in tasks for option in task.choices))
    coefficient = compute_alpha([Counter(answers.values()) for answers in votes.by_task.values()], options, level)
    return coefficient, UNDEFINED_AGREEMENT if coefficient is None else f"{level}, of the answers that count"


def worker_rows(
    counted: CountedAnswers, answer_by_task: Mapping[str, AggregatedAnswer], expected: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return a row per annotator: how many answers agree with the most frequent answer, and how many are right."""
    return [
        row
        | {
            "with_most": sum(answer_by_task[task].option == option for task, option in votes.items()),
            "right": sum(expected[task] == option for task, option in votes.items()),
        }
        for row, votes in _annotators_and_answers(counted)
    ]


def rater_rows(counted: CountedAnswers) -> list[dict[str, Any]]:
    """Return a row per annotator: how many answers the annotator rated, and the mean of the ratings that count."""
    rows = []
    for row, votes in _annotators_and_answers(counted):
        mean = _mean(list(map(int, votes.values())))
        rows.append(row | {"mean": "" if mean is None else mean})
    return rows


def _annotators_and_answers(counted: CountedAnswers) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Yield a row per annotator, and the annotator's answers that count, by task."""
    for number, right_count, refusal_reason, answer_count in sorted(counted.annotators):
        votes = {
            task: answers[str(number)] for task, answers in counted.votes.by_task.items() if str(number) in answers
        }
        yield (
            {
                "worker": number,
                "counts": refusal_reason or "yes",
                "qualification_right": right_count,
                "answers": answer_count,
            },
            votes,
        )
