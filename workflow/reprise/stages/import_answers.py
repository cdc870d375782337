"""Stage `import_answers`: read a run's answers from files that were made elsewhere, without clips and models."""

from pathlib import Path

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, read_table, write_table
from reprise.core.settings import refuse_edited
from reprise.external import NO_ANSWER, load_importer
from reprise.external.answers import NO_FILE, ImportedAnswers, Problem, response_row, write_problems
from reprise.external.keys import ImportedRunKey
from reprise.media.sampling import frames_shown
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
    items, asked = read_table(item_table, ITEMS), read_table(requests, REQUESTS)
    form = load_importer(settings.answers.benchmark).FORMS[settings.answers.form]
    imported = form.read(files, items, asked)
    refuse_edited(settings.answers.files)
    if form.has_file_per_task:
        asked = of_answered_tasks(items, asked, imported, files[0].parent)
    frames = frames_shown(settings.answers.sampling)
    imported.problems += form.deviations(files, asked, frames)
    table = responses(asked, imported, frames or 0, settings.key)
    unanswered = table.filter(pl.col("error") == NO_ANSWER)["request_id"].to_list()
    write_problems(imported.problems, unanswered, problems)
    write_table(table, out, RESPONSES)
    failed = table.filter(pl.col("error") != "").height
    log.info(
        f"{table.height} questions, {failed} failed ({len(unanswered)} unanswered), {len(imported.problems)} problems"
    )


def of_answered_tasks(
    items: pl.DataFrame, requests: pl.DataFrame, imported: ImportedAnswers, folder: Path
) -> pl.DataFrame:
    """The requests of the tasks that the folder's files answer at all; the others were not asked, and are noted."""
    tasks = dict(items.select("item_id", "task").iter_rows())
    of_task = requests.select(pl.col("item_id").replace_strict(tasks, return_dtype=pl.String)).to_series()
    answered = set(of_task.filter(requests["request_id"].is_in(list(imported.answers))))
    if not answered:
        return requests
    absent = [task for task in of_task.unique(maintain_order=True) if task not in answered]
    imported.problems += [Problem(str(folder), None, task, NO_FILE) for task in absent]
    return requests.filter(of_task.is_in(list(answered)))


def responses(requests: pl.DataFrame, imported: ImportedAnswers, frames: int, key: str) -> pl.DataFrame:
    """One response per request; what the files do not answer failed. What was asked and read elsewhere is not known."""
    rows = [
        response_row(request, imported.answers.get(request["request_id"], Answer(error=NO_ANSWER)), key, frames)
        for request in requests.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=RESPONSES)
