"""Test human ratings: sampled questions, mean ratings and agreement, with hand-computed values."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from human_evaluation.agreement import compute_alpha
from human_evaluation.answers import CountedAnswers, build_rating_requests, compute_mean_ratings, read_group_answers
from human_evaluation.keys import AnswerFiles
from human_evaluation.settings import RatingDesign
from human_evaluation.statistics import rater_rows, rating_statistics
from human_evaluation.surveys import (
    NO_QUALIFICATION,
    SurveyVideo,
    build_question_tasks,
    build_survey_rows,
    label_studio_tasks,
)
from human_evaluation.tasks import as_csv
from reprise.benchmarks.human_ratings import read_ratings
from reprise.core.errors import UserError
from reprise.core.files import file_digest
from reprise.core.schemas import ANSWERS, ITEMS, REQUESTS

from tests.human_evaluation.designs import count, make_verdict
from tests.unit.rows import item_row

RUNS = ("b/p/s/one", "b/p/s/two")
NAMES = [f"q{n}" for n in range(10)]
ITEMS_OF_TEN = pl.DataFrame(
    [
        item_row(name, clip_id=f"v{name[1]}", texts=[{"name": "question", "text": f"What {name[1]}?"}], answer=f"Right {name[1]}.")
        for name in NAMES
    ],
    schema=ITEMS,
)  # fmt: skip
DESIGN = RatingDesign(kind="rating", runs=("p/s/one", "p/s/two"), answers="*.csv")
SCOPE = "b/raters/all"
VIDEO = SurveyVideo(Path("resources/a.mp4"), has_sound=True)


def answers_of(run: str, names: Sequence[str], failed: Sequence[str] = (), replies: str = "0123") -> pl.DataFrame:
    rows = [
        {
            "request_id": f"{name}#{extractor}", "item_id": name, "role": "p", "extractor": extractor, "text": f"{run} {name}",
            "error": "server_error" if name in failed else "", "replies": list(replies), "expected": "3", "key": "k",
        }
        for name in names
        for extractor in ("robust", "authors")
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=ANSWERS)


def requests_of(questions: int = 10, seed: int = 0, **failed: Sequence[str]) -> pl.DataFrame:
    answers = {run: answers_of(run, NAMES, failed.get(run[-3:], ())) for run in RUNS}
    return pl.DataFrame(build_rating_requests(ITEMS_OF_TEN, answers, questions, seed), schema=REQUESTS)


REQUESTS_OF_THREE = requests_of(3)
TASKS = build_question_tasks(SCOPE, REQUESTS_OF_THREE)


def ratings_of(**ratings_by_annotator: str) -> CountedAnswers:
    """Return ratings of the first tasks, one digit per task; `-` means no rating."""
    verdicts = [
        make_verdict(annotator, task, rating)
        for annotator, ratings in ratings_by_annotator.items()
        for task, rating in zip(TASKS, ratings, strict=False)
        if rating != "-"
    ]
    return count(verdicts, DESIGN, tasks=TASKS)


def test_the_same_questions_are_sampled_for_each_run_in_any_order() -> None:
    sampled = requests_of(4)
    by_run = {run: set(sampled.filter(role=run)["item_id"]) for run in RUNS}
    assert len(by_run[RUNS[0]]) == 4 and by_run[RUNS[0]] == by_run[RUNS[1]]
    answers = {run: answers_of(run, NAMES[::-1]) for run in reversed(RUNS)}
    reordered = pl.DataFrame(build_rating_requests(ITEMS_OF_TEN.reverse(), answers, 4, 0), schema=REQUESTS)
    assert reordered.sort("request_id").equals(sampled.sort("request_id"))
    assert set(REQUESTS_OF_THREE["request_id"]) < set(sampled["request_id"]) and requests_of(99).height == 20
    (first, *_) = sampled["item_id"]
    failed = requests_of(4, one=[first])  # A failed answer is sampled but not rated.
    assert set(failed["request_id"]) < set(sampled["request_id"]) and failed.height == 7
    assert first not in failed.filter(role=RUNS[0])["item_id"] and first in failed.filter(role=RUNS[1])["item_id"]
    partial_answers = {RUNS[0]: answers_of(RUNS[0], ["q1", "q2"]), RUNS[1]: answers_of(RUNS[1], ["q2", "q3"])}
    assert {row["item_id"] for row in build_rating_requests(ITEMS_OF_TEN, partial_answers, 9, 0)} == {"q2"}, (
        "only q2 has answers of all runs"
    )


def test_a_rater_sees_the_question_and_both_answers_but_not_the_model() -> None:
    row = requests_of().filter(role=RUNS[0], item_id="q7").row(0, named=True)
    assert row["prompt"] == "Question: What 7?\nGroundtruth answer: Right 7.\nCandidate answer: b/p/s/one q7"
    assert row["options"] == ["0", "1", "2", "3"] and row["clip_id"] == "v7"
    survey = build_survey_rows(TASKS, NO_QUALIFICATION, DESIGN, {task.texts["clip"]: VIDEO for task in TASKS})
    assert len({row["task_id"] for row in survey}) == 6
    assert not any(run in str(row | {"question": ""}) for run in RUNS for row in survey)

    with pytest.raises(
        UserError, match=r"b/p/s/one: its answers are choices, which have no rating\. Name runs .* are rated"
    ):
        build_rating_requests(ITEMS_OF_TEN, {RUNS[0]: answers_of(RUNS[0], ["q1"], replies="AB")}, 1, 0)
    (row,) = build_rating_requests(ITEMS_OF_TEN, {RUNS[0]: answers_of(RUNS[0], ["q1"], replies="012345")}, 1, 0)
    assert row["options"] == ["0", "1", "2", "3", "4", "5"]


def test_mean_ratings_equal_hand_computed_values(tmp_path: Path) -> None:
    """The mean of 3 and 2 is 2.5, of 0 and 0 it is 0. The third answer has one rating, the other answers have none."""
    means, pending_ids = compute_mean_ratings(
        REQUESTS_OF_THREE, TASKS, ratings_of(ann="302", bob="20-").votes, DESIGN.workers
    )
    first, second, _ = REQUESTS_OF_THREE.head(3)["item_id"]
    assert means.rows() == [(RUNS[0], first, 2.5), (RUNS[0], second, 0.0)]
    assert pending_ids == REQUESTS_OF_THREE["request_id"].to_list()[2:]
    path = tmp_path / "ratings.csv"
    path.write_text(as_csv(means.to_dicts(), means.columns))
    assert read_ratings(path).equals(means)


def test_files_of_two_raters_are_merged(tmp_path: Path) -> None:
    """One file is csv, the other is an export of Label Studio."""
    rows = build_survey_rows(TASKS, NO_QUALIFICATION, DESIGN, {task.texts["clip"]: VIDEO for task in TASKS})
    surveys, ann, bob = (tmp_path / name for name in ("surveys.csv", "ann.csv", "bob.json"))
    surveys.write_text(as_csv(rows, list(rows[0])))
    ann.write_text(as_csv([{**row, "reviewer": "ann", "verdict": "3"} for row in rows], list(rows[0])))
    annotation = {"completed_by": 7, "result": [{"from_name": "verdict", "value": {"choices": ["2"]}}]}
    bob.write_text(
        json.dumps([{"data": task, "annotations": [annotation]} for task in label_studio_tasks(surveys, "1")])
    )
    files = AnswerFiles(answers={str(path): file_digest(path) for path in (ann, bob)})
    tasks, counted = read_group_answers(SCOPE, DESIGN, files, REQUESTS_OF_THREE)
    means, _ = compute_mean_ratings(REQUESTS_OF_THREE, tasks, counted.votes, DESIGN.workers)
    assert not counted.votes.problems and means["rating"].to_list() == [2.5] * 6
    ann.write_text(ann.read_text().replace("3", "1"))
    with pytest.raises(UserError, match=r"ann\.csv: edited since this run was planned"):
        read_group_answers(SCOPE, DESIGN, files, REQUESTS_OF_THREE)


def test_statistics_of_ratings() -> None:
    """Interval: answers rated (0, 1), (3, 3) and (1, 2). Observed: each pair counts twice, (1 + 0 + 1) * 2 / 6 = 2/3.
    Expected, of all pairs of 0 1 3 3 1 2: 2 * (6 * 24 - 10²) / (6 * 5) = 44/15. Alpha = 1 - (2/3) / (44/15) = 17/22."""
    counted = ratings_of(ann="031", bob="132")
    ratings_by_task = counted.votes.by_task.values()
    counts = [
        {figure: list(ratings_by_annotator.values()).count(figure) for figure in "0123"}
        for ratings_by_annotator in ratings_by_task
    ]
    assert compute_alpha(counts, "0123", "interval") == pytest.approx(17 / 22)
    statistics = {
        line.what: line for line in rating_statistics("mmbench_video", REQUESTS_OF_THREE, TASKS, counted, DESIGN)
    }
    assert (statistics["questions"].paper, statistics["questions"].ours) == (100, 3)
    assert (statistics["answers to rate"].paper, statistics["answers to rate"].ours) == (200, 6)
    assert statistics["ratings that count"].ours == 6 and statistics["ratings an answer"].ours == 2
    assert statistics["answers with a mean"].ours == 3 and statistics["answers with too few ratings"].ours == 3
    assert statistics["Krippendorff's alpha"].ours == pytest.approx(17 / 22)
    assert statistics["Krippendorff's alpha"].note == "interval, of the answers that count"
    first, second = (statistics[f"mean rating of {run}"].ours for run in RUNS)
    assert first == pytest.approx((0.5 + 3 + 1.5) / 3) and second is None
    rows = rater_rows(ratings_of(ann="031", bob="1"))
    assert [row["worker"] for row in rows] == [1, 2] and sorted(row["mean"] for row in rows) == [1.0, 4 / 3]
    assert "ann" not in str(rows)
