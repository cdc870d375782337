"""The pages beside the item browser. All that comes from data is escaped; only tables are HTML already."""

from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reprise import __version__
from reprise.core.checksums import sealed_text
from reprise.core.keyfile import read_key
from reprise.core.paths import Results, figure_file, reproduction_file, table_file
from reprise.figures.keys import FigureKey
from reprise.report import run_page
from reprise.report.chain import Chains, settings
from reprise.report.fixed import TEMPLATES
from reprise.report.folder import Folder
from reprise.report.inputs import FIGURE_KINDS
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey
from reprise.report.links import Links
from reprise.report.missing import read_missing
from reprise.report.provenance import CellOf, cells_of, of_run
from reprise.report.scripts import shown
from reprise.report.summary import Summary
from reprise.report.tables import LinkedTables
from reprise.tables.render.collect import content_of_page
from reprise.tables.render.numbers import format_value


class Pages:
    """Writes the pages of a report."""

    def __init__(self, key: ReportKey, results: Results, folder: Folder, summaries: dict[str, Summary]) -> None:
        self._key, self._results, self._folder, self._summaries = key, results, folder, summaries
        self._links = Links(summaries)
        self._tables = LinkedTables(key, results, self._links)
        self._chains = Chains(results)
        self._cells: dict[str, list[CellOf]] = {}
        """run -> the numbers that tables show of it"""
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["number"] = _number
        self._templates.filters["text"] = shown

    def write(self) -> None:
        """Write all of them."""
        missing = read_missing((self._results.folder / "sources" / "missing.md").read_text(encoding="utf-8"))
        self._write_index()
        for benchmark in self._key.benchmarks:
            self._write_tables(benchmark)
            self._write_figures(benchmark)
            for run in benchmark.runs:
                self._write_run(benchmark, run)
        self._page("missing.html", "missing", sections=missing)
        if self._key.show_published:
            content = content_of_page(reproduction_file("html").read_text(encoding="utf-8"))
            self._folder.copy(sealed_text(reproduction_file("csv")), "reproduction.csv")
            self._page("reproduction.html", "reproduction", content=content)

    def _page(self, name: str, template: str, **values: Any) -> None:
        top = "../" * name.count("/")
        text = self._templates.get_template(f"{template}.html").render(
            key=self._key, top=top, here=name, behind=self._links.behind, **values
        )
        self._folder.write(name, text)

    def _write_index(self) -> None:
        overview = self._tables.overview() if self._key.overview else ""
        self._page("index.html", "index", overview=overview, summaries=self._summaries)

    def _write_tables(self, benchmark: ReportedBenchmark) -> None:
        sections, runs, name = {}, {}, benchmark.name
        for table in benchmark.tables:
            self._folder.copy(sealed_text(table_file(name, table.name, "csv")), f"tables/{name}/{table.name}.csv")
            built = self._tables.built(name, table)
            sections[table.name] = built.html
            for run, cell in cells_of(built.tidy):
                self._cells.setdefault(run, []).append(cell)
            runs[table.name] = self._tables.runs(name, table)
        self._page(f"tables/{name}.html", "tables", benchmark=benchmark, sections=sections, runs=runs)

    def _write_figures(self, benchmark: ReportedBenchmark) -> None:
        figures, name = {}, benchmark.name
        for figure in benchmark.figures:
            figures[figure] = read_key(self._results.key("figures", name, figure), FigureKey)
            for kind in FIGURE_KINDS:
                self._folder.copy(sealed_text(figure_file(name, figure, kind)), f"figures/{name}/{figure}.{kind}")
        self._page(f"figures/{name}.html", "figures", benchmark=benchmark, figures=figures)

    def _write_run(self, benchmark: ReportedBenchmark, run: ReportedRun) -> None:
        one = run.scored.run
        lines = run_page.metric_lines(run, self._results, self._links)
        chain = self._chains.of(run.origin(self._results, self._key.shards))
        self._folder.put(run.made, of_run(lines, self._cells.get(run.scored.name, ()), chain))
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
            lines=[line for line in lines if not run_page.is_health(line)],
            health=[line for line in lines if run_page.is_health(line)],
            broken=run_page.broken(run, lines),
            speed=run_page.speed(run, self._results),
            settings={title: settings(path) for title, path in keys.items()},
            chain=chain,
            version=__version__,
        )


def _number(value: float | None, decimals: int = 2) -> str:
    """A number as tables print it; a dash for none."""
    return format_value(value, decimals)
