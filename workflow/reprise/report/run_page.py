"""What is said of a run: its numbers and where tables show them, its health, how fast it was and what it cost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.health import FAILED, PREFIX, UNREAD
from reprise.core.paths import Results
from reprise.core.schemas import FAILED_ANSWERS, METRICS, READERS_DIFFER, TIMINGS, read_table
from reprise.core.version import VERSION
from reprise.report.chain import Fact, Made
from reprise.report.folder import finite, shown, without_empty
from reprise.report.keys import Headline, ReportedRun
from reprise.report.names import Names
from reprise.report.tables import Links
from reprise.tables.measured import subject

OF_NUMBER = ["metric", "group"]
OF_CELL = ("table", "row", "column", *OF_NUMBER)
COUNTS = ("asked", "scored", "failed", "unparsed", "missing")
# Metric -> what the item browser is to show.
COUNTED = {READERS_DIFFER: "readers", FAILED_ANSWERS: "failed", FAILED: "failed", UNREAD: "unread"}


class Line(NamedTuple):
    """A metric of a group by both conventions, with a link to the items behind it."""

    name: str  # what a table calls it
    row: Mapping[str, Any]
    authors: float | None
    link: str


def metric_lines(run: ReportedRun, results: Results, links: Links, names: Names) -> list[Line]:
    """All numbers of a run, counts of answers last; such a count leads to the answers that it counts."""
    rows = read_table(results.metrics(run.scored), METRICS)
    authors = rows.filter(convention="authors").select(*OF_NUMBER, authors="value").unique(OF_NUMBER, keep="first")
    fixed = rows.filter(convention="fixed").join(authors, on=OF_NUMBER, how="left", maintain_order="left")
    found = []
    for row in fixed.iter_rows(named=True):
        metric, name = row["metric"], run.scored.name
        is_count = metric in COUNTED or metric.startswith(PREFIX)
        link = (
            links.behind(name, show=COUNTED.get(metric, "")) if is_count else links.behind(name, metric, row["group"])
        )
        found.append(Line(names.number(metric, row["group"]), row, row["authors"], link))
    return sorted(found, key=lambda line: line.row["metric"] in COUNTED)


def leading(lines: Sequence[Line], main: Headline | None) -> list[Line]:
    """The numbers that a run leads with, the main one first: of its benchmark's main group, or of the most items."""
    numbers = [line for line in lines if line.row["metric"] not in COUNTED]
    most = max((line.row["asked"] for line in numbers), default=0)
    whole = [line for line in numbers if main and line.row["group"] == main.group] or [
        line for line in numbers if line.row["asked"] == most
    ]
    return sorted(whole, key=lambda line: main is None or line.row["metric"] != main.metric)[:4]


def speed(run: ReportedRun, results: Results) -> Iterator[Fact]:
    """How long its answers took, and what they cost; nothing of answers that were made elsewhere."""
    if run.imported:
        return
    timings = read_table(results.timings(run.scored.run), TIMINGS)
    known = timings.filter(pl.col("seconds").is_not_null())
    if asked := int(known["requests"].sum()):
        seconds = float(known["seconds"].sum()) + float(known["waiting"].sum())
        yield Fact("Time", f"{seconds:.1f} s for {asked} questions, {seconds / asked:.4f} s a question")
        parts = [
            f"{name} {known[name].sum():.1f} s"
            for name in ("decode", "preprocess", "waiting", "encode")
            if known[name].is_not_null().any()
        ]
        yield Fact("Of which", ", ".join(parts) or "not recorded")
    if known.height < timings.height:
        yield Fact("Not timed", f"{timings.height - known.height} of {timings.height} clips")
    tokens = [int(timings[name].sum()) for name in ("tokens_in", "tokens_out")]
    if any(tokens):
        yield Fact("Tokens", f"{tokens[0]} in prompts, {tokens[1]} in answers")
    if timings["usd"].is_not_null().any():
        more = " or more: the price of some answers is not known" if timings["usd"].null_count() else ""
        yield Fact("Cost", f"{timings['usd'].sum():.4f} US dollars{more}")
    if served := sorted(set(timings["served"].explode().drop_nulls())):
        yield Fact("Served as", shown(", ".join(served)))


def cells_of(tidy: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run and cell of each number that a table shows of a run, with the paper's own, from the table's tidy rows."""
    for row in tidy:
        if row.get("run"):
            place = {name: shown(row[name]) for name in OF_CELL}
            yield subject({"judge": "", **row}), without_empty(place | {"published": finite(row.get("published"))})


def where_from(lines: Sequence[Line], cells: Sequence[dict[str, Any]], chain: Sequence[Made]) -> dict[str, Any]:
    """Where a run's numbers come from, as the item browser shows it: the numbers, cells of tables, the chain."""
    numbers = [
        without_empty(
            {"metric": row["metric"], "group": shown(row["group"])}
            | {name: finite(row[name]) for name in ("value", "low", "high", "authors")}
            | {name: row[name] for name in COUNTS}
        )
        for _, row, _, _ in lines
    ]
    steps = [
        {
            "name": made.name,
            "file": made.files[0],
            "more": len(made.files) - 1,
            "facts": made.facts,
            "settings": [{"name": used.name, "settings": used.settings} for used in made.settings],
        }
        for made in chain
    ]
    shown_in = [cell for at, cell in enumerate(cells) if cell not in cells[:at]]
    return {"version": VERSION, "numbers": numbers, "cells": shown_in, "chain": steps}
