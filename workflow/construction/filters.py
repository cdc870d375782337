"""Filters and seeded samples of a construction's rows: a filter marks the rows it drops with its name and reason."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import polars as pl
from human_evaluation.draws import shuffled
from reprise.benchmarks.annotations import group_by_key

KEPT = {"filter": "", "why": ""}
Row = dict[str, Any]
Tables = Mapping[str, pl.DataFrame]
Rows = dict[str, list[Row]]  # table name -> rows
RowFilter = Callable[[Mapping[str, Any]], str]  # returns why a row is dropped, or an empty text for a kept row


def apply_filters(rows: Iterable[Row], filters: Mapping[str, RowFilter]) -> list[Row]:
    """Return the rows with the first filter that drops each and the reason; rows dropped earlier stay dropped."""

    def verdict(row: Row) -> Row:
        return next(
            ({"filter": name, "why": why} for name, row_filter in filters.items() if (why := row_filter(row))), KEPT
        )

    return [row if row.get("filter") else row | verdict(row) for row in rows]


def drop_repeated(name: Callable[[Mapping[str, Any]], Hashable], why: str) -> RowFilter:
    """Return a filter of rows whose name equals that of an earlier row."""
    seen: set[Hashable] = set()

    def reason(row: Mapping[str, Any]) -> str:
        count = len(seen)
        seen.add(name(row))
        return why if len(seen) == count else ""

    return reason


def drop_outside_sample(
    rows: Iterable[Row], group: Sequence[str], name: str, limit: int | None, seed: int, scope: str
) -> RowFilter:
    """Return a filter of the rows outside a seeded sample of each group of kept rows; without `most` it drops none."""
    groups = group_by_key((row for row in rows if not row["filter"]), itemgetter(*group))
    sampled = {
        key for group_rows in groups.values() for key in shuffled((row[name] for row in group_rows), seed)[:limit]
    }
    return lambda row: "" if row[name] in sampled else f"more than {limit} {scope}"


def kept_rows(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("filter") == "")


def filter_counts(tables: Mapping[str, pl.DataFrame], steps: Mapping[str, Sequence[str]]) -> list[Row]:
    """Count the rows before and after each filter of each step, in the order of application."""
    rows = []
    for step in filter(tables.__contains__, steps):
        table = tables[step]
        if step == "reviewed":  # This table also holds rows that earlier steps dropped.
            table = table.join(kept_rows(tables["samples"]), on="sample_id", how="semi")
        drop_counts, remaining = dict(table.group_by("filter").len().iter_rows()), table.height
        for name in steps[step]:
            entered, remaining = remaining, remaining - drop_counts.get(name, 0)
            rows.append(
                {"step": step, "filter": name, "entered": entered, "dropped": entered - remaining, "left": remaining}
            )
    return rows


def statistic_row(statistic: str, group: str, paper: float | None, reproduced: float | None, note: str = "") -> Row:
    return {"statistic": statistic, "group": group, "paper": paper, "reproduced": reproduced, "note": note}
