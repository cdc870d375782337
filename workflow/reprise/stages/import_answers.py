"""Stage `import_answers`: import a run's predictions from files, without clips or models."""

from pathlib import Path

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, read_table, write_table
from reprise.core.settings import reject_edited
from reprise.external import NO_ANSWER, load_importer
from reprise.external.answers import MISSING_FILE, ImportedAnswers, ImportProblem, build_response_row, write_problems
from reprise.external.keys import ImportedRunKey
from reprise.media.sampling import count_frames
from reprise.models.base import Answer
from reprise.stages.command import In, Out


def main(
    settings: ImportedRunKey,
    item_table: In[Path],
    requests: In[Path],
    files: In[list[Path]],
    out: Out[Path],
    problems: Out[Path],
) -> None:
    items, request_table = read_table(item_table, ITEMS), read_table(requests, REQUESTS)
    importer = load_importer(settings.answers.benchmark).FORMS[settings.answers.form]
    imported = importer.read(files, items, request_table)
    reject_edited(settings.answers.files)
    if importer.has_file_per_task:
        request_table = filter_answered_tasks(items, request_table, imported, files[0].parent)
    frames = count_frames(settings.answers.sampling)
    imported.problems += importer.find_deviations(files, request_table, frames)
    table = build_responses(request_table, imported, frames or 0, settings.key)
    unanswered = table.filter(pl.col("error") == NO_ANSWER)["request_id"].to_list()
    write_problems(imported.problems, unanswered, problems)
    write_table(table, out, RESPONSES)
    failed = table.filter(pl.col("error") != "").height
    log.info(
        f"{table.height} requests, {failed} failed ({len(unanswered)} unanswered), {len(imported.problems)} problems"
    )


def filter_answered_tasks(
    items: pl.DataFrame, requests: pl.DataFrame, imported: ImportedAnswers, folder: Path
) -> pl.DataFrame:
    """Return the requests of tasks with any answer in the files; record the other tasks as missing files."""
    tasks = dict(items.select("item_id", "task").iter_rows())
    task_of_request = requests.select(pl.col("item_id").replace_strict(tasks, return_dtype=pl.String)).to_series()
    answered_tasks = set(task_of_request.filter(requests["request_id"].is_in(list(imported.answers))))
    if not answered_tasks:
        return requests
    absent = [task for task in task_of_request.unique(maintain_order=True) if task not in answered_tasks]
    imported.problems += [ImportProblem(str(folder), None, task, MISSING_FILE) for task in absent]
    return requests.filter(task_of_request.is_in(list(answered_tasks)))


def build_responses(requests: pl.DataFrame, imported: ImportedAnswers, frames: int, key: str) -> pl.DataFrame:
    """Return one response per request; requests without an answer in the files are failures."""
    rows = [
        build_response_row(request, imported.answers.get(request["request_id"], Answer(error=NO_ANSWER)), key, frames)
        for request in requests.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=RESPONSES)
