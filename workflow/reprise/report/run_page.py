"""What a run's page says: its numbers, how fast it was, what it cost, and what it was made with."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.health import FAILED, PREFIX, UNREAD, reasons
from reprise.core.paths import Results
from reprise.core.schemas import FAILED_ANSWERS, METRICS, READERS_DIFFER, TIMINGS, read_table
from reprise.report.chain import Fact
from reprise.report.keys import ReportedRun
from reprise.report.links import Links
from reprise.report.scripts import shown

PLACE = ["metric", "group"]
COUNTS = {READERS_DIFFER: "readers", FAILED_ANSWERS: "failed", FAILED: "failed", UNREAD: "unread"}
"""metric -> what the item browser is to show"""
SECONDS = ("decode", "preprocess", "waiting", "encode")


class Line(NamedTuple):
    """A metric of a group by both conventions."""

    row: Mapping[str, Any]
    authors: float | None
    link: str


def metric_lines(run: ReportedRun, results: Results, links: Links) -> list[Line]:
    """All numbers of a run."""
    rows = read_table(results.metrics(run.scored), METRICS)
    authors = rows.filter(convention="authors").select(*PLACE, authors="value").unique(PLACE, keep="first")
    fixed = rows.filter(convention="fixed").join(authors, on=PLACE, how="left", maintain_order="left")
    return [Line(row, row["authors"], _behind(run.scored.name, row, links)) for row in fixed.iter_rows(named=True)]


def _behind(run: str, row: Mapping[str, Any], links: Links) -> str:
    """The items behind a number; of a count of answers those that it counts."""
    metric = row["metric"]
    if metric in COUNTS or metric.startswith(PREFIX):
        return links.behind(run, show=COUNTS.get(metric, ""))
    return links.behind(run, metric, row["group"])


def is_health(line: Line) -> bool:
    """Whether a number says how healthy a run is, and not how good."""
    return str(line.row["metric"]).startswith(PREFIX)


def broken(run: ReportedRun, lines: Sequence[Line]) -> list[str]:
    """Why it looks broken."""
    return [] if run.reference else reasons([line.row for line in lines])


def speed(run: ReportedRun, results: Results) -> list[Fact]:
    """How long its answers took, and what they cost; nothing of answers that were made elsewhere."""
    if run.imported:
        return []
    timings = read_table(results.timings(run.scored.run), TIMINGS)
    known = timings.filter(pl.col("seconds").is_not_null())
    return list(_speed(timings, known))


def _speed(timings: pl.DataFrame, known: pl.DataFrame) -> Iterator[Fact]:
    questions = int(known["requests"].sum())
    if questions:
        seconds = float(known["seconds"].sum()) + float(known["waiting"].sum())
        yield Fact("Time", f"{seconds:.1f} s for {questions} questions, {seconds / questions:.4f} s a question")
        parts = [f"{name} {known[name].sum():.1f} s" for name in SECONDS if known[name].is_not_null().any()]
        yield Fact("Of which", ", ".join(parts) or "not recorded")
    if known.height < timings.height:
        yield Fact("Not timed", f"{timings.height - known.height} of {timings.height} clips")
    tokens = [int(timings[name].sum()) for name in ("tokens_in", "tokens_out")]
    if any(tokens):
        yield Fact("Tokens", f"{tokens[0]} in prompts, {tokens[1]} in answers")
    if timings["usd"].is_not_null().any():
        more = " or more: the price of some answers is not known" if timings["usd"].null_count() else ""
        yield Fact("Cost", f"{timings['usd'].sum():.4f} US dollars{more}")
    served = sorted(set(timings["served"].explode().drop_nulls()))
    if served:
        yield Fact("Served as", shown(", ".join(served)))
