"""Filters and seeded samples of rows. A filter marks the rows that it drops with its name and a reason."""

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
    """Mark each row with the first filter that drops it and the reason; rows dropped earlier stay unchanged."""

    def verdict(row: Row) -> Row:
        return next(
            ({"filter": name, "why": why} for name, row_filter in filters.items() if (why := row_filter(row))), KEPT
        )

    return [row if row.get("filter") else row | verdict(row) for row in rows]


def drop_repeated(identity: Callable[[Mapping[str, Any]], Hashable], why: str) -> RowFilter:
    """Return a filter that drops rows with the same identity as an earlier row."""
    seen: set[Hashable] = set()

    def reason(row: Mapping[str, Any]) -> str:
        count = len(seen)
        seen.add(identity(row))
        return why if len(seen) == count else ""

    return reason


def drop_outside_sample(
    rows: Iterable[Row], group_columns: Sequence[str], id_column: str, limit: int | None, seed: int, description: str
) -> RowFilter:
    """Return a filter that keeps a seeded sample of each group, of at most `limit` rows; None keeps all rows."""
    groups = group_by_key((row for row in rows if not row["filter"]), itemgetter(*group_columns))
    sampled = {
        row_id
        for group_rows in groups.values()
        for row_id in shuffled((row[id_column] for row in group_rows), seed)[:limit]
    }
    return lambda row: "" if row[id_column] in sampled else f"more than {limit} {description}"


def kept_rows(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("filter") == "")


def filter_counts(tables: Mapping[str, pl.DataFrame], filters_by_step: Mapping[str, Sequence[str]]) -> list[Row]:
    """Count the rows before and after each filter of each step, in the order of application."""
    rows = []
    for step in filter(tables.__contains__, filters_by_step):
        table = tables[step]
        if step == "reviewed":  # This table also holds rows that earlier steps dropped.
            table = table.join(kept_rows(tables["samples"]), on="sample_id", how="semi")
        drop_counts, remaining = dict(table.group_by("filter").len().iter_rows()), table.height
        for name in filters_by_step[step]:
            entered, remaining = remaining, remaining - drop_counts.get(name, 0)
            rows.append(
                {"step": step, "filter": name, "entered": entered, "dropped": entered - remaining, "left": remaining}
            )
    return rows


def statistic_row(statistic: str, group: str, paper: float | None, reproduced: float | None, note: str = "") -> Row:
    return {"statistic": statistic, "group": group, "paper": paper, "reproduced": reproduced, "note": note}
