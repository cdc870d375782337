"""Build the overview: the main numbers of each benchmark side by side for the same models, and their costs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import polars as pl

from reprise.config.tables import Row
from reprise.core.notation import EN_DASH
from reprise.core.paths import OVERVIEW
from reprise.core.schemas import TIMINGS
from reprise.tables.builder import NumberLink, TableBuilder
from reprise.tables.keys import OverviewKey
from reprise.tables.published import PublishedTable
from reprise.tables.render import table as rendered

SPEED, GPU_HOURS, DOLLARS = "seconds a question", "GPU hours", "US dollars"  # headers of the costs
TEXT_NOTE = "answers in words are scored, because the model gives no likelihoods"


class OverviewBuilder:
    """Build the overview, and collect its tidy rows.

    A part of the overview has the columns of one benchmark. `published` maps a benchmark to its published values.
    `timings` maps the name of a run to its timings.
    """

    def __init__(
        self,
        key: OverviewKey,
        metrics: pl.DataFrame,
        published: Mapping[str, PublishedTable],
        problems: Mapping[str, Counter[str]],
        timings: Mapping[str, pl.DataFrame],
        link: NumberLink | None = None,
    ) -> None:
        self._key, self._timings = key, timings
        benchmark_filter = {part.benchmark: pl.col("run").str.starts_with(f"{part.benchmark}/") for part in key.parts}
        self._builders = [
            TableBuilder(
                part, metrics.filter(benchmark_filter[part.benchmark]), published[part.benchmark], problems, link
            )
            for part in key.parts
        ]
        # The overview has a column of dollars only if a vendor charged for a run.
        is_paid = any(not timing["usd"].is_null().all() for timing in timings.values() if timing.height)
        self._costs = (SPEED, GPU_HOURS, DOLLARS) if is_paid else (SPEED, GPU_HOURS)
        self._cost_rows: list[dict[str, Any]] = []

    @property
    def tidy_rows(self) -> list[dict[str, Any]]:
        """Return the rows of the csv. The table must be built before."""
        return [*chain.from_iterable(builder.tidy_rows for builder in self._builders), *self._cost_rows]

    def build(self) -> rendered.Table:
        """Return the overview: the tables of all benchmarks side by side, and the costs."""
        key, tables = self._key, {builder.key.benchmark_title: builder.build() for builder in self._builders}
        first, *_ = tables.values()
        table_rows = zip(*(table.rows() for table in tables.values()), strict=True)
        spec_rows = zip(*(builder.spec.rows() for builder in self._builders), strict=True)
        defaults = [(part.benchmark_title, key.default_conditions[part.benchmark]) for part in key.parts]
        conditions = "; ".join(f"{title} {default.protocol}, {default.sampling}" for title, default in defaults)
        return replace(
            first,
            title="Overview",
            origin="",
            caption=f"The main numbers of each benchmark, with {100 * key.confidence:g} % intervals. Protocol and "
            f"sampling, unless a footnote names others: {conditions}. Times cover the answers of a row.",
            label="tab:overview",
            groups=(
                *chain.from_iterable(table.groups for table in tables.values()),
                rendered.ColumnGroup(tuple(map(rendered.TableColumn, self._costs)), "Cost"),
            ),
            sections=(rendered.TableSection(tuple(map(self._row, table_rows, spec_rows))),),
            warnings=_join_notes((title, table.warnings) for title, table in tables.items()),
            notes=_join_notes((title, table.notes) for title, table in tables.items()),
            provenance=tuple(dict.fromkeys(line for table in tables.values() for line in table.provenance)),
            has_comparison=False,
            abbreviations={short: long for part in key.parts for short, long in part.abbreviations.items()},
        )

    def _row(self, table_rows: Sequence[rendered.TableRow], spec_rows: Sequence[Row]) -> rendered.TableRow:
        """Join the rows of one model in all parts, with a note on protocols and samplings other than the default."""
        notes, exceptions = [], list[str]()
        for builder, row, table_row in zip(self._builders, spec_rows, table_rows, strict=True):
            title, default = builder.key.benchmark_title, self._key.default_conditions[builder.key.benchmark]
            notes.append((title, table_row.notes))
            if row.model is not None and (row.protocol, row.sampling) != (default.protocol, default.sampling):
                has_text = row.protocol in self._key.protocols_without_scores.get(builder.key.benchmark, ())
                exceptions.append(f"{title} {row.protocol}, {row.sampling}{f' ({TEXT_NOTE})' if has_text else ''}")
        return rendered.TableRow(
            table_rows[0].label,
            (
                *chain.from_iterable(table_row.cells for table_row in table_rows),
                *self._cost_cells(table_rows[0].label, spec_rows),
            ),
            (*([f"Protocol and sampling: {'; '.join(exceptions)}."] if exceptions else ()), *_join_notes(notes)),
            is_reference=any(table_row.is_reference for table_row in table_rows),
        )

    def _cost_cells(self, label: str, spec_rows: Sequence[Row]) -> Iterator[rendered.Cell | rendered.TextCell]:
        """Yield the cells of a model's costs: the time of the requests with a known time, and the vendor's charges."""
        # The first column of each part names the run whose costs count.
        scored_runs = [
            builder.find_scored_run(row, builder.spec.columns[0])
            for builder, row in zip(self._builders, spec_rows, strict=True)
        ]
        runs = [scored.run for scored in scored_runs if scored]
        tables = [self._timings[run.name] for run in runs if run.name in self._timings]
        timings = pl.concat(tables) if tables else pl.DataFrame(schema=TIMINGS)
        timed = timings.filter(pl.col("seconds").is_not_null())
        requests, costs = int(timed["requests"].sum()), dict[str, float | None]()
        if timed.height:
            seconds = float(timed["seconds"].sum()) + float(timed["waiting"].sum())
            # With several GPUs, timings do not record how many of them a request used.
            has_gpu_hours = timed.height == timings.height and self._key.gpus[runs[0].model] == 1
            costs[SPEED], costs[GPU_HOURS] = seconds / requests, seconds / 3600 if has_gpu_hours else None
            costs[DOLLARS] = None if timings["usd"].null_count() else float(timings["usd"].sum())
        for name in self._costs:
            value = costs.get(name)
            if value is None:
                yield rendered.TextCell(EN_DASH)
                continue
            cell_columns = {"suite": self._key.suite, "table": OVERVIEW, "section": "", "row": label, "column": name}
            number_columns = {"metric": name.replace(" ", "_"), "group": "", "value": value, "requested": requests}
            self._cost_rows.append({**cell_columns, **number_columns, "source": "reproduced"})
            yield rendered.Cell((rendered.TableNumber(value, 2),))


def _join_notes(notes_by_title: Iterable[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    """Return each different note once, after the titles of the benchmarks that have it."""
    titles_by_note = dict[str, list[str]]()
    for title, notes in notes_by_title:
        for note in notes:
            titles_by_note.setdefault(note, []).append(title)
    return tuple(f"{', '.join(titles)}: {note}" for note, titles in titles_by_note.items())
