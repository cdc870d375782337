r"""Simulated annotators who answer surveys, with seeded errors.

    python -m synthetic.survey_answers BENCHMARK/GROUP/SAMPLING ANNOTATORS REQUESTS.parquet SURVEYS.csv ANSWERS.csv \
        [QUALIFICATION.csv]

The suite `construction` uses these answers in place of human ones. They are not human performance.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

from human_evaluation.surveys import OPTION_SEPARATOR, QUALIFICATION, question_tasks, read_qualification
from human_evaluation.tasks import COLUMNS, as_csv
from reprise.core.files import write_text
from reprise.core.schemas import REQUESTS, read_table

CARELESS_ANNOTATOR = 4
"""The number of the annotator who fails the qualification, if there are several."""
WRONG = 0.1
SEED = 7


def answers(surveys: list[dict[str, str]], right: Mapping[str, str], annotators: int) -> Iterator[dict[str, str]]:
    """Yield all answers. Several annotators each answer all surveys; one annotator stands for one per survey."""
    numbers = [int(number) for number in dict.fromkeys(row["survey"] for row in surveys) if number != QUALIFICATION]
    for worker in numbers if annotators == 1 else range(1, annotators + 1):
        random = Random(f"{SEED} {worker}")
        for row in surveys:
            if annotators == 1 and row["survey"] not in (QUALIFICATION, str(worker)):
                continue
            is_careful = (annotators == 1 or worker != CARELESS_ANNOTATOR) and (
                row["survey"] == QUALIFICATION or random.random() >= WRONG
            )
            options = row["choices"].split(OPTION_SEPARATOR)
            wrong = [option for option in options if option != right[row["task_id"]]]
            answer = right[row["task_id"]] if is_careful else random.choice(wrong)
            yield {
                "task_id": row["task_id"],
                "digest": row["digest"],
                "reviewer": f"script {worker}",
                "verdict": answer,
            }


def write_answers(
    scope: str, annotators: int, requests: Path, surveys: Path, target: Path, *qualification: Path
) -> None:
    """Answer the surveys of a csv file."""
    table = read_table(requests, REQUESTS)
    right = {
        task.task_id: expected for task, expected in zip(question_tasks(scope, table), table["expected"], strict=True)
    }
    for path in qualification:
        right |= read_qualification(scope, path).right
    with surveys.open(encoding="utf-8", newline="") as stream:
        write_text(target, as_csv(list(answers(list(csv.DictReader(stream)), right, annotators)), COLUMNS))


if __name__ == "__main__":
    write_answers(sys.argv[1], int(sys.argv[2]), *map(Path, sys.argv[3:]))
