"""Build every table of a suite with a number in each cell that a run can fill: the widest possible tables."""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from reprise.config.load import load
from reprise.config.tables import Column, Row
from reprise.core.schemas import EXTRACTORS_DIFFER, METRICS
from reprise.core.settings import Settings
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings
from reprise.tables.builder import TableBuilder
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import PublishedTable, published_path
from reprise.tables.render.table import Table

COMPLETE_COUNTS = {"requested": 1500, "scored": 1500, "failed": 0, "unparsed": 0, "missing": 0}
FIXED, AUTHORS = {"convention": "fixed", "extractor": "robust"}, {"convention": "authors", "extractor": "authors"}
RATING_METRICS = {"mean", "mae", "original_score"}  # ratings from 0 to 3; all other metrics are shares or counts


@cache
def list_settings(suite: str) -> list[Settings]:
    return list(all_settings(Plan(load(Path(), {"suite": suite}))).values())


@cache
def full_tables(suite: str) -> dict[str, Table]:
    """Return tables with numbers, published values, differences, marks and notes, by benchmark and table."""
    tables = (key for key in list_settings(suite) if isinstance(key, TableKey))
    return {f"{key.benchmark}/{key.table}": fill_table(key).build() for key in tables}


def full_overviews(suite: str) -> dict[str, Table]:
    """Return the overview with numbers, intervals and notes, if the suite has one."""
    keys = [key for key in list_settings(suite) if isinstance(key, OverviewKey)]
    return {"overview": fill_overview(keys[0])} if keys else {}


def fill_overview(key: OverviewKey) -> Table:
    """Return an overview with random numbers."""
    builders = [fill_table(part) for part in key.parts]
    key = key.model_copy(update={"parts": tuple(builder.key for builder in builders)})
    metrics = pl.concat([builder.metrics for builder in builders])
    published = {builder.key.benchmark: builder.published for builder in builders}
    return OverviewBuilder(key, metrics, published, {}, {}).build()


def fill_table(key: TableKey) -> TableBuilder:
    """Return the builder of a table with random numbers."""
    key = key.model_copy(update={"missing_share_max": 1.0})
    published = PublishedTable(published_path(key.benchmark) if key.show_published else None, key.table)
    empty_table = TableBuilder(key, pl.DataFrame(schema=METRICS), published)
    row_by_cell = {
        (row["run"], row["judge"], row["metric"], row["group"], row["extractor"]): row
        for row in draw_numbers(empty_table)
    }
    return TableBuilder(key, pl.DataFrame(list(row_by_cell.values()), schema=METRICS), published)


def draw_numbers(empty_table: TableBuilder) -> Iterator[dict[str, Any]]:
    """Yield numbers for each cell of a table, by both conventions, and the number of answers on which extractors differ."""
    random_generator = random.Random(f"{empty_table.key.benchmark} {empty_table.key.table}")
    for row in empty_table.spec.rows():
        for column in empty_table.spec.columns:
            source = empty_table.find_subject(row, column)
            if source is not None:
                judge_name = next(iter((*row.judges, *empty_table.key.judge_order)), "no judge")
                run, _, _ = source.partition(f"/{judge_name}")
                judge = judge_name if run != source else None
                for number in draw_cell_numbers(empty_table, row, column, random_generator):
                    yield number | {"run": run, "judge": judge, "key": "f" * 64}


def draw_cell_numbers(
    empty_table: TableBuilder, row: Row, column: Column, random_generator: random.Random
) -> Iterator[dict[str, Any]]:
    group = row.group or column.group or ""
    metrics = [column.ratio.metric] if column.ratio else empty_table.spec.list_metrics(column)
    counts = (
        COMPLETE_COUNTS
        if row.dataset
        else COMPLETE_COUNTS | {"failed": 4, "unparsed": 3, "missing": 2 * (random_generator.random() < 0.2)}
    )
    for metric in metrics:
        max_value = 3 if metric in RATING_METRICS else 9999 if column.decimals == 0 else 99.99
        common_columns = {
            "metric": metric,
            "group": group,
            "p_chance": 0.001,
            "low": 0.0,
            "high": float(max_value),
        } | counts
        yield common_columns | FIXED | {"value": random_generator.uniform(max_value / 10, max_value)}
        if not row.dataset:
            yield common_columns | AUTHORS | {"value": random_generator.uniform(max_value / 10, max_value)}
    if not row.dataset:
        yield COMPLETE_COUNTS | FIXED | {"metric": EXTRACTORS_DIFFER, "group": "answers", "value": 12.0}
