"""Where a run's numbers come from, as the item browser shows it: the numbers, cells of tables, the chain."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reprise import __version__
from reprise.report.chain import Fact, Made
from reprise.report.run_page import Line
from reprise.report.scripts import finite, shown, without_empty
from reprise.tables.limits import subject

PLACE = ("table", "row", "column", "metric", "group")
COUNTS = ("asked", "scored", "failed", "unparsed", "missing")


class CellOf(NamedTuple):
    """A number that a table shows of a run."""

    table: str
    row: str
    column: str
    metric: str
    group: str
    published: float | None
    """the paper's own number of the cell"""


def cells_of(tidy: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, CellOf]]:
    """Run and cell of each number that a table shows of a run, from the table's tidy rows."""
    for row in tidy:
        if row.get("run"):
            table, label, column, metric, group = (shown(row[name]) for name in PLACE)
            paper = finite(row.get("published"))
            yield subject({"judge": "", **row}), CellOf(table, label, column, metric, group, paper)


def of_run(lines: Sequence[Line], cells: Iterable[CellOf], chain: Sequence[Made]) -> dict[str, Any]:
    """What the item browser shows."""
    return {
        "version": __version__,
        "numbers": [_number(line) for line in lines],
        "cells": [without_empty(cell._asdict()) for cell in dict.fromkeys(cells)],
        "chain": [_step(made) for made in chain],
    }


def _number(line: Line) -> dict[str, Any]:
    row = line.row
    known = {"metric": row["metric"], "group": shown(row["group"])}
    numbers = {"value": row["value"], "low": row["low"], "high": row["high"], "authors": line.authors}
    counts = {name: row[name] for name in COUNTS}
    return without_empty(known | {name: finite(value) for name, value in numbers.items()} | counts)


def _step(made: Made) -> dict[str, Any]:
    keys = [{"path": key.path, "changed": key.changed, "settings": _pairs(key.settings)} for key in made.keys]
    step = {"name": made.name, "file": made.files[0], "more": len(made.files) - 1, "gone": made.gone}
    return step | {"facts": _pairs(made.facts), "keys": keys}


def _pairs(facts: Iterable[Fact]) -> list[list[str]]:
    return [[fact.name, fact.text] for fact in facts]
