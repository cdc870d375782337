"""The suite's tables in the report: the same numbers, each with a link to its items."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote

import polars as pl

from reprise.core.paths import OVERVIEW, Results, settings_name
from reprise.core.schemas import TIMINGS, read_table
from reprise.core.settings import Settings
from reprise.report.inputs import BROWSER, problem_files
from reprise.report.keys import ReportedRun, ReportedTable, ReportKey
from reprise.report.runs import Summary
from reprise.tables.build import Builder, Link
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import Published, published_file
from reprise.tables.render import html


def browser_at(state: Mapping[str, str]) -> str:
    """Return the address of the item browser in a state, from the top of the report."""
    return f"{BROWSER}#" + "&".join(f"{name}={quote(value, safe='')}" for name, value in state.items() if value)


@dataclass(frozen=True)
class Links:
    """Links from numbers to their items, by the states of the item browser."""

    summaries: Mapping[str, Summary]

    def behind(self, run: str, metric: str = "", group: str = "", show: str = "", *, made: bool = False) -> str:
        """Return the address of a run's items in the item browser, from the top of the report.

        The address is empty for a run that the report does not have. A number without single items, such as a bias,
        links to all items that it was computed from, and a number of the data to the counted items. With `made` the
        browser also shows the provenance of the number.
        """
        benchmark, _, rest = run.partition("/")
        is_of_data = rest == "data"  # counted from the benchmark's data, not from answers
        summaries = [
            summary
            for name, summary in self.summaries.items()
            if name == run or (is_of_data and name.startswith(f"{benchmark}/"))
        ]
        if not summaries:
            return ""
        state = {
            "b": benchmark,
            "run": "" if is_of_data else run,
            "metric": metric if metric in summaries[0].metrics and not is_of_data else "",
            "group": group if any(group in summary.groups for summary in summaries) else "",
            "show": show,
            "made": f"{metric}/{group}" if made and not is_of_data else "",
        }
        return browser_at(state)


class RenderedTable(NamedTuple):
    """A table with links, as HTML; the page around it has the suite's notice."""

    heading: str
    anchor: str
    html: str
    tidy: list[dict[str, Any]]
    runs: list[ReportedRun]


@dataclass(frozen=True)
class LinkedTables:
    """Builds the tables of a suite again, with links."""

    key: ReportKey
    results: Results
    links: Links
    settings: Mapping[str, Settings]

    def built(self, benchmark: str, table: ReportedTable) -> RenderedTable:
        key = cast(TableKey, self.settings[settings_name("tables", benchmark, table.name)])
        statistics = [self.results.statistics(benchmark)] if table.statistics else []
        published = self._published(benchmark, table.name)
        builder = Builder(key, self._metrics(key.runs, statistics), published, self._problems, self._link("../"))
        return self._render(builder, key.runs)

    def overview(self) -> RenderedTable:
        key = cast(OverviewKey, self.settings[settings_name("tables", OVERVIEW)])
        runs = [run for part in key.parts for run in part.runs]
        own_runs = {run.scored.run for run in self.key.runs() if not run.imported and run.scored.name in runs}
        builder = OverviewBuilder(
            key,
            self._metrics(runs),
            {name: self._published(name, main.table) for name, main in key.of_all.items()},
            self._problems,
            {run.name: read_table(self.results.timings(run), TIMINGS) for run in sorted(own_runs)},
            self._link(""),
        )
        return self._render(builder, runs)

    def _render(self, builder: Builder | OverviewBuilder, names: Container[str]) -> RenderedTable:
        table = replace(builder.table(), notice="")
        runs = [run for run in self.key.runs() if run.scored.name in names]
        return RenderedTable(table.title, html.anchor(table), html.table_section(table), builder.tidy, runs)

    def _metrics(self, runs: Iterable[str], statistics: Sequence[Path] = ()) -> pl.DataFrame:
        """Return the metrics in the order in which the table's job reads them."""
        return read_metrics([*(self.results.folder / "metrics" / f"{run}.parquet" for run in runs), *statistics])

    def _link(self, top: str) -> Link:
        def link(run: str, metric: str, group: str) -> str:
            address = self.links.behind(run, metric, group, made=True)
            return f"{top}{address}" if address else ""

        return link

    def _published(self, benchmark: str, table: str | None) -> Published:
        return Published(published_file(benchmark) if self.key.show_published else None, table)

    @cached_property
    def _problems(self) -> dict[str, Counter[str]]:
        paths = {path for run in self.key.runs() for path in problem_files(run, self.results)}
        return read_problems(sorted(paths), self.results)
