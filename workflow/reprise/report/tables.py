"""The suite's tables as the report shows them: the same numbers, each with a link to the items behind it."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from reprise.core.paths import OVERVIEW, Results
from reprise.core.schemas import TIMINGS, read_table
from reprise.core.settings import read_key
from reprise.report.inputs import problem_files
from reprise.report.keys import ReportedRun, ReportedTable, ReportKey
from reprise.report.links import Links
from reprise.tables.build import Builder, Link
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import Published, published_file
from reprise.tables.render import html
from reprise.tables.render.table import Table


class Built(NamedTuple):
    """A table with links; the page that it stands on has the suite's notice."""

    heading: str
    anchor: str
    html: str
    tidy: list[dict[str, Any]]
    runs: list[ReportedRun]
    """the runs behind it"""


@dataclass(frozen=True)
class LinkedTables:
    """Builds the tables of a suite anew, with links."""

    key: ReportKey
    results: Results
    links: Links

    def built(self, benchmark: str, table: ReportedTable) -> Built:
        """One table of a benchmark."""
        key = read_key(self.results.key("tables", benchmark, table.name), TableKey)
        # In the order in which the table's own job reads them.
        paths = [self.results.folder / "metrics" / f"{run}.parquet" for run in key.runs]
        paths += [self.results.statistics(benchmark)] if table.statistics else []
        published = self._published(benchmark, table.name)
        builder = Builder(key, read_metrics(paths), published, self._problems, self._link("../"))
        runs = [run for run in self.key.runs() if run.scored.name in key.runs]
        return _built(builder.table(), builder.tidy, runs)

    def overview(self) -> Built:
        """The overview."""
        key = read_key(self.results.key("tables", OVERVIEW), OverviewKey)
        shown = [run for part in key.parts for run in part.runs]
        asked = {run.scored.run for run in self.key.runs() if not run.imported and run.scored.name in shown}
        builder = OverviewBuilder(
            key,
            read_metrics([self.results.folder / "metrics" / f"{run}.parquet" for run in shown]),
            {name: self._published(name, main.table) for name, main in key.of_all.items()},
            self._problems,
            {run.name: read_table(self.results.timings(run), TIMINGS) for run in sorted(asked)},
            self._link(""),
        )
        table = builder.table()
        return _built(table, builder.tidy, [run for run in self.key.runs() if run.scored.name in shown])

    def _link(self, top: str) -> Link:
        def link(run: str, metric: str, group: str) -> str:
            address = self.links.behind(run, metric, group, made=True)
            return f"{top}{address}" if address else ""

        return link

    def _published(self, benchmark: str, table: str | None) -> Published:
        return Published(published_file(benchmark) if self.key.show_published else None, table)

    @cached_property
    def _problems(self) -> dict[str, Counter[str]]:
        """What is wrong with imported files."""
        paths = {path for run in self.key.runs() for path in problem_files(run, self.results)}
        return read_problems(sorted(paths), self.results)


def _built(table: Table, tidy: list[dict[str, Any]], runs: list[ReportedRun]) -> Built:
    table = replace(table, notice="")
    return Built(table.title, html.anchor(table), html.table_section(table), tidy, runs)
