"""Named filters: what is dropped stays in its table, with the filter's name and what it found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

KEPT = {"filter": "", "why": ""}
Row = dict[str, Any]


class Filter(NamedTuple):
    """A reason to drop a row."""

    name: str
    found: Callable[[Mapping[str, Any]], str]
    """what is wrong with a row; nothing if it is kept"""


def sifted(rows: Iterable[Row], filters: Sequence[Filter]) -> list[Row]:
    """The rows, each with the first filter that drops it; one that was dropped before stays so."""
    return [row if row.get("filter") else {**row, **_verdict(row, filters)} for row in rows]


def _verdict(row: Row, filters: Sequence[Filter]) -> dict[str, str]:
    for name, found in filters:
        why = found(row)
        if why:
            return {"filter": name, "why": why}
    return KEPT


def kept(table: pl.DataFrame) -> pl.DataFrame:
    """The rows that no filter dropped."""
    return table.filter(pl.col("filter") == "")


def counts(step: str, table: pl.DataFrame, names: Sequence[str]) -> list[Row]:
    """What entered and what left each filter of a step, in the order in which they are applied."""
    dropped = dict(table.group_by("filter").len().iter_rows())
    left = table.height
    rows = []
    for name in names:
        entered, left = left, left - dropped.get(name, 0)
        rows.append({"step": step, "filter": name, "entered": entered, "dropped": entered - left, "left": left})
    return rows


def beside(what: str, group: str, paper: float | None, ours: float | None, note: str = "") -> Row:
    """A number of ours beside the paper's."""
    return {"what": what, "group": group, "paper": paper, "ours": ours, "note": note}
