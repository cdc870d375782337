r"""Simulate annotators who answer surveys, with seeded errors.

    python -m synthetic.survey_answers BENCHMARK/GROUP/SAMPLING ANNOTATORS REQUESTS.parquet SURVEYS.csv ANSWERS.csv \
        [QUALIFICATION.csv]

The suite `construction` uses these answers in place of human ones. They are not human performance.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

from human_evaluation.surveys import OPTION_SEPARATOR, QUALIFICATION, build_question_tasks, read_qualification
from human_evaluation.tasks import COLUMNS, as_csv
from reprise.core.files import write_text
from reprise.core.schemas import REQUESTS, read_table

CARELESS_ANNOTATOR = 4
"""Number of the annotator who fails the qualification, if there are several annotators."""
ERROR_RATE = 0.1  # share of wrong answers of careful annotators
SEED = 7


def answers(
    surveys: list[dict[str, str]], right_answers: Mapping[str, str], annotator_count: int
) -> Iterator[dict[str, str]]:
    """Yield all answers. Several annotators each answer all surveys. With one annotator, each survey has its own."""
    survey_names = dict.fromkeys(row["survey"] for row in surveys if row["survey"] != QUALIFICATION)
    has_annotator_per_survey = annotator_count == 1
    workers = list(map(int, survey_names)) if has_annotator_per_survey else range(1, annotator_count + 1)
    for worker in workers:
        random = Random(f"{SEED} {worker}")
        is_careless = worker == CARELESS_ANNOTATOR and not has_annotator_per_survey
        for row in surveys:
            if has_annotator_per_survey and row["survey"] not in (QUALIFICATION, str(worker)):
                continue
            # Careful annotators err only in the surveys. The careless one is always wrong.
            is_right = not is_careless and (row["survey"] == QUALIFICATION or random.random() >= ERROR_RATE)
            options = row["choices"].split(OPTION_SEPARATOR)
            right_answer = right_answers[row["task_id"]]
            wrong_options = [option for option in options if option != right_answer]
            answer = right_answer if is_right else random.choice(wrong_options)
            yield {
                "task_id": row["task_id"],
                "digest": row["digest"],
                "reviewer": f"script {worker}",
                "verdict": answer,
            }


def write_answers(
    scope: str, annotator_count: int, requests: Path, surveys: Path, target: Path, *qualification: Path
) -> None:
    """Answer the surveys of a csv file."""
    table = read_table(requests, REQUESTS)
    right_answers = {
        task.task_id: expected
        for task, expected in zip(build_question_tasks(scope, table), table["expected"], strict=True)
    }
    for path in qualification:
        right_answers |= read_qualification(scope, path).right_answers
    with surveys.open(encoding="utf-8", newline="") as stream:
        write_text(target, as_csv(list(answers(list(csv.DictReader(stream)), right_answers, annotator_count)), COLUMNS))


if __name__ == "__main__":
    write_answers(sys.argv[1], int(sys.argv[2]), *map(Path, sys.argv[3:]))
