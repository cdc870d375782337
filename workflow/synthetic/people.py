"""Answers in people's place, by a script that knows what is right and errs as a seed says.

    python -m synthetic.people BENCHMARK/GROUP/SAMPLING REQUESTS.parquet SURVEYS.csv ANSWERS.csv [QUALIFICATION.csv]

They stand in for people's in the suite `construction`, and are no measurement of anybody.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

from reprise.construction.review import COLUMNS, as_csv
from reprise.core.files import write_text
from reprise.core.schemas import REQUESTS, read_table
from reprise.people.surveys import BEFORE
from reprise.people.tasks import BETWEEN, qualification_tasks, question_tasks

WORKERS = 11
CARELESS = 4
"""the number of the one who fails the qualification"""
WRONG = 0.1
SEED = 7


def answers(surveys: list[dict[str, str]], right: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Everybody's answers to all surveys."""
    for worker in range(1, WORKERS + 1):
        draw = Random(f"{SEED} {worker}")
        for row in surveys:
            is_careful = worker != CARELESS and (row["survey"] == BEFORE or draw.random() >= WRONG)
            options = row["choices"].split(BETWEEN)
            wrong = [option for option in options if option != right[row["task_id"]]]
            said = right[row["task_id"]] if is_careful else draw.choice(wrong)
            yield {"task_id": row["task_id"], "digest": row["digest"], "reviewer": f"script {worker}", "verdict": said}


def write_answers(scope: str, requests: Path, surveys: Path, target: Path, *qualification: Path) -> None:
    """Answer the surveys of a csv file."""
    table = read_table(requests, REQUESTS)
    right = {
        task.task_id: expected for task, expected in zip(question_tasks(scope, table), table["expected"], strict=True)
    }
    for path in qualification:
        right |= qualification_tasks(scope, path).right
    with surveys.open(encoding="utf-8", newline="") as stream:
        write_text(target, as_csv(list(answers(list(csv.DictReader(stream)), right)), COLUMNS))


if __name__ == "__main__":
    write_answers(sys.argv[1], *map(Path, sys.argv[2:]))
