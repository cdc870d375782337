"""Footnotes of a table: judges, differences between readers, flawed entries, broken runs and provenance."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import polars as pl

from reprise.benchmarks import health
from reprise.benchmarks.rows import FLAWS
from reprise.core.plain import first_of
from reprise.core.schemas import READERS_DIFFER
from reprise.core.version import VERSION
from reprise.reading.table import OWN
from reprise.tables.keys import TableKey
from reprise.tables.measured import subject


def judges_of(metrics: pl.DataFrame) -> list[str]:
    return metrics["judge"].drop_nulls().unique().sort().to_list()


def broken_lines(key: TableKey, metrics: pl.DataFrame) -> list[str]:
    """Return the lines that name the runs that look broken and why, except for baselines."""
    lines = [
        f"{name} looks broken: {'; '.join(reasons)}."
        for name, rows in _healths(metrics)
        if rows[0]["run"].rpartition("/")[2] not in key.references and (reasons := health.reasons(rows))
    ]
    return first_of(lines, 8, "{} more runs look broken: see the provenance.")


def _healths(metrics: pl.DataFrame) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return the health metrics of each run, or of each run and judge, with its name."""
    health_metrics = metrics.filter(pl.col("metric").str.starts_with(health.PREFIX)).unique(maintain_order=True)
    rows = sorted(health_metrics.iter_rows(named=True), key=subject)
    return [(name, list(numbers)) for name, numbers in groupby(rows, subject)]


def judge_lines(key: TableKey, metrics: pl.DataFrame) -> list[str]:
    """Return the lines that name the judges of the answers, unless the caption does, and the runs without a judge."""
    judges = () if key.spec.judge else judges_of(metrics)
    read_by = _read_by(metrics).filter(pl.col("judge").is_not_null())
    readers = set(read_by["judge"]) - set(read_by.filter(pl.col("by").str.starts_with(pl.col("judge") + ": "))["judge"])
    lines = [f"Answers judged by {key.judges[judge]} ({judge})." for judge in judges if judge not in readers]
    if key.unjudged:
        lines.append(
            f"No judge has rated {len(key.unjudged)} of the runs that could be shown, so that published values stand "
            f"there: {', '.join(first_of(key.unjudged, 3, '...'))}."
        )
    return lines


def _read_by(metrics: pl.DataFrame) -> pl.DataFrame:
    """Return what read the answers of each run, and how many of them."""
    rows = metrics.filter(metric=health.READ_BY).unique(maintain_order=True)
    read_by = pl.col("group").str.strip_prefix(health.ANSWERS + health.BETWEEN)
    return rows.select("run", "judge", "asked", by=read_by, count=(pl.col("value") * pl.col("asked") / 100).round())


def number_lines(key: TableKey, metrics: pl.DataFrame) -> Iterator[str]:
    """Yield the lines on readers that differ, answers read by a fallback, judges, and flawed entries of the release."""
    differing = metrics.filter(pl.col("metric") == READERS_DIFFER).iter_rows(named=True)
    row = max(differing, key=lambda row: (row["value"] or 0) / max(row["asked"], 1), default=None)
    if row is not None and row["value"]:
        yield f"The readers robust and authors differ on at most {row['value']:.0f} of {row['asked']} answers of a run."
    read_by = _read_by(metrics)
    by_model, by_row = read_by.filter(pl.col("by") == pl.col("judge")), read_by.filter(pl.col("by").str.ends_with(OWN))
    for (by,), rows in pl.concat([by_model, by_row]).group_by("by", maintain_order=True):
        reader = f"{key.judges[str(by)]} ({by})" if by in key.judges else f"'{by}' of the configuration"
        unread = ", which the reader robust leaves unread," if by in key.judges else ""
        yield f"{rows['count'].sum():.0f} of {rows['asked'].sum()} answers{unread} were read by {reader}."
    yield from judge_lines(key, metrics)
    flaws = metrics.filter(pl.col("metric") == FLAWS).select("value", "note").unique(maintain_order=True)
    for value, note in flaws.iter_rows():
        yield f"Flawed entries of the release: {value:.0f} ({note})."


def provenance(key: TableKey, metrics: pl.DataFrame) -> Iterator[str]:
    """Yield the suite, the paper, how answers are counted, and the key of every run."""
    yield f"Suite {key.suite} ({key.suite_title}), Reprise {VERSION}."
    yield f"Paper: {key.paper}."
    if key.runs:
        yield (
            "Shown: failed and unread answers count as wrong (convention fixed, reader robust); "
            "intervals and the authors' convention are in the csv."
        )
    digests = {row["run"]: row["key"] for row in metrics.iter_rows(named=True) if row["key"]}
    for run, digest in sorted(digests.items()):
        yield f"{run}: key {digest[:12]}"
    for name, rows in _healths(metrics):
        if summary := health.summary(rows):
            yield f"{name}: {summary}"
