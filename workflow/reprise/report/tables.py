"""The suite's tables as the report shows them: the same numbers, each with a link to the items behind it."""

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
    """The item browser at a state, from the top of the report."""
    return f"{BROWSER}#" + "&".join(f"{name}={quote(value, safe='')}" for name, value in state.items() if value)


@dataclass(frozen=True)
class Links:
    """Links to the items behind numbers, by what the item browser can choose."""

    summaries: Mapping[str, Summary]

    def behind(self, run: str, metric: str = "", group: str = "", show: str = "", *, made: bool = False) -> str:
        """The item browser at a run's items, from the top of the report; nothing of a run that is not in it.

        A number of no single items, such as a bias, leads to all items that it is made from, and a number of the data
        to the items that were counted. With `made` the browser also says what the number was made from.
        """
        benchmark, _, of_it = run.partition("/")
        of_data = of_it == "data"  # a number that was counted from the data
        known = [
            summary
            for name, summary in self.summaries.items()
            if name == run or (of_data and name.startswith(f"{benchmark}/"))
        ]
        if not known:
            return ""
        state = {
            "b": benchmark,
            "run": "" if of_data else run,
            "metric": metric if metric in known[0].metrics and not of_data else "",
            "group": group if any(group in one.groups for one in known) else "",
            "show": show,
            "made": f"{metric}/{group}" if made and not of_data else "",
        }
        return browser_at(state)


class Built(NamedTuple):
    """A table with links; the page that it stands on has the suite's notice."""

    heading: str
    anchor: str
    html: str
    tidy: list[dict[str, Any]]
    runs: list[ReportedRun]


@dataclass(frozen=True)
class LinkedTables:
    """Builds the tables of a suite anew, with links."""

    key: ReportKey
    results: Results
    links: Links
    settings: Mapping[str, Settings]

    def built(self, benchmark: str, table: ReportedTable) -> Built:
        key = cast(TableKey, self.settings[settings_name("tables", benchmark, table.name)])
        statistics = [self.results.statistics(benchmark)] if table.statistics else []
        published = self._published(benchmark, table.name)
        builder = Builder(key, self._metrics(key.runs, statistics), published, self._problems, self._link("../"))
        return self._built(builder, key.runs)

    def overview(self) -> Built:
        key = cast(OverviewKey, self.settings[settings_name("tables", OVERVIEW)])
        shown = [run for part in key.parts for run in part.runs]
        asked = {run.scored.run for run in self.key.runs() if not run.imported and run.scored.name in shown}
        builder = OverviewBuilder(
            key,
            self._metrics(shown),
            {name: self._published(name, main.table) for name, main in key.of_all.items()},
            self._problems,
            {run.name: read_table(self.results.timings(run), TIMINGS) for run in sorted(asked)},
            self._link(""),
        )
        return self._built(builder, shown)

    def _built(self, builder: Builder | OverviewBuilder, shown: Container[str]) -> Built:
        table = replace(builder.table(), notice="")
        runs = [run for run in self.key.runs() if run.scored.name in shown]
        return Built(table.title, html.anchor(table), html.table_section(table), builder.tidy, runs)

    def _metrics(self, runs: Iterable[str], statistics: Sequence[Path] = ()) -> pl.DataFrame:
        """In the order in which the table's own job reads them."""
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
