"""The overview: each benchmark's main numbers of the same models side by side, and the time they took."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import polars as pl

from reprise.config.tables import Row
from reprise.core.paths import OVERVIEW
from reprise.core.schemas import TIMINGS
from reprise.tables.build import Builder, Link
from reprise.tables.keys import OverviewKey
from reprise.tables.published import Published
from reprise.tables.render import table as rendered

SPEED, HOURS, DOLLARS = "seconds a question", "GPU hours", "US dollars"


class OverviewBuilder:
    """Builds the overview and collects its tidy rows.

    `published` is by benchmark, `timings` by the name of a run.
    """

    def __init__(
        self,
        key: OverviewKey,
        metrics: pl.DataFrame,
        published: Mapping[str, Published],
        problems: Mapping[str, Counter[str]],
        timings: Mapping[str, pl.DataFrame],
        link: Link | None = None,
    ) -> None:
        self._key, self._timings = key, timings
        is_of_benchmark = {part.benchmark: pl.col("run").str.starts_with(f"{part.benchmark}/") for part in key.parts}
        self._parts = [
            Builder(part, metrics.filter(is_of_benchmark[part.benchmark]), published[part.benchmark], problems, link)
            for part in key.parts
        ]
        # The overview has a column of dollars only if a vendor charged for a run.
        is_paid = any(not timing["usd"].is_null().all() for timing in timings.values() if timing.height)
        self._costs = (SPEED, HOURS, DOLLARS) if is_paid else (SPEED, HOURS)
        self._times: list[dict[str, Any]] = []

    @property
    def tidy(self) -> list[dict[str, Any]]:
        """Return the rows of the csv, once the table is built."""
        return [*chain.from_iterable(part.tidy for part in self._parts), *self._times]

    def table(self) -> rendered.Table:
        key, tables = self._key, {part.key.benchmark_title: part.table() for part in self._parts}
        first, *_ = tables.values()
        table_rows = zip(*(table.rows() for table in tables.values()), strict=True)
        spec_rows = zip(*(part.spec.rows() for part in self._parts), strict=True)
        mains = [(part.benchmark_title, key.of_all[part.benchmark]) for part in key.parts]
        conditions = "; ".join(f"{title} {main.protocol}, {main.sampling}" for title, main in mains)
        return replace(
            first,
            title="Overview",
            origin="",
            caption=f"The main numbers of each benchmark, with {100 * key.confidence:g} % intervals. Protocol "
            f"and frames, where no footnote names others: {conditions}. Times are those of the answers behind a row.",
            label="tab:overview",
            groups=(
                *chain.from_iterable(table.groups for table in tables.values()),
                rendered.ColumnGroup(tuple(map(rendered.Column, self._costs)), "Cost"),
            ),
            sections=(rendered.Section(tuple(map(self._row, table_rows, spec_rows))),),
            warnings=tuple(chain.from_iterable(table.warnings for table in tables.values())),
            notes=tuple(f"{title}: {note}" for title, table in tables.items() for note in table.notes),
            provenance=tuple(dict.fromkeys(line for table in tables.values() for line in table.provenance)),
            comparison=False,
            abbreviations={short: long for part in key.parts for short, long in part.abbreviations.items()},
        )

    def _row(self, table_rows: Sequence[rendered.TableRow], spec_rows: Sequence[Row]) -> rendered.TableRow:
        """Return the rows of all parts side by side, and the conditions in which a model differs from the others."""
        notes, exceptions = [], []
        for part, row, table_row in zip(self._parts, spec_rows, table_rows, strict=True):
            title, main = part.key.benchmark_title, self._key.of_all[part.key.benchmark]
            notes += [f"{title}: {note}" for note in table_row.notes]
            if row.model is not None and (row.protocol, row.sampling) != (main.protocol, main.sampling):
                exceptions.append(f"{title} {row.protocol}, {row.sampling}")
        return rendered.TableRow(
            table_rows[0].label,
            (*chain.from_iterable(row.cells for row in table_rows), *self._time_cells(table_rows[0].label, spec_rows)),
            (*([f"Asked and shown: {'; '.join(exceptions)}."] if exceptions else ()), *notes),
            reference=any(row.reference for row in table_rows),
        )

    def _time_cells(self, label: str, spec_rows: Sequence[Row]) -> Iterator[rendered.Cell | rendered.Text]:
        """Yield the time that a model took, over the questions with a known time, and what a vendor charged."""
        scored = [part.scored_of(row, part.spec.columns[0]) for part, row in zip(self._parts, spec_rows, strict=True)]
        runs = [entry.run for entry in scored if entry]
        tables = [self._timings[run.name] for run in runs if run.name in self._timings]
        timings = pl.concat(tables) if tables else pl.DataFrame(schema=TIMINGS)
        timed = timings.filter(pl.col("seconds").is_not_null())
        questions, costs = int(timed["requests"].sum()), dict[str, float | None]()
        if timed.height:
            seconds = float(timed["seconds"].sum()) + float(timed["waiting"].sum())
            # With several GPUs, timings do not record how many of them a question used.
            has_gpu_hours = timed.height == timings.height and self._key.gpus[runs[0].model] == 1
            costs[SPEED], costs[HOURS] = seconds / questions, seconds / 3600 if has_gpu_hours else None
            costs[DOLLARS] = None if timings["usd"].null_count() else float(timings["usd"].sum())
        for name in self._costs:
            value = costs.get(name)
            if value is None:
                yield rendered.Text(rendered.EN_DASH)
                continue
            cell_columns = {"suite": self._key.suite, "table": OVERVIEW, "section": "", "row": label, "column": name}
            number_columns = {"metric": name.replace(" ", "_"), "group": "", "value": value, "asked": questions}
            self._times.append({**cell_columns, **number_columns, "source": "reproduced"})
            yield rendered.Cell((rendered.Number(value, 2),))
