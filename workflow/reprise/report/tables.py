"""The suite's tables as the report shows them: the same numbers, each with a link to the items behind it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.core.keyfile import read_key
from reprise.core.paths import OVERVIEW, Results
from reprise.core.schemas import METRICS, TIMINGS, read_table
from reprise.report.inputs import problem_files
from reprise.report.keys import ReportedRun, ReportedTable, ReportKey
from reprise.report.links import Links
from reprise.tables.build import Builder, Link
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.overview import OverviewBuilder
from reprise.tables.problems import read_problems
from reprise.tables.published import Published, published_file
from reprise.tables.render import html


class Built(NamedTuple):
    """A table with links."""

    html: str
    tidy: list[dict[str, Any]]


@dataclass(frozen=True)
class LinkedTables:
    """Builds the tables of a suite anew, with links."""

    key: ReportKey
    results: Results
    links: Links

    def built(self, benchmark: str, table: ReportedTable) -> Built:
        """One table as HTML, with its tidy rows."""
        key = read_key(self.results.key("tables", benchmark, table.name), TableKey)
        builder = Builder(
            key,
            self._numbers(key, with_data=table.statistics),
            Published(self._published(benchmark), table.name),
            self._problems,
            self._link("../"),
        )
        return Built(html.table_section(builder.table()), builder.tidy)

    def runs(self, benchmark: str, table: ReportedTable) -> list[ReportedRun]:
        """The runs behind a table."""
        names = read_key(self.results.key("tables", benchmark, table.name), TableKey).runs
        return [run for run in self.key.runs() if run.scored.name in names]

    def overview(self) -> str:
        """The overview as HTML."""
        key = read_key(self.results.key("tables", OVERVIEW), OverviewKey)
        builder = OverviewBuilder(
            key,
            self._joined([self._numbers(part, with_data=False) for part in key.parts]),
            {name: Published(self._published(name), main.table) for name, main in key.of_all.items()},
            self._problems,
            self._timings([run for part in key.parts for run in part.runs]),
            self._link(""),
        )
        return html.table_section(builder.table())

    def _link(self, top: str) -> Link:
        def link(run: str, metric: str, group: str) -> str:
            address = self.links.behind(run, metric, group, made=True)
            return f"{top}{address}" if address else ""

        return link

    def _published(self, benchmark: str) -> Path | None:
        return published_file(benchmark) if self.key.show_published else None

    def _numbers(self, key: TableKey, *, with_data: bool) -> pl.DataFrame:
        """The numbers of a table's runs, in the order in which the table's own job reads them."""
        paths = [self.results.folder / "metrics" / f"{run}.parquet" for run in key.runs]
        data = [self.results.statistics(key.benchmark)] if with_data else []
        return self._joined([read_table(path, METRICS) for path in (*paths, *data)])

    @staticmethod
    def _joined(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(parts) if parts else pl.DataFrame(schema=METRICS)

    def _timings(self, runs: Sequence[str]) -> dict[str, pl.DataFrame]:
        """Run -> how long its answers took, of those that were asked here."""
        asked = {run.scored.name: run.scored.run for run in self.key.runs() if not run.imported}
        shown = {asked[run] for run in runs if run in asked}
        return {run.name: read_table(self.results.timings(run), TIMINGS) for run in sorted(shown)}

    @cached_property
    def _problems(self) -> dict[str, Counter[str]]:
        """What is wrong with imported files."""
        paths = {path for run in self.key.runs() for path in problem_files(run, self.results)}
        return read_problems(sorted(paths), self.results)
