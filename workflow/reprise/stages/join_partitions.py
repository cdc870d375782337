"""Stage `join_partitions`: join the responses of all partitions of a run."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.core.errors import UserError
from reprise.core.schemas import REQUESTS, RESPONSES, TIMINGS, read_table, read_table_with_key
from reprise.core.settings import Key
from reprise.models.keys import RunKey
from reprise.stages.answers import write_answers
from reprise.stages.command import In, Out


def main(
    settings: Key,
    run_settings: RunKey,
    requests: In[Path],
    partitions: In[list[Path]],
    partition_timings: list[Path],  # Not `In`, because timings must not affect the provenance of the responses.
    responses: Out[Path],
    timings: Out[Path],
) -> None:
    request_table = read_table(requests, REQUESTS)
    answers = join_answers(partitions, run_settings.key, request_table)
    timing_table = pl.concat([read_table(path, TIMINGS) for path in partition_timings])
    write_answers(answers, timing_table, request_table, (responses, timings))


def join_answers(paths: Sequence[Path], key: str, requests: pl.DataFrame) -> pl.DataFrame:
    """Return the responses of all partitions; raise an error if one is of another run or answers a request twice."""
    answers = pl.concat(read_table_with_key(path, RESPONSES, key) for path in paths)
    foreign_answers = answers.filter(~pl.col("request_id").is_in(requests["request_id"].implode()))
    duplicates = answers.filter(pl.col("request_id").is_duplicated())
    for invalid_answers, problem in (
        (foreign_answers, "is not part of the run"),
        (duplicates, "is answered by two partitions"),
    ):
        if invalid_answers.height:
            raise UserError(
                f"{paths[0].parent}: the partitions do not fit: request {invalid_answers['request_id'][0]} {problem}. "
                "Delete the folder and run snakemake again; the responses are in the cache."
            )
    return answers
