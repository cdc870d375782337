"""Collect the content of a run's page: numbers, the tables that show them, health, speed and cost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.health import FAILED, HEALTH_PREFIX, UNPARSED
from reprise.core.notation import format_value
from reprise.core.paths import Results
from reprise.core.schemas import EXTRACTORS_DIFFER, FAILED_ANSWERS, TIMINGS, read_table
from reprise.core.version import VERSION
from reprise.report.folder import display_text, drop_empty_values, finite_or_none
from reprise.report.keys import Headline, ReportedRun
from reprise.report.lineage import Detail, StageProvenance
from reprise.report.names import TableNames
from reprise.report.tables import Links
from reprise.tables.measurements import subject_name

METRIC_COLUMNS = ["metric", "group"]  # identify a number of a run
CELL_COLUMNS = ("table", "row", "column", *METRIC_COLUMNS)
DECIMALS = 2  # of numbers that no table shows
COUNTS = ("requested", "scored", "failed", "unparsed", "missing")
# Metric that counts answers -> kind of items (`show`) that the item browser selects for the metric
COUNT_FILTERS = {EXTRACTORS_DIFFER: "extractors", FAILED_ANSWERS: "failed", FAILED: "failed", UNPARSED: "unparsed"}


class MetricLine(NamedTuple):
    """A metric of one group of items by both conventions, with a link to the items."""

    name: str  # name of the metric and group in a table
    row: Mapping[str, Any]  # row of the metrics by the convention `fixed`
    authors_value: float | None
    link: str
    decimals: int
    is_in_table: bool

    @property
    def authors_differ(self) -> bool:
        """Return whether the authors' convention and extractor give another value."""
        if self.authors_value is None:
            return False
        own, authors = (format_value(value, self.decimals) for value in (self.row["value"], self.authors_value))
        return own != authors


def build_metric_lines(run: ReportedRun, metrics: pl.DataFrame, links: Links, names: TableNames) -> list[MetricLine]:
    """Return all numbers of a run, with counts of answers last. The link of a count selects the counted items."""
    authors = (
        metrics.filter(convention="authors")
        .select(*METRIC_COLUMNS, authors="value")
        .unique(METRIC_COLUMNS, keep="first")
    )
    fixed = metrics.filter(convention="fixed").join(authors, on=METRIC_COLUMNS, how="left", maintain_order="left")
    lines = []
    for row in fixed.iter_rows(named=True):
        metric, name, number = row["metric"], run.scored.name, (row["metric"], row["group"])
        is_count = metric in COUNT_FILTERS or metric.startswith(HEALTH_PREFIX)
        link = (
            links.items_address(name, show=COUNT_FILTERS.get(metric, ""))
            if is_count
            else links.items_address(name, metric, row["group"])
        )
        title, decimals = names.metric_name(*number), names.decimals.get(number, DECIMALS)
        lines.append(MetricLine(title, row, row["authors"], link, decimals, number in names.metrics))
    return sorted(lines, key=lambda line: line.row["metric"] in COUNT_FILTERS)


def select_main_lines(lines: Sequence[MetricLine], headline: Headline | None) -> list[MetricLine]:
    """Return up to four main numbers of a run, the headline first.

    They belong to the headline's group, or to the largest group if the run has no number of the headline's group.
    """
    metric_lines = [line for line in lines if line.row["metric"] not in COUNT_FILTERS]
    largest_size = max((line.row["requested"] for line in metric_lines), default=0)
    candidates = [line for line in metric_lines if headline and line.row["group"] == headline.group]
    candidates = candidates or [line for line in metric_lines if line.row["requested"] == largest_size]
    return sorted(candidates, key=lambda line: headline is None or line.row["metric"] != headline.metric)[:4]


def describe_speed(run: ReportedRun, results: Results) -> Iterator[Detail]:
    """Yield the time and the cost of a run's answers, unless they are imported."""
    if run.imported:
        return
    timings = read_table(results.timings(run.scored.run), TIMINGS)
    timed = timings.filter(pl.col("seconds").is_not_null())
    if requests := int(timed["requests"].sum()):
        seconds = float(timed["seconds"].sum()) + float(timed["waiting"].sum())
        yield Detail("Time", f"{seconds:.1f} s for {requests} requests, {seconds / requests:.4f} s per request")
        parts = [
            f"{name} {timed[name].sum():.1f} s"
            for name in ("decode", "preprocess", "waiting", "encode")
            if timed[name].is_not_null().any()
        ]
        yield Detail("Of this", ", ".join(parts) or "not recorded")
    if timed.height < timings.height:
        yield Detail("Not timed", f"{timings.height - timed.height} of {timings.height} clips")
    tokens = [int(timings[name].sum()) for name in ("tokens_in", "tokens_out")]
    if any(tokens):
        yield Detail("Tokens", f"{tokens[0]} in prompts, {tokens[1]} in answers")
    if timings["usd"].is_not_null().any():
        caveat = " or more: the price of some answers is unknown" if timings["usd"].null_count() else ""
        yield Detail("Cost", f"{timings['usd'].sum():.4f} US dollars{caveat}")
    if served := sorted(set(timings["served"].explode().drop_nulls())):
        yield Detail("Served as", display_text(", ".join(served)))


def list_table_cells(tidy_rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the run and the table cell of each measured number in tidy rows, with the published value."""
    for row in tidy_rows:
        if row.get("run"):
            cell = {name: display_text(row[name]) for name in CELL_COLUMNS}
            yield (
                subject_name({"judge": "", **row}),
                drop_empty_values(cell | {"published": finite_or_none(row.get("published"))}),
            )


def build_provenance(
    lines: Sequence[MetricLine], cells: Sequence[dict[str, Any]], stages: Sequence[StageProvenance]
) -> dict[str, Any]:
    """Return the provenance of a run's numbers, for the item browser: numbers, table cells and stages."""
    numbers = [
        drop_empty_values(
            {"metric": line.row["metric"], "group": display_text(line.row["group"])}
            | {name: finite_or_none(line.row[name]) for name in ("value", "low", "high", "authors")}
            | {name: line.row[name] for name in COUNTS}
        )
        for line in lines
    ]
    stage_objects = [
        {
            "name": stage.name,
            "file": stage.files[0],
            "other_files": len(stage.files) - 1,
            "details": stage.details,
            "settings": [{"name": settings.name, "settings": settings.settings} for settings in stage.settings],
        }
        for stage in stages
    ]
    unique_cells = [cell for index, cell in enumerate(cells) if cell not in cells[:index]]
    return {"version": VERSION, "numbers": numbers, "cells": unique_cells, "stages": stage_objects}
