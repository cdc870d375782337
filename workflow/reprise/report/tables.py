"""Build the suite's tables for the report. Each number links to its items."""

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
from reprise.report.inputs import BROWSER_PAGE, list_problem_files
from reprise.report.keys import ReportedRun, ReportedTable, ReportKey
from reprise.report.runs import RunSummary
from reprise.tables.builder import NumberLink, TableBuilder
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.measurements import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import PublishedTable, published_path
from reprise.tables.render import html


def browser_address(state: Mapping[str, str]) -> str:
    """Return the address of the item browser in a state, relative to the top of the report."""
    return f"{BROWSER_PAGE}#" + "&".join(f"{name}={quote(value, safe='')}" for name, value in state.items() if value)


@dataclass(frozen=True)
class Links:
    """Create links from numbers to their items in the item browser."""

    summaries: Mapping[str, RunSummary]

    def items_address(
        self, run: str, metric: str = "", group: str = "", show: str = "", *, show_provenance: bool = False
    ) -> str:
        """Return the address of a run's items in the item browser, relative to the top of the report.

        The address is empty if the report does not contain the run. A metric without values for single items, such as a
        bias, links to all items of its group. The browser lists the items that the number counts, wrong ones first.

        Args:
            run: Name of the run and its judge, or `<benchmark>/data` for a data statistic.
            metric: Metric by which the browser shows the items.
            group: Group of items, such as a task.
            show: Kind of items, such as `failed`.
            show_provenance: Whether the browser's panel of provenance lists only this number.
        """
        benchmark, _, run_part = run.partition("/")
        is_statistic = run_part == "data"  # computed from the benchmark's data, not from answers
        summaries = [
            summary
            for name, summary in self.summaries.items()
            if name == run or (is_statistic and name.startswith(f"{benchmark}/"))
        ]
        if not summaries:
            return ""
        state = {
            "b": benchmark,
            "run": "" if is_statistic else run,
            "metric": metric if metric in summaries[0].metrics and not is_statistic else "",
            "group": group if any(group in summary.groups for summary in summaries) else "",
            "show": "all" if is_statistic else show,
            "provenance": f"{metric}/{group}" if show_provenance and not is_statistic else "",
        }
        return browser_address(state)


class RenderedTable(NamedTuple):
    """A table with links as HTML, without the suite's notice, because the page shows it already."""

    heading: str
    anchor: str
    html: str
    tidy_rows: list[dict[str, Any]]
    runs: list[ReportedRun]


@dataclass(frozen=True)
class LinkedTables:
    """Build a suite's tables, in which each number links to its items."""

    key: ReportKey
    results: Results
    links: Links
    settings: Mapping[str, Settings]

    def build(self, benchmark: str, table: ReportedTable) -> RenderedTable:
        """Return one table of a benchmark."""
        builder = self.make_builder(benchmark, table)
        return self._render(builder, builder.key.runs)

    def make_builder(self, benchmark: str, table: ReportedTable) -> TableBuilder:
        """Return the builder of one table of a benchmark."""
        key = cast(TableKey, self.settings[settings_name("tables", benchmark, table.name)])
        statistics = [self.results.statistics(benchmark)] if table.statistics else []
        published = self._published(benchmark, table.name)
        return TableBuilder(key, self._metrics(key.runs, statistics), published, self._problems, self._link("../"))

    def build_overview(self) -> RenderedTable:
        """Return the overview of models."""
        key = cast(OverviewKey, self.settings[settings_name("tables", OVERVIEW)])
        runs = [run for part in key.parts for run in part.runs]
        runs_with_timings = {run.scored.run for run in self.key.runs() if not run.imported and run.scored.name in runs}
        builder = OverviewBuilder(
            key,
            self._metrics(runs),
            {name: self._published(name, default.table) for name, default in key.default_conditions.items()},
            self._problems,
            {run.name: read_table(self.results.timings(run), TIMINGS) for run in sorted(runs_with_timings)},
            self._link(""),
        )
        return self._render(builder, runs)

    def _render(self, builder: TableBuilder | OverviewBuilder, run_names: Container[str]) -> RenderedTable:
        table = replace(builder.build(), notice="")
        runs = [run for run in self.key.runs() if run.scored.name in run_names]
        return RenderedTable(table.title, html.table_anchor(table), html.render_section(table), builder.tidy_rows, runs)

    def _metrics(self, runs: Iterable[str], statistics: Sequence[Path] = ()) -> pl.DataFrame:
        """Return the metrics in the order in which the table's stage reads them."""
        return read_metrics([*(self.results.folder / "metrics" / f"{run}.parquet" for run in runs), *statistics])

    def _link(self, root: str) -> NumberLink:
        """Return the function that links numbers to their items, from a page whose path to the top is `root`."""

        def link(run: str, metric: str, group: str) -> str:
            address = self.links.items_address(run, metric, group, show_provenance=True)
            return f"{root}{address}" if address else ""

        return link

    def _published(self, benchmark: str, table: str | None) -> PublishedTable:
        return PublishedTable(published_path(benchmark) if self.key.show_published else None, table)

    @cached_property
    def _problems(self) -> dict[str, Counter[str]]:
        paths = {path for run in self.key.runs() for path in list_problem_files(run, self.results)}
        return read_problems(sorted(paths), self.results)
