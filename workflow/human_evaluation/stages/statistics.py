"""Stage `people_statistics`: count annotators and answers, measure agreement, and list annotators by number."""

from pathlib import Path

from reprise.core.files import write_text
from reprise.core.schemas import REQUESTS, read_table
from reprise.stages.command import In, Out

from human_evaluation.answers import gather, replies
from human_evaluation.keys import PeopleStatisticsKey
from human_evaluation.settings import RatingDesign
from human_evaluation.statistics import (
    RATER_COLUMNS,
    WORKER_COLUMNS,
    Number,
    numbers,
    rater_rows,
    rating_numbers,
    worker_rows,
)
from human_evaluation.tasks import as_csv


def main(settings: PeopleStatisticsKey, requests: In[Path], csv: Out[Path], md: Out[Path], workers: Out[Path]) -> None:
    request_table = read_table(requests, REQUESTS)
    tasks, counted = gather(settings.scope, settings.design, settings.files, request_table)
    if isinstance(settings.design, RatingDesign):
        lines = rating_numbers(settings.benchmark, request_table, tasks, counted, settings.design)
        people = as_csv(rater_rows(counted), RATER_COLUMNS)
        heading, runs = "People's ratings of answers to", settings.design.runs
    else:
        reply_of_task = replies(tasks, counted.votes, settings.design)
        lines = numbers(settings.benchmark, tasks, counted, reply_of_task, settings.design)
        expected = dict(zip((task.task_id for task in tasks), request_table["expected"], strict=True))
        people = as_csv(worker_rows(counted, reply_of_task, expected), WORKER_COLUMNS)
        heading, runs = "People's answers to", (settings.design.run,)
    write_text(csv, as_csv([line._asdict() for line in lines], Number._fields))
    write_text(workers, people)
    page = PAGE.format(
        title=f"{heading} {settings.title}",
        runs=f"{'Run' if len(runs) == 1 else 'Runs'} {', '.join(f'`{run}`' for run in runs)}",
        notice=f"\n{settings.notice}\n" if settings.notice else "",
        lines="".join(f"| {line.what} | {_cell(line.paper)} | {_cell(line.ours)} | {line.note} |\n" for line in lines),
    )
    write_text(md, page)


PAGE = """\
# {title}

{runs}.
{notice}
| what | paper | here | note |
|---|---|---|---|
{lines}
Each person, by a number: `workers.csv`.
"""


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4):g}"
