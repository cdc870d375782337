"""Every table of a suite with a number in each cell that a run can fill: the widest and fullest tables there can be."""

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
from reprise.tables.keys import TableKey
from reprise.tables.published import PublishedTable, published_path
from reprise.tables.render.table import Table

ALL_WELL = {"requested": 1500, "scored": 1500, "failed": 0, "unparsed": 0, "missing": 0}
FIXED, AUTHORS = {"convention": "fixed", "extractor": "robust"}, {"convention": "authors", "extractor": "authors"}
LOW = {"mean", "mae", "original_score"}  # ratings from 0 to 3; everything else is a share or a count


@cache
def keys_of(suite: str) -> list[Settings]:
    return list(all_settings(Plan(load(Path(), {"suite": suite}))).values())


@cache
def full_tables(suite: str) -> dict[str, Table]:
    """Benchmark and table -> a table that shows numbers, published values, differences, marks and notes."""
    tables = (key for key in keys_of(suite) if isinstance(key, TableKey))
    return {f"{key.benchmark}/{key.table}": filled(key).build() for key in tables}


def filled(key: TableKey) -> TableBuilder:
    """A table from numbers that no run made."""
    key = key.model_copy(update={"missing_share_max": 1.0})
    published = PublishedTable(published_path(key.benchmark) if key.show_published else None, key.table)
    empty = TableBuilder(key, pl.DataFrame(schema=METRICS), published)
    found = {(row["run"], row["judge"], row["metric"], row["group"], row["extractor"]): row for row in numbers(empty)}
    return TableBuilder(key, pl.DataFrame(list(found.values()), schema=METRICS), published)


def numbers(empty: TableBuilder) -> Iterator[dict[str, Any]]:
    """Numbers for each cell of a table, by both conventions, and how often its extractors differ."""
    draw = random.Random(f"{empty.key.benchmark} {empty.key.table}")
    for row in empty.spec.rows():
        for column in empty.spec.columns:
            source = empty.find_source(row, column)
            if source is not None:
                named = next(iter((*row.judges, *empty.key.judge_order)), "no judge")
                run, _, _ = source.partition(f"/{named}")
                judge = named if run != source else None
                for number in cell_numbers(empty, row, column, draw):
                    yield number | {"run": run, "judge": judge, "key": "f" * 64}


def cell_numbers(empty: TableBuilder, row: Row, column: Column, draw: random.Random) -> Iterator[dict[str, Any]]:
    group = row.group or column.group or ""
    metrics = [column.ratio.metric] if column.ratio else empty.spec.list_metrics(column)
    counts = ALL_WELL if row.dataset else ALL_WELL | {"failed": 4, "unparsed": 3, "missing": 2 * (draw.random() < 0.2)}
    for metric in metrics:
        top = 3 if metric in LOW else 9999 if column.decimals == 0 else 99.99
        shown = {"metric": metric, "group": group, "p_chance": 0.001, "low": 0.0, "high": float(top)} | counts
        yield shown | FIXED | {"value": draw.uniform(top / 10, top)}
        if not row.dataset:
            yield shown | AUTHORS | {"value": draw.uniform(top / 10, top)}
    if not row.dataset:
        yield ALL_WELL | FIXED | {"metric": EXTRACTORS_DIFFER, "group": "answers", "value": 12.0}
