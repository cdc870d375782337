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
from reprise.core.settings import reject_edited_files
from reprise.core.tabular import read_user_rows, require_columns
from reprise.external.answers import ImportProblem, write_problems
from reprise.extraction.extractors import SCALE_BY_MAX_RATING

from human_evaluation.draws import seeded_digest, shuffled
from human_evaluation.keys import AnswerFiles
from human_evaluation.settings import AnswerDesign, SurveyDesign
from human_evaluation.surveys import QualificationTest, build_question_tasks, load_qualification
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

# Reasons why a question has no answer, or why a row does not count. `count_votes` has further reasons.
TOO_FEW, TIE = "too_few_annotators", "tie"
WROTE_CAPTIONS = "wrote_captions"  # reason for annotators in `excluded_annotators:`: they wrote the captions
NAMES_DIFFER = "If they answered under other names, list those names or numbers instead"


class Annotator(NamedTuple):
    """An annotator, who has a number instead of a name, because names are personal data."""

    number: int
    right_count: int  # number of right answers in the qualification
    refusal_reason: str  # why none of the answers count; empty if they count
    answer_count: int  # number of answers, without those in the qualification


class CountedAnswers(NamedTuple):
    """Answers that count, by task and annotator, and all annotators who answered."""

    votes: Votes
    annotators: list[Annotator]
    excluded_names: int  # number of names in `excluded_annotators:`

    @property
    def excluded_count(self) -> int:
        """Return the number of answering annotators that `excluded_annotators:` excludes."""
        return sum(annotator.refusal_reason == WROTE_CAPTIONS for annotator in self.annotators)

    @property
    def is_exclusion_unmatched(self) -> bool:
        """Return whether no excluded name answered; these people probably answered under other names."""
        return bool(self.excluded_names and self.annotators and not self.excluded_count)


class AggregatedAnswer(NamedTuple):
    """The answer that a group of annotators gives to a task."""

    option: str  # empty without an answer
    error: str  # TOO_FEW or TIE if there is no answer, else empty


def read_group_answers(
    scope: str, design: SurveyDesign, files: AnswerFiles, requests: pl.DataFrame
) -> tuple[list[Task], CountedAnswers]:
    """Return the tasks of a group of annotators in the order of the requests, and the counted answers from its files.

    `scope` names the group and its sampling. The column `reviewer` of the files names the annotator.
    """
    tasks, qualification = build_question_tasks(scope, requests), load_qualification(scope, design)
    verdicts = read_verdicts(map(Path, files.answers))
    excluded_names: set[str] = set()
    for path in map(Path, files.excluded_annotators):
        reviewers = require_columns(read_user_rows(path), ("reviewer",), path)["reviewer"].drop_nulls()
        excluded_names |= {normalize_name(str(name)) for name in reviewers}
    reject_edited_files(files.digests())
    counted = count_answers(tasks, verdicts, design, qualification, excluded_names - {""})
    if counted.is_exclusion_unmatched:
        log.warning(
            f"None of the {counted.excluded_names} names in `excluded_annotators:` is among the annotators. "
            f"{NAMES_DIFFER}."
        )
    return tasks, counted


def count_answers(
    tasks: Sequence[Task],
    verdicts: Sequence[Verdict],
    design: SurveyDesign,
    qualification: QualificationTest,
    excluded_annotators: Collection[str],
) -> CountedAnswers:
    """Return the answers that count. A `Verdict` is one row of a file: the option that an annotator chose.

    An annotator must have passed the qualification and must not be excluded. If an annotator gave different answers to
    a question, none of them counts.
    """
    question_ids = {task.task_id for task in tasks}
    test_ids = {task.task_id for task in qualification.tasks}
    verdicts = [verdict._replace(reviewer=normalize_name(verdict.reviewer)) for verdict in verdicts]
    names = {verdict.reviewer for verdict in verdicts if verdict.task_id in question_ids | test_ids} - {""}
    number_by_name = {name: str(number) for number, name in enumerate(shuffled(names, design.seed), start=1)}
    # Outputs name annotators by numbers, because names are personal data.
    anonymous_verdicts = [verdict._replace(reviewer=number_by_name.get(verdict.reviewer, "")) for verdict in verdicts]
    test_votes = count_votes(
        qualification.tasks, [verdict for verdict in anonymous_verdicts if verdict.task_id in test_ids]
    )
    unknown_verdicts = [verdict for verdict in anonymous_verdicts if verdict.task_id not in question_ids | test_ids]
    unknown_votes = count_votes((), unknown_verdicts)
    right_counts = Counter(
        annotator
        for task, option_by_annotator in test_votes.by_task.items()
        for annotator, option in option_by_annotator.items()
        if option == qualification.right_answers[task]
    )
    refusal_by_number: dict[str, tuple[str, str]] = {}  # annotator -> name of the reason, and its description
    min_right_count = design.qualification.right if design.qualification else 0
    for name, number in number_by_name.items():
        if name in excluded_annotators:
            refusal_by_number[number] = (WROTE_CAPTIONS, f"worker {number} wrote captions")
        elif right_counts[number] < min_right_count:
            score = (
                f"{right_counts[number]} of {len(qualification.tasks)} answers of the qualification right, "
                f"needed: {min_right_count}"
            )
            refusal_by_number[number] = ("not_qualified", f"worker {number} has {score}")
    answers = [verdict for verdict in anonymous_verdicts if verdict.task_id in question_ids]
    votes = count_votes(tasks, [verdict for verdict in answers if verdict.reviewer not in refusal_by_number])
    refused_rows = [
        RowProblem(verdict.location, *refusal_by_number[verdict.reviewer])
        for verdict in answers
        if verdict.reviewer in refusal_by_number
    ]
    answer_counts = Counter(verdict.reviewer for verdict in answers)
    annotators = [
        Annotator(int(number), right_counts[number], refusal_by_number.get(number, ("", ""))[0], answer_counts[number])
        for number in number_by_name.values()
    ]
    problems = [*unknown_votes.problems, *test_votes.problems, *refused_rows, *votes.problems]
    return CountedAnswers(Votes(votes.by_task, problems), annotators, len(excluded_annotators))


def aggregate_answers(tasks: Sequence[Task], votes: Votes, design: AnswerDesign) -> dict[str, AggregatedAnswer]:
    """Return the most frequent answer to each task.

    A task has no answer if it has too few annotators, or if there is a tie that counts as wrong.
    """
    answer_by_task = {}
    for task in tasks:
        task_votes = votes.by_task.get(task.task_id, {})
        counts = Counter(task_votes.values())
        most_frequent = [option for option in task.choices if counts[option] == max(counts.values(), default=0)]
        error = ""
        if len(task_votes) < design.workers:  # the minimum number of annotators of a question
            error = TOO_FEW
        elif len(most_frequent) > 1 and design.ties == "wrong":
            error = TIE
        elif design.ties == "draw":  # draw lots; with `first_option`, the first of the most frequent options counts
            most_frequent = sorted(most_frequent, key=lambda option: seeded_digest(design.seed, task.task_id, option))
        answer_by_task[task.task_id] = AggregatedAnswer("" if error else most_frequent[0], error)
    return answer_by_task


def write_row_problems(row_problems: Sequence[RowProblem], pending_requests: Sequence[str], path: Path) -> None:
    """Write the rows that do not count and the requests that need more annotators, and log the first rows."""
    write_problems(
        [ImportProblem(row.location, None, row.detail, row.problem) for row in row_problems], pending_requests, path
    )
    log_problems(row_problems, path)


EXTRACTOR = "robust"  # extractor of the answers that annotators rate, as in the tables


def build_rating_requests(
    items: pl.DataFrame, answers: Mapping[str, pl.DataFrame], question_count: int, seed: int
) -> list[dict[str, Any]]:
    """Return the rating requests: one for each run's answer to each sampled question.

    The sample is drawn from the questions that all runs have. Failed and unparsed answers get no request.
    """
    shared_ids = set.intersection(*(set(table.filter(extractor=EXTRACTOR)["item_id"]) for table in answers.values()))
    sampled_ids = set(shuffled(shared_ids, seed)[:question_count])
    sampled_items = to_items(items.filter(pl.col("item_id").is_in(sampled_ids)))
    rows = []
    for run, table in answers.items():
        answer_by_item = {
            row["item_id"]: row for row in table.filter(extractor=EXTRACTOR, error="").iter_rows(named=True)
        }
        # The column `replies` has the replies that the judge may give: the ratings of a scale, or options.
        judge_replies = {tuple(row["replies"]) for row in answer_by_item.values()}
        if not judge_replies <= set(SCALE_BY_MAX_RATING.values()):
            raise UserError(
                f"{run}: its answers are choices, which have no rating. "
                "Name runs of a protocol whose answers are rated."
            )
        for item in sampled_items:
            if item.item_id not in answer_by_item:
                continue
            texts = {
                "Question": item.texts["question"],
                "Groundtruth answer": item.answer,
                "Candidate answer": answer_by_item[item.item_id]["text"],
            }
            rows.append({
                "request_id": f"{item.item_id}#{run}", "item_id": item.item_id, "clip_id": item.clip_id, "role": run,
                "request_type": "choose", "system": "",
                "prompt": "\n".join(f"{title}: {text}" for title, text in texts.items()),
                "options": list(answer_by_item[item.item_id]["replies"]), "option_texts": [], "expected": "",
                "max_tokens": 1,
            })  # fmt: skip
    return rows


def compute_mean_ratings(
    requests: pl.DataFrame, tasks: Sequence[Task], votes: Votes, min_raters: int
) -> tuple[pl.DataFrame, list[str]]:
    """Return the mean ratings of the answers with enough raters, and the requests that need more raters."""
    rows, unrated_requests = [], []
    for task, request in zip(tasks, requests.iter_rows(named=True), strict=True):
        ratings = votes.by_task.get(task.task_id, {})
        if len(ratings) < min_raters:
            unrated_requests.append(request["request_id"])
        else:
            # The role of a rating request is the rated run.
            rows.append((request["role"], request["item_id"], sum(map(int, ratings.values())) / len(ratings)))
    return pl.DataFrame(rows, schema=RATING_SCHEMA, orient="row"), unrated_requests
