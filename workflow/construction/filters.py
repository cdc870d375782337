"""Rows of a construction's tables: named filters, which keep what they drop with the reason, and seeded draws."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import polars as pl
from human_evaluation.draws import shuffled
from reprise.benchmarks.rows import grouped

KEPT = {"filter": "", "why": ""}
Row = dict[str, Any]
Tables = Mapping[str, pl.DataFrame]
Rows = dict[str, list[Row]]  # the rows of tables, by the tables' names
Found = Callable[[Mapping[str, Any]], str]  # what is wrong with a row; nothing if it is kept


def sifted(rows: Iterable[Row], filters: Mapping[str, Found]) -> list[Row]:
    """The rows, each with the first filter that drops it and why; one that was dropped before stays so."""

    def dropped(row: Row) -> Row:
        return next(({"filter": name, "why": why} for name, finds in filters.items() if (why := finds(row))), KEPT)

    return [row if row.get("filter") else row | dropped(row) for row in rows]


def repeated(name: Callable[[Mapping[str, Any]], Hashable], why: str) -> Found:
    seen: set[Hashable] = set()

    def found(row: Mapping[str, Any]) -> str:
        before = len(seen)
        seen.add(name(row))
        return why if len(seen) == before else ""

    return found


def beyond_draw(rows: Iterable[Row], group: Sequence[str], name: str, most: int | None, seed: int, of: str) -> Found:
    """Finds what a seeded draw leaves of each group of the rows that are kept so far; nothing without a number."""
    groups = grouped((row for row in rows if not row["filter"]), itemgetter(*group))
    drawn = {one for own in groups.values() for one in shuffled((row[name] for row in own), seed)[:most]}
    return lambda row: "" if row[name] in drawn else f"more than {most} {of}"


def kept(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("filter") == "")


def filter_counts(tables: Mapping[str, pl.DataFrame], steps: Mapping[str, Sequence[str]]) -> list[Row]:
    """What entered and what left each filter of each step, in the order in which they are applied."""
    rows = []
    for step in filter(tables.__contains__, steps):
        table = tables[step]
        if step == "reviewed":  # it keeps the rows that were dropped before
            table = table.join(kept(tables["samples"]), on="sample_id", how="semi")
        dropped, left = dict(table.group_by("filter").len().iter_rows()), table.height
        for name in steps[step]:
            entered, left = left, left - dropped.get(name, 0)
            rows.append({"step": step, "filter": name, "entered": entered, "dropped": entered - left, "left": left})
    return rows


def beside(what: str, group: str, paper: float | None, ours: float | None, note: str = "") -> Row:
    return {"what": what, "group": group, "paper": paper, "ours": ours, "note": note}
