"""Build the report: data, pages, and the fixed files of the item browser.

Pages escape everything that comes from data, except tables, which are already HTML.
"""

import html
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reprise.benchmarks.health import HEALTH_PREFIX, find_problems
from reprise.core.files import verify_sealed_text
from reprise.core.paths import Results, figure_file, judge_settings_name, reproduction_file, settings_name, table_file
from reprise.core.settings import Settings
from reprise.core.store import Store
from reprise.core.version import VERSION
from reprise.figures.keys import FigureKey
from reprise.report.data import WrittenData, write_data
from reprise.report.first_page import PaperComparison, build_ranking, compare_with_papers
from reprise.report.folder import Folder, display_text
from reprise.report.inputs import FIGURE_KINDS, TEMPLATES, site_files
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey, model_page
from reprise.report.lineage import StageLineages, flatten_details
from reprise.report.names import TableNames, read_table_names
from reprise.report.run_page import describe_speed, metric_lines, provenance_data, select_main_lines, table_cells
from reprise.report.tables import LinkedTables, Links, RenderedTable, browser_address
from reprise.report.temporal_profiles import copy_shared_files, load_profile
from reprise.tables.render.html import extract_content
from reprise.tables.render.table import format_value


class Pages:
    """The pages of the report."""

    def __init__(
        self, key: ReportKey, results: Results, folder: Folder, written: WrittenData, settings: Mapping[str, Settings]
    ) -> None:
        self._key, self._results, self._folder, self._written = key, results, folder, written
        self._settings = settings
        self._links = Links(written.summaries)
        self._tables = LinkedTables(key, results, self._links, settings)
        self._lineages = StageLineages(results)
        self._cells: dict[str, list[dict[str, Any]]] = defaultdict(list)  # run -> the table cells with its numbers
        self._broken: dict[str, list[str]] = {}  # run -> the reasons why it looks broken
        self._rendered_tables: dict[str, dict[str, RenderedTable]] = {}
        self._figures: dict[str, dict[str, FigureKey]] = {}
        # benchmark, protocol, metric -> chance level in a temporal profile
        self._profile_chances: dict[tuple[str, str, str], float | None] = {}
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["number"] = lambda value, decimals=2: format_value(value, decimals)
        self._templates.filters["text"] = display_text

    def write(self) -> None:
        key, models = self._key, {run.scored.run.model: run for run in self._key.runs()}
        for benchmark in key.benchmarks:
            self._write_tables(benchmark)
            self._write_figures(benchmark)
            names = read_table_names(benchmark, self._settings)
            for run in benchmark.runs:
                self._write_run(benchmark, run, names)
        if key.temporal:
            copy_shared_files(self._folder)
        for model, model_run in models.items():
            parts = [
                (benchmark, [run for run in benchmark.runs if run.scored.run.model == model])
                for benchmark in key.browsable_benchmarks()
            ]
            runs = {benchmark.title: (benchmark, model_runs) for benchmark, model_runs in parts if model_runs}
            groups = {benchmark.name: benchmark.headline.group for benchmark, _ in parts if benchmark.headline}
            profile = load_profile(model, groups, self._folder) if model in key.temporal else None
            for profiled in (part["profile"] for part in profile["benchmarks"]) if profile else ():
                self._profile_chances[profiled.name, profiled.protocol, profiled.score] = profiled.chance
            self._page(model_page(model), "model", model=model, label=model_run.label, runs=runs, temporal=profile)
        missing = verify_sealed_text(self._results.folder / "sources" / "missing.md").read_text(encoding="utf-8")
        self._page("missing.html", "missing", sections=read_missing(missing))
        comparisons: list[PaperComparison] = []
        if key.show_published:
            content = extract_content(verify_sealed_text(reproduction_file("html")).read_text(encoding="utf-8"))
            cells = verify_sealed_text(reproduction_file("csv"))
            self._folder.copy(cells, "reproduction.csv")
            self._page("reproduction.html", "reproduction", content=re.sub(r'<p class="notice">.*?</p>\n', "", content))
            comparisons = list(compare_with_papers(cells, key.benchmarks))
        self._write_first_page(models, comparisons)

    def _page(self, name: str, template: str, **values: Any) -> None:
        page = self._templates.get_template(f"{template}.html")
        shared = {
            "key": self._key,
            "top": "../" * name.count("/"),
            "current_page": name,
            "items_address": self._links.items_address,
            "summaries": self._written.summaries,
            "broken": self._broken,
        }
        self._folder.write(name, page.render(shared | values))

    def _write_first_page(self, models: Mapping[str, ReportedRun], comparisons: Sequence[PaperComparison]) -> None:
        overview = self._tables.build_overview() if self._key.overview else None
        tidy, link = overview.tidy if overview else [], partial(self._links.items_address, show_provenance=True)
        rankings = (
            build_ranking(
                benchmark, tidy, self.chance(benchmark), self._key.reference_models(), link, self._written.leads
            )
            for benchmark in self._key.benchmarks
        )
        self._page(
            "index.html",
            "index",
            overview=overview,
            rankings=list(filter(None, rankings)),
            paper_comparisons=comparisons,
            broken_counts=Counter(name.partition("/")[0] for name, reasons in self._broken.items() if reasons),
            highlights=self._written.highlights,
            browser_address=browser_address,
            models=models,
            tables=self._rendered_tables,
            figures=self._figures,
        )

    def chance(self, benchmark: ReportedBenchmark) -> float | None:
        """Return the chance level of a benchmark's headline, from a temporal profile, its main table or another."""
        main = benchmark.headline
        if main is None:
            return None
        # The profile's chance is that of its protocol's answer format; Vinoground's tables print that of similarities.
        profile_chance = self._profile_chances.get((benchmark.name, main.protocol, main.metric))
        if profile_chance is not None:
            return profile_chance
        tables = sorted(self._rendered_tables[benchmark.name].items(), key=lambda entry: entry[0] != main.table)
        rows = (row for _, table in tables for row in table.tidy)
        headline_rows = (row for row in rows if (row["metric"], row["group"]) == (main.metric, main.group))
        return next((row["value"] for row in headline_rows if row["source"] == "chance"), None)

    def _write_tables(self, benchmark: ReportedBenchmark) -> None:
        name = benchmark.name
        tables = self._rendered_tables[name] = {}
        for table in benchmark.tables:
            self._folder.copy(
                verify_sealed_text(table_file(name, table.name, "csv")), f"tables/{name}/{table.name}.csv"
            )
            tables[table.name] = self._tables.build(name, table)
            for run, cell in table_cells(tables[table.name].tidy):
                self._cells[run].append(cell)
        self._page(f"tables/{name}.html", "tables", benchmark=benchmark, tables=tables)

    def _write_figures(self, benchmark: ReportedBenchmark) -> None:
        name = benchmark.name
        figures = self._figures[name] = {}
        for figure in benchmark.figures:
            figures[figure] = cast(FigureKey, self._settings[settings_name("figures", name, figure)])
            for kind in FIGURE_KINDS:
                self._folder.copy(
                    verify_sealed_text(figure_file(name, figure, kind)), f"figures/{name}/{figure}.{kind}"
                )
        self._page(f"figures/{name}.html", "figures", benchmark=benchmark, figures=figures)

    def _write_run(self, benchmark: ReportedBenchmark, run: ReportedRun, names: TableNames) -> None:
        answer_run, name = run.scored.run, run.scored.name
        lines = metric_lines(run, self._results, self._links, names)
        health = [line for line in lines if line.row["metric"].startswith(HEALTH_PREFIX)]
        numbers = [line for line in lines if line not in health]
        stages = self._lineages.trace(self._results.metrics(run.scored))
        self._folder.put(run.provenance, provenance_data(lines, self._cells[name], stages))
        self._broken[name] = [] if run.reference else find_problems([line.row for line in lines])
        settings_names = {"Settings of the answers": answer_run.name}
        if run.judge:
            settings_names["Settings of the judge"] = judge_settings_name(
                answer_run.benchmark, answer_run.protocol, run.judge
            )
        self._page(
            run.page,
            "run",
            run=run,
            title=name,
            benchmark=benchmark,
            summary=self._written.summaries[name],
            main_lines=select_main_lines(numbers, benchmark.headline),
            lines=numbers,
            health=health,
            reasons=self._broken[name],
            speed=list(describe_speed(run, self._results)),
            settings={
                title: flatten_details(self._settings[key].model_dump()) for title, key in settings_names.items()
            },
            stages=stages,
            version=VERSION,
        )


def read_missing(text: str) -> list[dict[str, Any]]:
    """Parse the list of the stage `missing` into lines and tables with headers, by benchmark."""
    sections = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, *all_lines = section.splitlines()
        lines: list[str] = []
        tables: list[list[list[str]]] = []
        for is_table, block in groupby(all_lines, key=lambda line: line.startswith("|")):
            if is_table:
                rows = [line[2:-2].split(" | ") for line in block if line.startswith("| ")]
                tables.append([[html.unescape(cell) for cell in row] for row in rows])
            else:
                lines.extend(filter(None, block))
        sections.append({"title": title, "lines": lines, "tables": tables})
    return sections


def build(key: ReportKey, results: Results, store: Store, root: Path, settings: Mapping[str, Settings]) -> None:
    """Write the report.

    Args:
        key: What the report contains.
        results: The results of the suite.
        store: The store with the clips.
        root: The folder of the report.
        settings: The settings of the suite's tables, figures and runs by name.
    """
    folder = Folder(root)

    def media(row: Mapping[str, Any]) -> str:
        """Return the address of a clip: in the store, or of a copy in the report."""
        source = store.root / row["object"]
        if key.clips == "link":
            return folder.link_to(source)
        if source.is_file():
            folder.copy(source, f"media/{source.name}", row["sha256"])
        return f"media/{source.name}" if source.is_file() else ""

    Pages(key, results, folder, write_data(key, results, folder, media, settings), settings).write()
    for name, path in site_files().items():
        folder.copy(path, name)
    folder.finish()
