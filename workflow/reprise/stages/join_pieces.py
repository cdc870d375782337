"""Stage `join_pieces`: the answers of a run that several jobs asked for, as one job would have written them."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.core.errors import UserError
from reprise.core.schemas import REQUESTS, RESPONSES, TIMINGS, read_of_key, read_table
from reprise.core.settings import Key
from reprise.models.keys import RunKey
from reprise.stages.answers import write_answers
from reprise.stages.command import In, Out


def main(
    settings: Key,
    run_settings: RunKey,
    requests: In[Path],
    pieces: In[list[Path]],
    piece_timings: list[Path],  # measured times are no part of what the answers are made from
    responses: Out[Path],
    timings: Out[Path],
) -> None:
    asked = read_table(requests, REQUESTS)
    answers = joined(pieces, run_settings.key, asked)
    timed = pl.concat([read_table(path, TIMINGS) for path in piece_timings])
    write_answers(answers, timed, asked, (responses, timings))


def joined(paths: Sequence[Path], key: str, requests: pl.DataFrame) -> pl.DataFrame:
    """The answers of all pieces, each given under this key, to one question each."""
    found = pl.concat(read_of_key(path, RESPONSES, key) for path in paths)
    others = found.filter(~pl.col("request_id").is_in(requests["request_id"].implode()))
    doubled = found.filter(pl.col("request_id").is_duplicated())
    for wrong, what in ((others, "is none of the run's"), (doubled, "was answered by two of them")):
        if wrong.height:
            raise UserError(
                f"{paths[0].parent}: pieces of different questions: {wrong['request_id'][0]} {what}. "
                "Delete the folder and run snakemake again; the answers are in the journal."
            )
    return found
