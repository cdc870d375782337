"""Decide which annotators' answers count, and aggregate them: the mode of answers, the mean of ratings."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from reprise.benchmarks.annotations import to_items
from reprise.benchmarks.human_ratings import RATING_SCHEMA
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.settings import reject_edited
from reprise.core.tabular import read_user_rows, require_columns
from reprise.external.answers import ImportProblem, write_problems
from reprise.extraction.extractors import SCALES

from human_evaluation.draws import rank, shuffled
from human_evaluation.keys import AnswerFiles
from human_evaluation.settings import AnswerDesign, SurveyDesign
from human_evaluation.surveys import QualificationTest, load_qualification, question_tasks
from human_evaluation.tasks import (
    RowProblem,
    Task,
    Verdict,
    Votes,
    count_votes,
    log_problems,
    normalize_name,
    read_verdicts,
)

# The reasons why a question has no answer or a row does not count, in addition to those of a review.
TOO_FEW, TIE = "too_few_annotators", "tie"
WROTE_CAPTIONS = "wrote_captions"
NAMES_DIFFER = "If they answered under other names, list those names or numbers instead"


class Worker(NamedTuple):
    number: int
    right: int  # right answers of the qualification
    refused: str  # why no answer counts; empty if the answers count
    answers: int  # number of answers without those of the qualification


class CountedAnswers(NamedTuple):
    """The answers that count by task and annotator, the annotators, and the rows that do not count."""

    votes: Votes
    workers: list[Worker]
    excluded_names: int  # number of names in `left_out:`

    @property
    def left_out(self) -> int:
        """Return the number of answering annotators that `left_out:` excludes."""
        return sum(worker.refused == WROTE_CAPTIONS for worker in self.workers)

    @property
    def is_exclusion_unmatched(self) -> bool:
        """Return whether none of the names in `left_out:` answered, which suggests that they used other names."""
        return bool(self.excluded_names and self.workers and not self.left_out)


class CommonAnswer(NamedTuple):
    option: str  # empty without an answer
    error: str


def gather(
    scope: str, design: SurveyDesign, files: AnswerFiles, requests: pl.DataFrame
) -> tuple[list[Task], CountedAnswers]:
    """Return the tasks of a group in the order of the requests, and the answers of all its files together."""
    tasks, qualification = question_tasks(scope, requests), load_qualification(scope, design)
    verdicts, left_out = read_verdicts(map(Path, files.answers)), set[str]()
    for path in map(Path, files.left_out):
        reviewers = require_columns(read_user_rows(path), ("reviewer",), path)["reviewer"].drop_nulls()
        left_out |= {normalize_name(str(name)) for name in reviewers}
    reject_edited(files.digests())
    votes = count_answers(tasks, verdicts, design, qualification, left_out - {""})
    if votes.is_exclusion_unmatched:
        log.warning(f"None of the {votes.excluded_names} names in `left_out:` is among the annotators. {NAMES_DIFFER}.")
    return tasks, votes


def count_answers(
    tasks: Sequence[Task],
    verdicts: Sequence[Verdict],
    design: SurveyDesign,
    qualification: QualificationTest,
    left_out: Collection[str],
) -> CountedAnswers:
    """Return the answers that count: those of qualified annotators who gave one answer to a question, not two."""
    questions, tests = ({task.task_id for task in group} for group in (tasks, qualification.tasks))
    verdicts = [verdict._replace(reviewer=normalize_name(verdict.reviewer)) for verdict in verdicts]
    names = {verdict.reviewer for verdict in verdicts if verdict.task_id in questions | tests} - {""}
    numbers = {name: str(number) for number, name in enumerate(shuffled(names, design.seed), start=1)}
    anonymous = [verdict._replace(reviewer=numbers.get(verdict.reviewer, "")) for verdict in verdicts]
    test_votes = count_votes(qualification.tasks, [verdict for verdict in anonymous if verdict.task_id in tests])
    foreign = count_votes((), [verdict for verdict in anonymous if verdict.task_id not in questions | tests])
    right = Counter(
        person
        for task, verdict_of in test_votes.by_task.items()
        for person, verdict in verdict_of.items()
        if verdict == qualification.right[task]
    )
    refused, needed = dict[str, tuple[str, str]](), design.qualification.right if design.qualification else 0
    for name, number in numbers.items():
        if name in left_out:
            refused[number] = (WROTE_CAPTIONS, f"worker {number} wrote captions")
        elif right[number] < needed:
            score = (
                f"{right[number]} of {len(qualification.tasks)} answers of the qualification right, needed: {needed}"
            )
            refused[number] = ("not_qualified", f"worker {number} has {score}")
    answers = [verdict for verdict in anonymous if verdict.task_id in questions]
    votes = count_votes(tasks, [verdict for verdict in answers if verdict.reviewer not in refused])
    refused_rows = [
        RowProblem(verdict.location, *refused[verdict.reviewer]) for verdict in answers if verdict.reviewer in refused
    ]
    answer_counts = Counter(verdict.reviewer for verdict in answers)
    workers = [
        Worker(int(number), right[number], refused.get(number, ("", ""))[0], answer_counts[number])
        for number in numbers.values()
    ]
    problems = [*foreign.problems, *test_votes.problems, *refused_rows, *votes.problems]
    return CountedAnswers(Votes(votes.by_task, problems), workers, len(left_out))


def common_answers(tasks: Sequence[Task], votes: Votes, design: AnswerDesign) -> dict[str, CommonAnswer]:
    """Return the mode of the answers by task: none with too few annotators or with a tie that counts as wrong."""
    reply_of_task = {}
    for task in tasks:
        votes_of_task = votes.by_task.get(task.task_id, {})
        counts, error = Counter(votes_of_task.values()), ""
        options = [option for option in task.choices if counts[option] == max(counts.values(), default=0)]
        if len(votes_of_task) < design.workers:
            error = TOO_FEW
        elif len(options) > 1 and design.ties == "wrong":
            error = TIE
        elif design.ties == "draw":
            options = sorted(options, key=lambda option: rank(design.seed, task.task_id, option))
        reply_of_task[task.task_id] = CommonAnswer("" if error else options[0], error)
    return reply_of_task


def write_row_problems(refused: Sequence[RowProblem], waiting: Sequence[str], path: Path) -> None:
    """Write the rows that do not count and the tasks that wait for annotators, and log the first rows."""
    write_problems([ImportProblem(row.where, None, row.found, row.problem) for row in refused], waiting, path)
    log_problems(refused, path)


EXTRACTOR = "robust"  # raters see what this extractor takes from a model's reply, as the tables do


def rating_requests(
    items: pl.DataFrame, answers: Mapping[str, pl.DataFrame], questions: int, seed: int
) -> list[dict[str, Any]]:
    """Return a rating request for each run's answers to questions sampled from those that all runs have.

    Failed and unparsed answers are left out because there is nothing to rate.
    """
    shared = set.intersection(*(set(table.filter(extractor=EXTRACTOR)["item_id"]) for table in answers.values()))
    sampled_ids = set(shuffled(shared, seed)[:questions])
    sampled = to_items(items.filter(pl.col("item_id").is_in(sampled_ids)))
    rows = []
    for run, table in answers.items():
        answered = {row["item_id"]: row for row in table.filter(extractor=EXTRACTOR, error="").iter_rows(named=True)}
        if not {tuple(row["replies"]) for row in answered.values()} <= set(SCALES.values()):
            raise UserError(
                f"{run}: its answers are choices, which have no rating. "
                "Name runs of a protocol whose answers are rated."
            )
        for item in (item for item in sampled if item.item_id in answered):
            texts = {
                "Question": item.texts["question"],
                "Groundtruth answer": item.answer,
                "Candidate answer": answered[item.item_id]["text"],
            }
            rows.append({
                "request_id": f"{item.item_id}#{run}", "item_id": item.item_id, "clip_id": item.clip_id, "role": run,
                "ask": "choose", "system": "", "prompt": "\n".join(f"{title}: {text}" for title, text in texts.items()),
                "options": list(answered[item.item_id]["replies"]), "option_texts": [], "expected": "", "max_tokens": 1,
            })  # fmt: skip
    return rows


def mean_ratings(
    requests: pl.DataFrame, tasks: Sequence[Task], votes: Votes, workers: int
) -> tuple[pl.DataFrame, list[str]]:
    """Return the mean ratings of answers with enough raters, as a table of human ratings, and the pending requests."""
    rows, waiting = [], []
    for task, request in zip(tasks, requests.iter_rows(named=True), strict=True):
        ratings = votes.by_task.get(task.task_id, {})
        if len(ratings) < workers:
            waiting.append(request["request_id"])
        else:
            rows.append((request["role"], request["item_id"], sum(map(int, ratings.values())) / len(ratings)))
    return pl.DataFrame(rows, schema=RATING_SCHEMA, orient="row"), waiting
