"""Stage `import_answers`: import predictions from files as the responses of a run."""

from pathlib import Path

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, read_table, write_table
from reprise.core.settings import reject_edited_files
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
    reject_edited_files(settings.answers.files)
    if importer.has_file_per_task:
        request_table = filter_answered_tasks(items, request_table, imported, files[0].parent)
    frame_count = count_frames(settings.answers.sampling)
    imported.problems += importer.find_deviations(files, request_table, frame_count)
    table = build_responses(request_table, imported, frame_count or 0, settings.key)
    unanswered = table.filter(pl.col("error") == NO_ANSWER)["request_id"].to_list()
    write_problems(imported.problems, unanswered, problems)
    write_table(table, out, RESPONSES)
    failed_count = table.filter(pl.col("error") != "").height
    log.info(
        f"{table.height} requests, {failed_count} failed ({len(unanswered)} unanswered), "
        f"{len(imported.problems)} problems"
    )


def filter_answered_tasks(
    items: pl.DataFrame, requests: pl.DataFrame, imported: ImportedAnswers, folder: Path
) -> pl.DataFrame:
    """Return the requests of tasks with an answer in the files; record the other tasks as missing files."""
    task_by_item = dict(items.select("item_id", "task").iter_rows())
    task_of_request = requests.select(
        pl.col("item_id").replace_strict(task_by_item, return_dtype=pl.String)
    ).to_series()
    answered_tasks = set(task_of_request.filter(requests["request_id"].is_in(list(imported.answers))))
    if not answered_tasks:
        return requests
    unanswered_tasks = [task for task in task_of_request.unique(maintain_order=True) if task not in answered_tasks]
    imported.problems += [ImportProblem(str(folder), None, task, MISSING_FILE) for task in unanswered_tasks]
    return requests.filter(task_of_request.is_in(list(answered_tasks)))


def build_responses(requests: pl.DataFrame, imported: ImportedAnswers, frame_count: int, key: str) -> pl.DataFrame:
    """Return one response per request; a request without an answer in the files is failed."""
    rows = [
        build_response_row(
            request, imported.answers.get(request["request_id"], Answer(error=NO_ANSWER)), key, frame_count
        )
        for request in requests.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=RESPONSES)
