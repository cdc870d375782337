"""What stands below a table: who judged, where readers differ, what is flawed, and what the numbers were made from."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from reprise import __version__
from reprise.benchmarks import health
from reprise.benchmarks.flaws import FLAWS
from reprise.core.schemas import READERS_DIFFER
from reprise.reading.table import OWN
from reprise.tables.keys import TableKey
from reprise.tables.limits import subject

MOST_LISTED = 3  # runs that a note lists
MOST_BROKEN = 8  # runs that are named as broken


def judges_of(metrics: pl.DataFrame) -> list[str]:
    """The judges behind the numbers of ours."""
    return sorted({row["judge"] for row in metrics.iter_rows(named=True) if row["judge"]})


def reader_lines(metrics: pl.DataFrame) -> list[str]:
    """How many answers of the run where they differ most the two readers read differently."""
    rows = [row for row in metrics.iter_rows(named=True) if row["metric"] == READERS_DIFFER]
    most = max(rows, key=lambda row: (row["value"] or 0) / max(row["asked"], 1), default=None)
    if most is None or not most["value"]:
        return []
    return [
        f"The readers robust and authors differ on at most {most['value']:.0f} of {most['asked']} answers of a run."
    ]


def _read_by(metrics: pl.DataFrame) -> pl.DataFrame:
    """By what answers of each run were read, and how many."""
    rows = metrics.filter(metric=health.READ_BY).unique(maintain_order=True)
    by = pl.col("group").str.strip_prefix(health.ANSWERS + health.BETWEEN)
    return rows.select("run", "judge", "asked", by=by, count=(pl.col("value") * pl.col("asked") / 100).round())


def own_reading_lines(key: TableKey, metrics: pl.DataFrame) -> Iterator[str]:
    """What of the answers was read by a model, or by rows that a protocol or a model added to the reader's table."""
    read = _read_by(metrics)
    for judge, rows in read.filter(pl.col("by") == pl.col("judge")).group_by("judge", maintain_order=True):
        count, of = int(rows["count"].sum()), rows["asked"].sum()
        reader = f"{key.judges[judge[0]]} ({judge[0]})"
        yield f"{count} of {of} answers, which the reader robust leaves unread, were read by {reader}."
    for name, rows in read.filter(pl.col("by").str.ends_with(OWN)).group_by("by", maintain_order=True):
        count, of = int(rows["count"].sum()), rows["asked"].sum()
        yield f"{count} of {of} answers were read by '{name[0]}' of the configuration."


def broken_lines(key: TableKey, metrics: pl.DataFrame) -> list[str]:
    """The runs that look broken, and why; a baseline is as it is."""
    lines = [
        f"{name} looks broken: {'; '.join(found)}."
        for name, rows in sorted(healths(metrics).items())
        if rows[0]["run"].rpartition("/")[2] not in key.references and (found := health.reasons(rows))
    ]
    others = len(lines) - MOST_BROKEN
    return [*lines[:MOST_BROKEN], *([f"{others} more runs look broken: see the provenance."] if others > 0 else [])]


def healths(metrics: pl.DataFrame) -> dict[str, list[Mapping[str, Any]]]:
    """Run, or run and judge -> the numbers of its health."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in (
        metrics.filter(pl.col("metric").str.starts_with(health.PREFIX))
        .unique(maintain_order=True)
        .iter_rows(named=True)
    ):
        found.setdefault(subject(row), []).append(row)
    return found


def judge_lines(key: TableKey, metrics: pl.DataFrame) -> list[str]:
    """Who judged the answers behind the numbers, where the caption does not say so, and what nobody has judged."""
    named = () if key.spec.judge else judges_of(metrics)
    by = _read_by(metrics).filter(pl.col("judge").is_not_null())
    readers = set(by["judge"]) - set(by.filter(pl.col("by").str.starts_with(pl.col("judge") + ": "))["judge"])
    lines = [f"Answers judged by {key.judges[judge]} ({judge})." for judge in named if judge not in readers]
    if unjudged := key.unjudged:
        named_runs = ", ".join([*unjudged[:MOST_LISTED], *(["..."] if len(unjudged) > MOST_LISTED else [])])
        lines.append(
            f"No judge has rated {len(unjudged)} of the runs that could be shown, so that published values stand "
            f"there: {named_runs}."
        )
    return lines


def flaw_lines(metrics: pl.DataFrame) -> Iterator[str]:
    """Entries of the release that are flawed, named below the numbers that they are in."""
    flaws = metrics.filter(pl.col("metric") == FLAWS).select("value", "note").unique(maintain_order=True)
    for value, note in flaws.iter_rows():
        yield f"Flawed entries of the release: {value:.0f} ({note})."


def provenance(key: TableKey, metrics: pl.DataFrame) -> Iterator[str]:
    """The suite, the paper, how answers count, and the key of every run."""
    yield f"Suite {key.suite} ({key.suite_title}), Reprise {__version__}."
    yield f"Paper: {key.paper}."
    if key.runs:
        yield (
            "Shown: failed and unread answers count as wrong (convention fixed, reader robust); "
            "intervals and the authors' convention are in the csv."
        )
    digests = {row["run"]: row["key"] for row in metrics.iter_rows(named=True) if row["key"]}
    for run, digest in sorted(digests.items()):
        adopted = f" ({key.adopted[digest]})" if digest in key.adopted else ""
        yield f"{run}: key {digest[:12]}{adopted}"
    for name, rows in sorted(healths(metrics).items()):
        if summary := health.summary(rows):
            yield f"{name}: {summary}"
