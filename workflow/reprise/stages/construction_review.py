"""Stage `construction_review`: tasks for people, and what their verdicts so far come to."""

from pathlib import Path
from typing import Any

import polars as pl

from reprise.construction.filters import kept
from reprise.construction.keys import ReviewKey
from reprise.construction.label_studio import as_task, template
from reprise.construction.registry import load_step, read_tables, write_tables
from reprise.construction.review import Problem, as_json, as_sheet, warn_of
from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.keyfile import read_key, refuse_edited
from reprise.core.log import log
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Apply people's verdicts, and write the tasks that are left.",
        key=Path, tables=[Path], tasks=Path, json=Path, template=Path, problems=Path, out=[Path],
    )  # fmt: skip
    key = read_key(args.key, ReviewKey)
    tables = read_tables(key.settings.kind, args.tables)
    found = load_step(key.settings.kind, "review")(tables, list(map(Path, key.verdicts)), key.settings)
    refuse_edited(key.verdicts)
    write_text(args.tasks, as_sheet(found.tasks, found.columns))
    write_text(args.json, as_json([_task(row, key.settings.review.videos) for row in found.tasks]))
    texts = [name for name in found.shown if name != "video"]
    write_text(args.template, template("Watch the video, read the texts, then choose.", texts, found.typed))
    write_text(args.problems, as_sheet([one._asdict() for one in found.problems], Problem._fields))
    reviewed = write_tables(key.settings.kind, found._asdict(), args.out, args.made_under)["reviewed"]
    warn_of(found.problems, args.problems)
    needed = key.settings.review.votes
    judged = kept(reviewed).filter(pl.col("votes") >= needed)
    log.info(f"{kept(reviewed).height} kept, {judged.height} of them judged by {needed} or more")


def _task(row: dict[str, Any], videos: str) -> dict[str, Any]:
    """A task as Label Studio imports it."""
    return as_task(row, videos.replace("{video}", row["video"]) if row.get("video") else "", row["options"])


if __name__ == "__main__":
    run_command(main)
