"""Stage `human_rated`: select models' answers to sampled questions for a group of annotators to rate."""

from pathlib import Path

from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, REQUESTS, build_table, read_table, write_table
from reprise.stages.command import In, Out

from human_evaluation.answers import build_rating_requests
from human_evaluation.keys import RatedKey


def main(settings: RatedKey, item_table: In[Path], answers: In[list[Path]], out: Out[Path]) -> None:
    answers_by_run = {run: read_table(path, ANSWERS) for run, path in zip(settings.runs, answers, strict=True)}
    rows = build_rating_requests(read_table(item_table, ITEMS), answers_by_run, settings.questions, settings.seed)
    write_table(build_table(rows, REQUESTS), out, REQUESTS)
    question_count = len({row["item_id"] for row in rows})
    log.info(f"{len(rows)} answers of {len(answers_by_run)} runs to {question_count} questions")
