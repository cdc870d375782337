"""The measurements that tables are built from, their checks, and the problems of imported answers."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.health import PREFIX
from reprise.benchmarks.registry import load_analyses
from reprise.core.errors import UserError
from reprise.core.files import sealed_text
from reprise.core.paths import Results
from reprise.core.schemas import FAILED_ANSWERS, METRICS, READERS_DIFFER, read_table
from reprise.tables.keys import TableKey


def read_metrics(paths: Iterable[Path]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=METRICS), *(read_table(path, METRICS) for path in paths)])


def read_problems(paths: Iterable[Path], results: Results) -> dict[str, Counter[str]]:
    """Return counts of problems by run, or by run and judge; unanswered questions are counted as failed elsewhere."""
    problems = {}
    for path in paths:
        with sealed_text(path).open(encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream)
            problems[results.name_of(path)] = Counter(row["problem"] for row in rows if row["file"])
    return problems


def subject(row: Mapping[str, Any]) -> str:
    """Return the subject of a measured number: a run, or a run as rated by one judge."""
    return f"{row['run']}/{row['judge']}" if row["judge"] else str(row["run"])


def check_missing(key: TableKey, metrics: pl.DataFrame) -> None:
    analyses = load_analyses(key.benchmark)
    # Items without a clip have no clip metadata, so they belong to no group that an analysis derives from it.
    analysed = list(analyses.groups) if analyses else []
    is_count = pl.col("metric").is_in([READERS_DIFFER, FAILED_ANSWERS]) | pl.col("metric").str.starts_with(PREFIX)
    measured = metrics.filter(~is_count & ~pl.col("group").is_in(analysed), convention="fixed")
    totals = measured.group_by("run", maintain_order=True).agg(pl.col("asked", "missing").sum())
    for run, asked, missing in totals.iter_rows():
        if missing > key.missing_share_max * (asked + missing):
            raise UserError(
                f"{key.table} of {key.benchmark}: {100 * missing / (asked + missing):.1f} % of the items of {run} "
                f"have no clip, more than the {100 * key.missing_share_max:.1f} % that missing_share_max of suite "
                f"'{key.suite}' allows. {Results(key.suite).folder}/sources/ says which and why."
            )


def check_failed(key: TableKey, metrics: pl.DataFrame) -> None:
    too_many = pl.col("failed") > key.failed_share_max * pl.col("asked")
    failed = dict.fromkeys(
        f"{subject(row)}: {row['failed']} of {row['asked']} {row['group']} ({row['note']})"
        for row in metrics.filter(too_many, metric=FAILED_ANSWERS).iter_rows(named=True)
    )
    if failed:
        first, *remaining = failed
        raise UserError(
            f"{key.table} of {key.benchmark}: {first}: a larger share of answers failed than the "
            f"{100 * key.failed_share_max:.1f} % that failed_share_max of suite '{key.suite}' allows.\n"
            + "".join(f"Likewise {line}.\n" for line in remaining)
            + "`python -m reprise why <run>` says what the next run of snakemake asks again, "
            "`python -m reprise retry <run or reason>` has it ask the others."
        )
