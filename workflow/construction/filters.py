"""Filters and seeded samples of rows. A filter marks the rows that it drops with its name and a reason."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import polars as pl
from human_evaluation.draws import shuffled
from reprise.benchmarks.annotations import group_by_key

KEPT = {"filter": "", "why": ""}  # the filter columns of a row that no filter drops
Row = dict[str, Any]
Tables = Mapping[str, pl.DataFrame]  # table name -> table
Rows = dict[str, list[Row]]  # table name -> rows
RowFilter = Callable[[Mapping[str, Any]], str]  # returns why a row is dropped, or an empty text for a kept row


def apply_filters(rows: Iterable[Row], filters: Mapping[str, RowFilter]) -> list[Row]:
    """Mark each row with the first filter that drops it and the reason; rows dropped earlier stay unchanged."""

    def filter_columns(row: Row) -> Row:
        for name, row_filter in filters.items():
            if why := row_filter(row):
                return {"filter": name, "why": why}
        return KEPT

    return [row if row.get("filter") else row | filter_columns(row) for row in rows]


def drop_repeated(identity: Callable[[Mapping[str, Any]], Hashable], why: str) -> RowFilter:
    """Return a filter that drops rows with the same identity as an earlier row.

    The filter remembers the rows that it was called with: call it once per row, in order.
    """
    seen: set[Hashable] = set()

    def reason(row: Mapping[str, Any]) -> str:
        row_identity = identity(row)
        if row_identity in seen:
            return why
        seen.add(row_identity)
        return ""

    return reason


def drop_outside_sample(
    rows: Iterable[Row], group_columns: Sequence[str], id_column: str, limit: int | None, seed: int, description: str
) -> RowFilter:
    """Return a filter that keeps a seeded sample of each group, of at most `limit` rows; None keeps all rows.

    The `description` of the rows of a group ends the reason, such as `more than 3 clips of this data set`.
    """
    groups = group_by_key((row for row in rows if not row["filter"]), itemgetter(*group_columns))
    sampled_ids: set[str] = set()
    for group_rows in groups.values():
        sampled_ids |= set(shuffled((row[id_column] for row in group_rows), seed)[:limit])
    return lambda row: "" if row[id_column] in sampled_ids else f"more than {limit} {description}"


def kept_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that no filter has dropped."""
    return table.filter(pl.col("filter") == "")


def filter_counts(tables: Mapping[str, pl.DataFrame], filters_by_step: Mapping[str, Sequence[str]]) -> list[Row]:
    """Count the rows before and after each filter of each step, in the order of application."""
    rows = []
    for step, filter_names in filters_by_step.items():
        if step not in tables:
            continue
        table = tables[step]
        if step == "reviewed":  # This table also holds the samples that were dropped before the review.
            table = table.join(kept_rows(tables["samples"]), on="sample_id", how="semi")
        drop_counts = dict(table.group_by("filter").len().iter_rows())
        entered = table.height
        for name in filter_names:
            dropped = drop_counts.get(name, 0)
            left = entered - dropped
            rows.append({"step": step, "filter": name, "entered": entered, "dropped": dropped, "left": left})
            entered = left
    return rows


def statistic_row(statistic: str, group: str, paper: float | None, reproduced: float | None, note: str = "") -> Row:
    """Return a row with the paper's value of a statistic and the value of this construction; None if unknown."""
    return {"statistic": statistic, "group": group, "paper": paper, "reproduced": reproduced, "note": note}
