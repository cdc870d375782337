"""What stops a table: too many missing clips, too many failed answers."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from reprise.benchmarks.health import PREFIX
from reprise.benchmarks.registry import load_analyses
from reprise.core.errors import UserError
from reprise.core.paths import Results
from reprise.core.schemas import FAILED_ANSWERS, READERS_DIFFER
from reprise.tables.keys import TableKey


def check_missing(key: TableKey, metrics: pl.DataFrame) -> None:
    """Stop the table when too many of a run's items have no clip."""
    analyses = load_analyses(key.benchmark)
    # What has no clip has no facts either, and is in no group that is made by them.
    analysed = list(analyses.groups) if analyses else []
    measured = (pl.col("convention") == "fixed") & ~pl.col("metric").is_in([READERS_DIFFER, FAILED_ANSWERS])
    measured &= ~pl.col("metric").str.starts_with(PREFIX) & ~pl.col("group").is_in(analysed)
    totals = metrics.filter(measured).group_by("run", maintain_order=True).agg(pl.col("asked", "missing").sum())
    for run, asked, missing in totals.iter_rows():
        if missing > key.missing_share_max * (asked + missing):
            raise UserError(
                f"{key.table} of {key.benchmark}: {100 * missing / (asked + missing):.1f} % of the items of {run} "
                f"have no clip, more than the {100 * key.missing_share_max:.1f} % that missing_share_max of suite "
                f"'{key.suite}' allows. {Results(key.suite).folder}/sources/ says which and why."
            )


def check_failed(key: TableKey, metrics: pl.DataFrame) -> None:
    """Stop the table when too many of a run's answers, or of its judge's replies, failed."""
    failed = metrics.filter(
        (pl.col("metric") == FAILED_ANSWERS) & (pl.col("failed") > key.failed_share_max * pl.col("asked"))
    )
    found = [
        f"{subject(row)}: {row['failed']} of {row['asked']} {row['group']} ({row['note']})"
        for row in failed.iter_rows(named=True)
    ]
    if found:
        first, *others = dict.fromkeys(found)
        raise UserError(
            f"{key.table} of {key.benchmark}: {first}: a larger share of answers failed than the "
            f"{100 * key.failed_share_max:.1f} % that failed_share_max of suite '{key.suite}' allows.\n"
            + "".join(f"Likewise {other}.\n" for other in others)
            + "`python -m reprise why <run>` says what the next run of snakemake asks again, "
            "`python -m reprise retry <run or reason>` has it ask the others."
        )


def subject(row: Mapping[str, Any]) -> str:
    """The subject of a measured number: a run, or a run as one judge rates it."""
    return f"{row['run']}/{row['judge']}" if row["judge"] else str(row["run"])
