"""Stage `human_statistics`: count annotators and answers, measure agreement, and list annotators by their numbers."""

from pathlib import Path

from reprise.core.files import write_text
from reprise.core.schemas import REQUESTS, read_table
from reprise.stages.command import In, Out

from human_evaluation.answers import aggregate_answers, read_group_answers
from human_evaluation.keys import HumanStatisticsKey
from human_evaluation.settings import RatingDesign
from human_evaluation.statistics import (
    RATER_COLUMNS,
    WORKER_COLUMNS,
    StatisticRow,
    answer_statistics,
    rater_rows,
    rating_statistics,
    worker_rows,
)
from human_evaluation.tasks import as_csv


def main(settings: HumanStatisticsKey, requests: In[Path], csv: Out[Path], md: Out[Path], workers: Out[Path]) -> None:
    request_table = read_table(requests, REQUESTS)
    tasks, counted = read_group_answers(settings.scope, settings.design, settings.files, request_table)
    if isinstance(settings.design, RatingDesign):
        lines = rating_statistics(settings.benchmark, request_table, tasks, counted, settings.design)
        workers_csv = as_csv(rater_rows(counted), RATER_COLUMNS)
        heading, runs = "Human ratings of answers to", settings.design.runs
    else:
        answer_by_task = aggregate_answers(tasks, counted.votes, settings.design)
        lines = answer_statistics(settings.benchmark, tasks, counted, answer_by_task, settings.design)
        expected = dict(zip((task.task_id for task in tasks), request_table["expected"], strict=True))
        workers_csv = as_csv(worker_rows(counted, answer_by_task, expected), WORKER_COLUMNS)
        heading, runs = "Human answers to", (settings.design.run,)
    write_text(csv, as_csv([line._asdict() for line in lines], StatisticRow._fields))
    write_text(workers, workers_csv)
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
| statistic | paper | here | note |
|---|---|---|---|
{lines}
`workers.csv` has a row per annotator, by number.
"""


def _cell(value: float | None) -> str:
    """Return a value as a cell of a Markdown table, `-` for None."""
    return "-" if value is None else f"{round(value, 4):g}"
