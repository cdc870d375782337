"""The content of a run's page: its numbers and the tables that show them, its health, its speed and its cost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.health import FAILED, PREFIX, UNREAD
from reprise.core.paths import Results
from reprise.core.schemas import FAILED_ANSWERS, METRICS, READERS_DIFFER, TIMINGS, read_table
from reprise.core.version import VERSION
from reprise.report.chain import Fact, StageProvenance
from reprise.report.folder import display_text, finite, without_empty
from reprise.report.keys import Headline, ReportedRun
from reprise.report.names import Names
from reprise.report.tables import Links
from reprise.tables.measured import subject

OF_NUMBER = ["metric", "group"]
OF_CELL = ("table", "row", "column", *OF_NUMBER)
COUNTS = ("asked", "scored", "failed", "unparsed", "missing")
# Metric -> the items that the item browser shows for it
COUNTED = {READERS_DIFFER: "readers", FAILED_ANSWERS: "failed", FAILED: "failed", UNREAD: "unread"}


class Line(NamedTuple):
    """A metric of a group by both conventions, with a link to its items."""

    name: str  # its name in a table
    row: Mapping[str, Any]
    authors: float | None
    link: str


def metric_lines(run: ReportedRun, results: Results, links: Links, names: Names) -> list[Line]:
    """Return all numbers of a run, counts of answers last; the link of a count leads to the counted answers."""
    rows = read_table(results.metrics(run.scored), METRICS)
    authors = rows.filter(convention="authors").select(*OF_NUMBER, authors="value").unique(OF_NUMBER, keep="first")
    fixed = rows.filter(convention="fixed").join(authors, on=OF_NUMBER, how="left", maintain_order="left")
    lines = []
    for row in fixed.iter_rows(named=True):
        metric, name = row["metric"], run.scored.name
        is_count = metric in COUNTED or metric.startswith(PREFIX)
        link = (
            links.behind(name, show=COUNTED.get(metric, "")) if is_count else links.behind(name, metric, row["group"])
        )
        lines.append(Line(names.number(metric, row["group"]), row, row["authors"], link))
    return sorted(lines, key=lambda line: line.row["metric"] in COUNTED)


def leading(lines: Sequence[Line], main: Headline | None) -> list[Line]:
    """Return the main numbers of a run, the headline first: those of the headline's group, or of the most items."""
    numbers = [line for line in lines if line.row["metric"] not in COUNTED]
    largest = max((line.row["asked"] for line in numbers), default=0)
    candidates = [line for line in numbers if main and line.row["group"] == main.group] or [
        line for line in numbers if line.row["asked"] == largest
    ]
    return sorted(candidates, key=lambda line: main is None or line.row["metric"] != main.metric)[:4]


def speed(run: ReportedRun, results: Results) -> Iterator[Fact]:
    """Yield the time and the cost of a run's answers; nothing for imported answers."""
    if run.imported:
        return
    timings = read_table(results.timings(run.scored.run), TIMINGS)
    timed = timings.filter(pl.col("seconds").is_not_null())
    if questions := int(timed["requests"].sum()):
        seconds = float(timed["seconds"].sum()) + float(timed["waiting"].sum())
        yield Fact("Time", f"{seconds:.1f} s for {questions} questions, {seconds / questions:.4f} s a question")
        parts = [
            f"{name} {timed[name].sum():.1f} s"
            for name in ("decode", "preprocess", "waiting", "encode")
            if timed[name].is_not_null().any()
        ]
        yield Fact("Of which", ", ".join(parts) or "not recorded")
    if timed.height < timings.height:
        yield Fact("Not timed", f"{timings.height - timed.height} of {timings.height} clips")
    tokens = [int(timings[name].sum()) for name in ("tokens_in", "tokens_out")]
    if any(tokens):
        yield Fact("Tokens", f"{tokens[0]} in prompts, {tokens[1]} in answers")
    if timings["usd"].is_not_null().any():
        caveat = " or more: the price of some answers is not known" if timings["usd"].null_count() else ""
        yield Fact("Cost", f"{timings['usd'].sum():.4f} US dollars{caveat}")
    if served := sorted(set(timings["served"].explode().drop_nulls())):
        yield Fact("Served as", display_text(", ".join(served)))


def cells_of(tidy: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield run and cell of each number that a table shows of a run, with the paper's value, from the tidy rows."""
    for row in tidy:
        if row.get("run"):
            place = {name: display_text(row[name]) for name in OF_CELL}
            yield subject({"judge": "", **row}), without_empty(place | {"published": finite(row.get("published"))})


def where_from(
    lines: Sequence[Line], cells: Sequence[dict[str, Any]], chain: Sequence[StageProvenance]
) -> dict[str, Any]:
    """Return the provenance of a run's numbers for the item browser: numbers, cells of tables, and stages."""
    numbers = [
        without_empty(
            {"metric": row["metric"], "group": display_text(row["group"])}
            | {name: finite(row[name]) for name in ("value", "low", "high", "authors")}
            | {name: row[name] for name in COUNTS}
        )
        for _, row, _, _ in lines
    ]
    steps = [
        {
            "name": stage.name,
            "file": stage.files[0],
            "more": len(stage.files) - 1,
            "facts": stage.facts,
            "settings": [{"name": settings.name, "settings": settings.settings} for settings in stage.settings],
        }
        for stage in chain
    ]
    unique_cells = [cell for index, cell in enumerate(cells) if cell not in cells[:index]]
    return {"version": VERSION, "numbers": numbers, "cells": unique_cells, "chain": steps}
