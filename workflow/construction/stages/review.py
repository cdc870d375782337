"""Stage `construction_review`: write tasks for annotators and aggregate their verdicts so far."""

from pathlib import Path

import polars as pl
from human_evaluation.tasks import RowProblem, as_json, as_sheet, label_studio_task, label_studio_template, log_problems
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.settings import reject_edited_files
from reprise.stages.command import In, Out

from construction.filters import kept_rows
from construction.keys import ReviewKey
from construction.registry import load_step, read_tables, write_tables


def main(
    settings: ReviewKey,
    tables: In[list[Path]],
    tasks: Out[Path],
    json: Out[Path],
    form: Out[Path],
    problems: Out[Path],
    out: Out[list[Path]],
) -> None:
    named_tables = read_tables(settings.settings.kind, tables)
    review = load_step(settings.settings.kind, "review")(
        named_tables, list(map(Path, settings.verdicts)), settings.settings
    )
    reject_edited_files(settings.verdicts)
    write_text(tasks, as_sheet(review.tasks, review.columns))
    video_path = settings.settings.review.videos
    label_studio_tasks = []
    for row in review.tasks:
        video = video_path.replace("{video}", row["video"]) if row.get("video") else ""
        label_studio_tasks.append(label_studio_task(row, video, row["options"]))
    write_text(json, as_json(label_studio_tasks))
    text_columns = [name for name in review.shown_columns if name != "video"]
    write_text(form, label_studio_template("Watch the video, read the texts, then choose.", text_columns))
    write_text(problems, as_sheet([problem._asdict() for problem in review.problems], RowProblem._fields))
    reviewed = write_tables(settings.settings.kind, review._asdict(), out)["reviewed"]
    log_problems(review.problems, problems)
    needed = settings.settings.review.votes
    complete = kept_rows(reviewed).filter(pl.col("votes") >= needed)
    log.info(f"{kept_rows(reviewed).height} kept, {complete.height} of them with {needed} verdicts or more")
