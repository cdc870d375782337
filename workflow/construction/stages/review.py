"""Stage `construction_review`: tasks for people, and what their verdicts so far come to."""

from pathlib import Path

import polars as pl
from human_evaluation.tasks import Problem, as_json, as_sheet, as_task, template, warn_of
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.settings import refuse_edited
from reprise.stages.command import In, Out

from construction.filters import kept
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
    made = read_tables(settings.settings.kind, tables)
    found = load_step(settings.settings.kind, "review")(made, list(map(Path, settings.verdicts)), settings.settings)
    refuse_edited(settings.verdicts)
    write_text(tasks, as_sheet(found.tasks, found.columns))
    named = settings.settings.review.videos
    videos = [named.replace("{video}", row["video"]) if row.get("video") else "" for row in found.tasks]
    write_text(json, as_json([as_task(*one, one[0]["options"]) for one in zip(found.tasks, videos, strict=True)]))
    texts = [name for name in found.shown if name != "video"]
    write_text(form, template("Watch the video, read the texts, then choose.", texts))
    write_text(problems, as_sheet([one._asdict() for one in found.problems], Problem._fields))
    reviewed = write_tables(settings.settings.kind, found._asdict(), out)["reviewed"]
    warn_of(found.problems, problems)
    needed = settings.settings.review.votes
    judged = kept(reviewed).filter(pl.col("votes") >= needed)
    log.info(f"{kept(reviewed).height} kept, {judged.height} of them judged by {needed} or more")
