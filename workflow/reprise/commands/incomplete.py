"""Cells of finished tables that show no number: neither measured, nor of the data, nor chance, nor published."""

import csv
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from reprise.commands.plans import plan_of
from reprise.config.tables import TableSpec
from reprise.core.checksums import sealed_text
from reprise.core.errors import UserError, unknown
from reprise.core.paths import TABLES
from reprise.core.plain import of_cell
from reprise.plan.runs import Plan
from reprise.tables.build import SHOWN, column_name


class Gap(NamedTuple):
    """A cell, or a part of one, without a number."""

    table: str
    section: str
    row: str
    column: str
    metric: str
    group: str


def incomplete_cells(plan: Plan, folder: Path, names: Collection[str] = ()) -> list[Gap]:
    """The gaps of a suite's tables, all or those named, in the order in which they are printed."""
    tables = {f"{benchmark}/{number}": spec for benchmark, number, spec in plan.tables()}
    for name in names:
        if name not in tables:
            raise unknown("table", name, tables, "incomplete")
    return [
        gap
        for name, spec in tables.items()
        if not names or name in names
        for gap in _gaps(name, spec, _shown(folder / f"{name}.csv", plan.config.name))
    ]


def _gaps(table: str, spec: TableSpec, shown: Counter[Gap]) -> Iterator[Gap]:
    """Rows of one section may share their label (as for two numbers of frames): each needs a number of its own."""
    for section in spec.sections:
        for row in section.resolved():
            for column in spec.columns:
                for metric in spec.metrics_of(column):
                    group = row.group or column.group or ""
                    cell = Gap(table, section.title or "", row.label, column_name(column), metric, group)
                    if shown[cell] == 0:
                        yield cell
                    shown[cell] -= shown[cell] > 0


def _shown(path: Path, suite: str) -> Counter[Gap]:
    """The numbers that a table shows, one a cell; a comparison with a published number is no cell."""
    try:
        with sealed_text(path).open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such table yet. Run snakemake with `--config suite={suite}` first.") from error
    others = sorted({row["suite"] for row in rows} - {suite})
    if others:
        raise UserError(
            f"{path}: of suite '{others[0]}', not of '{suite}'. Run snakemake with `--config suite={suite}` first."
        )
    return Counter(
        Gap(*(of_cell(row[name] or "") for name in Gap._fields))
        for row in rows
        if row["value"] and row["convention"] in ("", SHOWN[0])
    )


def list_incomplete(names: Collection[str], suite: str | None) -> None:
    """Print the gaps of a suite's tables, a line a row."""
    plan = plan_of(suite)
    gaps = incomplete_cells(plan, TABLES, names)
    rows: dict[tuple[str, str, str], list[str]] = {}
    for gap in gaps:
        rows.setdefault((gap.table, gap.section, gap.row), []).append(f"{gap.column} ({gap.metric})")
    for (table, section, row), cells in rows.items():
        print(f"{table}: {section}{': ' if section else ''}{row}: {', '.join(cells)}")
    print(f"{len(gaps)} numbers are missing in {len({gap.table for gap in gaps})} tables")
