"""The overview: what each benchmark shows of the same models beside each other, and how long they took."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import polars as pl

from reprise.config.tables import Row
from reprise.core.paths import OVERVIEW
from reprise.tables.build import Builder, Link, no_link
from reprise.tables.keys import OverviewKey
from reprise.tables.published import Published
from reprise.tables.render import table as rendered
from reprise.tables.render.numbers import EN_DASH

SECONDS_AN_HOUR = 3600
SPEED, HOURS, DOLLARS = "seconds a question", "GPU hours", "US dollars"


class Spent(NamedTuple):
    """How long a model took over questions of which that is known."""

    questions: int
    seconds: float
    is_whole: bool
    """whether it is known of all questions"""
    usd: float | None = None
    """what a vendor took for the answers; None where nobody was paid, or the price is unknown"""

    @classmethod
    def of(cls, timings: Sequence[pl.DataFrame]) -> "Spent | None":
        """Over several runs; nothing where it is known of no question."""
        found = pl.concat(timings) if timings else pl.DataFrame()
        known = found.filter(pl.col("seconds").is_not_null()) if found.height else found
        if not known.height:
            return None
        seconds = float(known["seconds"].sum()) + float(known["waiting"].sum())
        usd = None if found["usd"].null_count() else float(found["usd"].sum())
        return cls(int(known["requests"].sum()), seconds, known.height == found.height, usd)


class OverviewBuilder:
    """Builds the overview, and collects its tidy rows."""

    def __init__(
        self,
        key: OverviewKey,
        metrics: pl.DataFrame,
        published: Mapping[str, Published],
        problems: Mapping[str, Counter[str]],
        timings: Mapping[str, pl.DataFrame],
        link: Link = no_link,
    ) -> None:
        """`published` is by benchmark, `timings` by the name of the run."""
        self._key, self._timings = key, timings
        self._parts = [
            Builder(
                part,
                metrics.filter(pl.col("run").str.starts_with(f"{part.benchmark}/")),
                published[part.benchmark],
                problems,
                link,
            )
            for part in key.parts
        ]
        self._times: list[dict[str, Any]] = []

    @property
    def tidy(self) -> list[dict[str, Any]]:
        """The rows of the csv, once the table is built."""
        return [*chain.from_iterable(part.tidy for part in self._parts), *self._times]

    def table(self) -> rendered.Table:
        """The table object."""
        tables = {part.key.benchmark_title: part.table() for part in self._parts}
        first, *_ = tables.values()
        costs = rendered.ColumnGroup(tuple(map(rendered.Column, self._costs)), "Cost")
        rows = [self._row(index, tables) for index, _ in enumerate(first.rows())]
        return replace(
            first,
            title="Overview",
            origin="",
            caption=self._caption(),
            label="tab:overview",
            groups=(*chain.from_iterable(one.groups for one in tables.values()), costs),
            sections=(rendered.Section(tuple(rows)),),
            warnings=tuple(chain.from_iterable(one.warnings for one in tables.values())),
            notes=tuple(f"{title}: {note}" for title, one in tables.items() for note in one.notes),
            provenance=tuple(dict.fromkeys(line for one in tables.values() for line in one.provenance)),
            comparison=False,
            abbreviations={short: long for part in self._key.parts for short, long in part.abbreviations.items()},
        )

    def _caption(self) -> str:
        """What the numbers are, and what the models are asked and shown."""
        asked = [
            f"{part.benchmark_title} {main.protocol}, {main.sampling}"
            for part in self._key.parts
            for main in [self._key.of_all[part.benchmark]]
        ]
        share = f"{100 * self._key.confidence:g} %"
        return (
            f"The main numbers of each benchmark, with {share} intervals. Protocol and frames, "
            f"where no footnote names others: {'; '.join(asked)}. Times are those of the answers behind a row."
        )

    def _row(self, index: int, tables: Mapping[str, rendered.Table]) -> rendered.TableRow:
        found = {title: list(table.rows())[index] for title, table in tables.items()}
        asked = [(part, self._rows[part.key.benchmark][index]) for part in self._parts]
        first, *_ = found.values()
        notes = [f"{title}: {note}" for title, row in found.items() for note in row.notes]
        return rendered.TableRow(
            first.label,
            (*chain.from_iterable(row.cells for row in found.values()), *self._time_cells(first.label, asked)),
            (*self._other_runs(asked), *notes),
            reference=any(row.reference for row in found.values()),
        )

    @cached_property
    def _rows(self) -> dict[str, list[Row]]:
        return {part.benchmark: part.spec.rows() for part in self._key.parts}

    @cached_property
    def _costs(self) -> tuple[str, ...]:
        """The columns of what it took; dollars where anybody was paid."""
        is_paid = any(not timings["usd"].is_null().all() for timings in self._timings.values() if timings.height)
        return (SPEED, HOURS, DOLLARS) if is_paid else (SPEED, HOURS)

    def _other_runs(self, asked: Sequence[tuple[Builder, Row]]) -> list[str]:
        """What a model is asked or shown that the others are not."""
        named = [
            f"{part.key.benchmark_title} {row.protocol}, {row.sampling}"
            for part, row in asked
            if row.model is not None
            and (main := self._key.of_all[part.key.benchmark])
            and (row.protocol, row.sampling) != (main.protocol, main.sampling)
        ]
        return [f"Asked and shown: {'; '.join(named)}."] if named else []

    def _time_cells(self, label: str, asked: Sequence[tuple[Builder, Row]]) -> Iterator[rendered.Cell | rendered.Text]:
        runs = [one.run for part, row in asked if (one := part.scored_of(row, part.spec.columns[0]))]
        spent = Spent.of([self._timings[run.name] for run in runs if run.name in self._timings])
        gpus = self._key.gpus[runs[0].model] if runs else 0
        # Of several GPUs it is not recorded how many a question took.
        hours = spent.seconds / SECONDS_AN_HOUR if spent and spent.is_whole and gpus == 1 else None
        speed = spent.seconds / spent.questions if spent else None
        values = {SPEED: speed, HOURS: hours, DOLLARS: spent.usd if spent else None}
        for name, value in ((name, values[name]) for name in self._costs):
            if value is None or spent is None:
                yield rendered.Text(EN_DASH)
                continue
            place = {"suite": self._key.suite, "table": OVERVIEW, "section": "", "row": label, "column": name}
            numbers = {"metric": name.replace(" ", "_"), "group": "", "value": value, "asked": spent.questions}
            self._times.append({**place, **numbers, "source": "reproduced"})
            yield rendered.Cell((rendered.Number(value, 2),))
