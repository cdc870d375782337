"""Read and check the metrics that tables are built from, and read the problems of imported answers."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.health import HEALTH_PREFIX
from reprise.benchmarks.registry import load_analyses
from reprise.core.errors import UserError
from reprise.core.files import verify_sealed_text
from reprise.core.notation import format_percentage
from reprise.core.paths import Results
from reprise.core.schemas import EXTRACTORS_DIFFER, FAILED_ANSWERS, METRICS, read_table
from reprise.tables.keys import TableKey


def read_metrics(paths: Iterable[Path]) -> pl.DataFrame:
    """Return the metrics of several runs as one table."""
    return pl.concat([pl.DataFrame(schema=METRICS), *(read_table(path, METRICS) for path in paths)])


def read_problems(paths: Iterable[Path], results: Results) -> dict[str, Counter[str]]:
    """Count the problems of imported answers or ratings, by scored run.

    Questions without an answer are not counted here, because the metrics count them as failed.
    """
    problems = {}
    for path in paths:
        with verify_sealed_text(path).open(encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream)
            # Rows without a file are questions without an answer.
            problems[results.get_run_name(path)] = Counter(row["problem"] for row in rows if row["file"])
    return problems


def subject_name(row: Mapping[str, Any]) -> str:
    """Return the subject of a measured number: the name of a run, with its judge if it has one."""
    return f"{row['run']}/{row['judge']}" if row["judge"] else str(row["run"])


def check_missing(key: TableKey, metrics: pl.DataFrame) -> None:
    """Raise a UserError if too many items of a run have no clip."""
    analyses = load_analyses(key.benchmark)
    # Analyses derive groups from clip metadata. Items without a clip have none, so these groups do not contain them.
    analysis_groups = list(analyses.groups) if analyses else []
    # Metrics about answers count answers, not items.
    is_about_answers = pl.col("metric").is_in([EXTRACTORS_DIFFER, FAILED_ANSWERS]) | pl.col("metric").str.starts_with(
        HEALTH_PREFIX
    )
    measured = metrics.filter(~is_about_answers & ~pl.col("group").is_in(analysis_groups), convention="fixed")
    totals = measured.group_by("run", maintain_order=True).agg(pl.col("requested", "missing").sum())
    for run, requested, missing in totals.iter_rows():
        if missing > key.missing_share_max * (requested + missing):
            share = format_percentage(100 * missing / (requested + missing), 1)
            raise UserError(
                f"{key.table} of {key.benchmark}: {share} of the items of {run} have no clip, more than the "
                f"{format_percentage(100 * key.missing_share_max, 1)} that missing_share_max of suite "
                f"'{key.suite}' allows. {Results(key.suite).folder}/sources/ lists them with the reasons."
            )


def check_failed(key: TableKey, metrics: pl.DataFrame) -> None:
    """Raise a UserError if too many answers of a run failed."""
    too_many = pl.col("failed") > key.failed_share_max * pl.col("requested")
    descriptions = dict.fromkeys(
        f"{subject_name(row)}: {row['failed']} of {row['requested']} {row['group']} ({row['note']})"
        for row in metrics.filter(too_many, metric=FAILED_ANSWERS).iter_rows(named=True)
    )
    if descriptions:
        first, *others = descriptions
        raise UserError(
            f"{key.table} of {key.benchmark}: {first}: a larger share of answers failed than the "
            f"{format_percentage(100 * key.failed_share_max, 1)} that failed_share_max of suite '{key.suite}' allows.\n"
            + "".join(f"Also {line}.\n" for line in others)
            + "`reprise why <run>` lists the requests that the next run of snakemake sends again. "
            "`reprise retry <run or reason>` marks the others to be sent again."
        )
