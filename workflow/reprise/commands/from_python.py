"""For notebooks: the numbers of a table, and the answers of a run, as polars frames."""

from contextlib import chdir
from pathlib import Path

import polars as pl

from reprise.commands.shared import plan_of, reader_of, there
from reprise.core.paths import TABLES
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.tables.build import TIDY


def results(table: str, folder: str | Path = ".") -> pl.DataFrame:
    """The numbers of a table as its csv has them; columns that this one lacks are null."""
    with chdir(folder):
        path = there(TABLES / f"{table}.csv", "results")
        return pl.read_csv(path, schema_overrides=TIDY)


def answers(run: str, suite: str | None = None, folder: str | Path = ".") -> pl.DataFrame:
    """A run's answers, a row each, with the item, what was asked, and how the answer was read."""
    with chdir(folder):
        plan = plan_of(suite)
        found = plan.find_run(run)
        paths = plan.results
        items = read_table(there(paths.items(found.benchmark), "answers"), ITEMS)
        requests = read_table(there(paths.requests(found.benchmark, found.protocol), "answers"), REQUESTS)
        responses = read_table(there(paths.responses(found), "answers"), RESPONSES)
        verdicts = read_table(there(paths.verdicts(found, reader_of(plan, found)), "answers"), VERDICTS)
    on = ["item_id", "role"]
    read = verdicts.select(*on, "value", "read_by", "score", "right", "unparsed", "failed")
    return (
        responses.select(*on, "text", "scores", "frames_shown", "error", "message")
        .join(requests.select(*on, "prompt", "options", "expected"), on=on, how="left", maintain_order="left")
        .join(
            items.select("item_id", "clip_id", "unit", "task", "groups"),
            on="item_id",
            how="left",
            maintain_order="left",
        )
        .join(read, on=on, how="left", maintain_order="left")
        .select(*ANSWER_COLUMNS)
    )


ANSWER_COLUMNS = {
    "item_id": "the item",
    "role": "which of its questions",
    "clip_id": "the clip that was shown",
    "unit": "the video, or the pair, that it is of; intervals take it as one",
    "task": "the test or category",
    "groups": "other groups that it is in",
    "prompt": "the question, before a number of frames is filled in",
    "options": "what may be answered; empty for free answers",
    "expected": "the right option, or the text to come close to; empty where a judge decides",
    "text": "the raw answer; empty where only scores were asked",
    "scores": "a number for each option, as the adapter gives it; empty where there is none",
    "value": "what was read from it; empty where nothing was",
    "read_by": "the row of the reader's table that read it",
    "score": "entailment score, similarity, or rating; null where there is none",
    "right": "whether it is right",
    "unparsed": "whether it could not be read",
    "failed": "whether there is no answer",
    "error": "why there is none",
    "message": "what was said of that",
    "frames_shown": "how many frames the model saw",
}
"""column of `answers` -> what it holds"""
