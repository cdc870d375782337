"""The pages beside the item browser. All that comes from data is escaped; only tables are HTML already."""

from collections import defaultdict
from functools import partial
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reprise import __version__
from reprise.benchmarks.health import PREFIX, reasons
from reprise.core.checksums import sealed_text
from reprise.core.keyfile import read_key
from reprise.core.paths import Results, figure_file, reproduction_file, table_file
from reprise.figures.keys import FigureKey
from reprise.report.chain import Chains, settings
from reprise.report.fixed import TEMPLATES
from reprise.report.folder import Folder
from reprise.report.inputs import FIGURE_KINDS
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey
from reprise.report.links import Links
from reprise.report.missing import read_missing
from reprise.report.run_page import cells_of, metric_lines, speed, where_from
from reprise.report.runs import Summary
from reprise.report.scripts import shown
from reprise.report.tables import LinkedTables
from reprise.tables.render.html import content_of_page
from reprise.tables.render.table import format_value


class Pages:
    """Writes the pages of a report."""

    def __init__(self, key: ReportKey, results: Results, folder: Folder, summaries: dict[str, Summary]) -> None:
        self._key, self._results, self._folder, self._summaries = key, results, folder, summaries
        self._links = Links(summaries)
        self._tables = LinkedTables(key, results, self._links)
        self._chains = Chains(results)
        self._cells: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """run -> the numbers that tables show of it"""
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["number"] = partial(format_value, decimals=2)
        self._templates.filters["text"] = shown

    def write(self) -> None:
        """Write all of them."""
        overview = self._tables.overview() if self._key.overview else ""
        self._page("index.html", "index", overview=overview, summaries=self._summaries)
        for benchmark in self._key.benchmarks:
            self._write_tables(benchmark)
            self._write_figures(benchmark)
            for run in benchmark.runs:
                self._write_run(benchmark, run)
        missing = (self._results.folder / "sources" / "missing.md").read_text(encoding="utf-8")
        self._page("missing.html", "missing", sections=read_missing(missing))
        if self._key.show_published:
            content = content_of_page(reproduction_file("html").read_text(encoding="utf-8"))
            self._folder.copy(sealed_text(reproduction_file("csv")), "reproduction.csv")
            self._page("reproduction.html", "reproduction", content=content)

    def _page(self, name: str, template: str, **values: Any) -> None:
        page = self._templates.get_template(f"{template}.html")
        known = {"key": self._key, "top": "../" * name.count("/"), "here": name, "behind": self._links.behind}
        self._folder.write(name, page.render(known | values))

    def _write_tables(self, benchmark: ReportedBenchmark) -> None:
        tables, name = {}, benchmark.name
        for table in benchmark.tables:
            self._folder.copy(sealed_text(table_file(name, table.name, "csv")), f"tables/{name}/{table.name}.csv")
            tables[table.name] = self._tables.built(name, table)
            for run, cell in cells_of(tables[table.name].tidy):
                self._cells[run].append(cell)
        self._page(f"tables/{name}.html", "tables", benchmark=benchmark, tables=tables)

    def _write_figures(self, benchmark: ReportedBenchmark) -> None:
        figures, name = {}, benchmark.name
        for figure in benchmark.figures:
            figures[figure] = read_key(self._results.key("figures", name, figure), FigureKey)
            for kind in FIGURE_KINDS:
                self._folder.copy(sealed_text(figure_file(name, figure, kind)), f"figures/{name}/{figure}.{kind}")
        self._page(f"figures/{name}.html", "figures", benchmark=benchmark, figures=figures)

    def _write_run(self, benchmark: ReportedBenchmark, run: ReportedRun) -> None:
        one = run.scored.run
        lines = metric_lines(run, self._results, self._links)
        health = [line for line in lines if line.row["metric"].startswith(PREFIX)]
        chain = self._chains.of(run.behind(self._results, self._key.shards))
        self._folder.put(run.made, where_from(lines, self._cells[run.scored.name], chain))
        keys = {"Answers": self._results.run_key(one)}
        if run.judge:
            keys["Judge"] = self._results.judge_key(one.benchmark, one.protocol, run.judge)
        self._page(
            run.page,
            "run",
            run=run,
            title=run.scored.name,
            benchmark=benchmark,
            summary=self._summaries[run.scored.name],
            lines=[line for line in lines if line not in health],
            health=health,
            broken=[] if run.reference else reasons([line.row for line in lines]),
            speed=list(speed(run, self._results)),
            settings={title: settings(path) for title, path in keys.items()},
            chain=chain,
            version=__version__,
        )
