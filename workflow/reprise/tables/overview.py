"""The overview: what each benchmark shows of the same models beside each other, and how long they took."""

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
    """Builds the overview, and collects its tidy rows; `published` is by benchmark, `timings` by the run's name."""

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
        own = {part.benchmark: pl.col("run").str.starts_with(f"{part.benchmark}/") for part in key.parts}
        self._parts = [
            Builder(part, metrics.filter(own[part.benchmark]), published[part.benchmark], problems, link)
            for part in key.parts
        ]
        # Dollars where anybody was paid.
        is_paid = any(not found["usd"].is_null().all() for found in timings.values() if found.height)
        self._costs = (SPEED, HOURS, DOLLARS) if is_paid else (SPEED, HOURS)
        self._times: list[dict[str, Any]] = []

    @property
    def tidy(self) -> list[dict[str, Any]]:
        """The rows of the csv, once the table is built."""
        return [*chain.from_iterable(part.tidy for part in self._parts), *self._times]

    def table(self) -> rendered.Table:
        key, tables = self._key, {part.key.benchmark_title: part.table() for part in self._parts}
        first, *_ = tables.values()
        shown = zip(*(table.rows() for table in tables.values()), strict=True)
        asked = zip(*(part.spec.rows() for part in self._parts), strict=True)
        asks = [(part.benchmark_title, key.of_all[part.benchmark]) for part in key.parts]
        said = "; ".join(f"{title} {main.protocol}, {main.sampling}" for title, main in asks)
        return replace(
            first,
            title="Overview",
            origin="",
            caption=f"The main numbers of each benchmark, with {100 * key.confidence:g} % intervals. Protocol "
            f"and frames, where no footnote names others: {said}. Times are those of the answers behind a row.",
            label="tab:overview",
            groups=(
                *chain.from_iterable(one.groups for one in tables.values()),
                rendered.ColumnGroup(tuple(map(rendered.Column, self._costs)), "Cost"),
            ),
            sections=(rendered.Section(tuple(map(self._row, shown, asked))),),
            warnings=tuple(chain.from_iterable(one.warnings for one in tables.values())),
            notes=tuple(f"{title}: {note}" for title, one in tables.items() for note in one.notes),
            provenance=tuple(dict.fromkeys(line for one in tables.values() for line in one.provenance)),
            comparison=False,
            abbreviations={short: long for part in key.parts for short, long in part.abbreviations.items()},
        )

    def _row(self, shown: Sequence[rendered.TableRow], asked: Sequence[Row]) -> rendered.TableRow:
        """The rows of all parts beside each other, and what a model is asked or shown that the others are not."""
        notes, others = [], []
        for part, row, of_part in zip(self._parts, asked, shown, strict=True):
            title, main = part.key.benchmark_title, self._key.of_all[part.key.benchmark]
            notes += [f"{title}: {note}" for note in of_part.notes]
            if row.model is not None and (row.protocol, row.sampling) != (main.protocol, main.sampling):
                others.append(f"{title} {row.protocol}, {row.sampling}")
        return rendered.TableRow(
            shown[0].label,
            (*chain.from_iterable(row.cells for row in shown), *self._time_cells(shown[0].label, asked)),
            (*([f"Asked and shown: {'; '.join(others)}."] if others else ()), *notes),
            reference=any(row.reference for row in shown),
        )

    def _time_cells(self, label: str, asked: Sequence[Row]) -> Iterator[rendered.Cell | rendered.Text]:
        """How long a model took over the questions of which that is known, and what a vendor took for the answers."""
        scored = [part.scored_of(row, part.spec.columns[0]) for part, row in zip(self._parts, asked, strict=True)]
        runs = [one.run for one in scored if one]
        parts = [self._timings[run.name] for run in runs if run.name in self._timings]
        found = pl.concat(parts) if parts else pl.DataFrame(schema=TIMINGS)
        known = found.filter(pl.col("seconds").is_not_null())
        questions, values = int(known["requests"].sum()), dict[str, float | None]()
        if known.height:
            seconds = float(known["seconds"].sum()) + float(known["waiting"].sum())
            # Of several GPUs it is not recorded how many a question took.
            is_known = known.height == found.height and self._key.gpus[runs[0].model] == 1
            values[SPEED], values[HOURS] = seconds / questions, seconds / 3600 if is_known else None
            values[DOLLARS] = None if found["usd"].null_count() else float(found["usd"].sum())
        for name in self._costs:
            value = values.get(name)
            if value is None:
                yield rendered.Text(rendered.EN_DASH)
                continue
            place = {"suite": self._key.suite, "table": OVERVIEW, "section": "", "row": label, "column": name}
            numbers = {"metric": name.replace(" ", "_"), "group": "", "value": value, "asked": questions}
            self._times.append({**place, **numbers, "source": "reproduced"})
            yield rendered.Cell((rendered.Number(value, 2),))
