"""Build the report: the data, the pages, and the fixed files of the item browser.

Pages escape all texts from data. Tables are inserted as HTML, whose texts are escaped already.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reprise.benchmarks.headline import HeadlineScore, find_headline_score
from reprise.benchmarks.health import HEALTH_PREFIX, find_problems
from reprise.core.files import verify_sealed_text
from reprise.core.notation import format_chance, format_difference, format_interval, format_p, format_value
from reprise.core.paths import (
    OVERVIEW,
    Results,
    figure_file,
    judge_settings_name,
    reproduction_file,
    settings_name,
    table_file,
)
from reprise.core.schemas import METRICS, read_table
from reprise.core.settings import Settings
from reprise.core.store import Store
from reprise.core.version import VERSION
from reprise.figures.keys import FigureKey
from reprise.report.best_models import build_rankings
from reprise.report.data import BrowserData, write_data
from reprise.report.filmstrips import select_shown
from reprise.report.first_page import PaperComparison, compare_with_papers
from reprise.report.folder import ReportFolder, display_text
from reprise.report.health import list_outcomes, summarize_health
from reprise.report.inputs import FIGURE_KINDS, TEMPLATES_FOLDER, list_site_files
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey, model_page
from reprise.report.leaderboard import Leaderboard, build_leaderboard
from reprise.report.leaderboard_entries import Sources, find_headline_number
from reprise.report.lineage import StageLineages, flatten_details
from reprise.report.missing_page import parse_missing_list
from reprise.report.model_page import describe_places, list_scores, order_runs
from reprise.report.names import TableNames, read_table_names
from reprise.report.redaction import redact_paths
from reprise.report.run_page import (
    build_metric_lines,
    build_provenance,
    describe_speed,
    list_table_cells,
    select_main_lines,
)
from reprise.report.tables import LinkedTables, Links, RenderedTable, browser_address
from reprise.report.temporal_profiles import copy_shared_files, load_profile
from reprise.tables.keys import OverviewKey
from reprise.tables.render.html import extract_content
from reprise.temporal.marks import build_style_properties


class Pages:
    """Write the pages of the report."""

    def __init__(
        self,
        key: ReportKey,
        results: Results,
        folder: ReportFolder,
        browser_data: BrowserData,
        settings: Mapping[str, Settings],
        *,
        has_tables: bool = True,
    ) -> None:
        """Set the folder and the data of the pages; `has_tables` is whether there are pages besides those of runs."""
        self._has_tables = has_tables
        self._key, self._results, self._folder, self._browser_data = key, results, folder, browser_data
        self._settings = settings
        self._links = Links(browser_data.summaries)
        self._tables = LinkedTables(key, results, self._links, settings)
        self._lineages = StageLineages(results)
        # run -> the table cells that show its numbers
        self._cells_by_run: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._problems_by_run: dict[str, list[str]] = {}  # run -> the reasons why it looks broken
        self._score_by_run: dict[str, HeadlineScore | None] = {}
        self._rendered_tables: dict[str, dict[str, RenderedTable]] = {}  # benchmark -> name -> table
        self._figures: dict[str, dict[str, FigureKey]] = {}  # benchmark -> name -> settings
        self._headline_numbers: dict[str, Mapping[str, Any]] = {}  # run -> its number of the benchmark's headline
        self._places: dict[str, str] = {}  # run -> where the leaderboard shows it
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES_FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "number": lambda value, decimals=2: format_value(value, decimals),
            "difference": format_difference,
            "interval": lambda bounds, decimals=2: format_interval(bounds[0], bounds[1], decimals),
            "p": format_p,
            "chance": format_chance,
        }
        self._templates.filters["text"] = display_text
        self._templates.filters["style"] = build_style_properties
        self._templates.filters["count"] = lambda number: f"{number:,}"
        # Globals are available in imported macros too.
        self._templates.globals |= {
            "items_address": self._links.items_address,
            "summaries": browser_data.summaries,
            "problems_by_run": self._problems_by_run,
            "score_by_run": self._score_by_run,
            "list_outcomes": partial(list_outcomes, browser_data.summaries),
            "places": self._places,
        }

    def write(self) -> None:
        """Write all pages. The first page comes last, because it summarises the others."""
        key, run_by_model = self._key, {run.scored.run.model: run for run in self._key.runs()}
        for benchmark in key.benchmarks:
            self._write_tables(benchmark)
            self._write_figures(benchmark)
            names = read_table_names(benchmark, self._settings)
            for run in benchmark.runs:
                self._write_run(benchmark, run, names)
        if key.temporal:
            copy_shared_files(self._folder)
        leaderboard = self._build_leaderboard()
        self._places |= describe_places(leaderboard)
        for model, run in run_by_model.items():
            self._write_model(model, run.label, leaderboard)
        missing_list = verify_sealed_text(self._results.folder / "sources" / "missing.md").read_text(encoding="utf-8")
        self._page("missing.html", "missing", sections=parse_missing_list(redact_paths(missing_list)))
        comparisons: list[PaperComparison] = []
        if key.show_published:
            content = extract_content(verify_sealed_text(reproduction_file("html")).read_text(encoding="utf-8"))
            reproduction_csv = verify_sealed_text(reproduction_file("csv"))
            self._folder.copy(reproduction_csv, "reproduction.csv")
            # The page shows the notice already.
            self._page("reproduction.html", "reproduction", content=re.sub(r'<p class="notice">.*?</p>\n', "", content))
            comparisons = list(compare_with_papers(reproduction_csv, key.benchmarks))
        self._write_first_page(run_by_model, leaderboard, comparisons)

    def write_runs(self, contents: Sequence[tuple[str, str]]) -> None:
        """Write only the pages of runs, and a first page that lists them with the `contents` of the folder."""
        for benchmark in self._key.benchmarks:
            names = read_table_names(benchmark, self._settings)
            for run in benchmark.runs:
                self._write_run(benchmark, run, names)
        self._page("index.html", "bundle", contents=contents)

    def _write_model(self, model: str, label: str, leaderboard: Leaderboard) -> None:
        """Write the page of a model: its numbers in the leaderboard, its temporal profile, and its runs."""
        runs_by_benchmark = [
            (benchmark, order_runs((run for run in benchmark.runs if run.scored.run.model == model), self._places))
            for benchmark in self._key.browsable_benchmarks()
        ]
        runs = {benchmark.title: (benchmark, model_runs) for benchmark, model_runs in runs_by_benchmark if model_runs}
        groups = {benchmark.name: benchmark.headline.group for benchmark, _ in runs_by_benchmark if benchmark.headline}
        profile = load_profile(model, groups, self._folder) if model in self._key.temporal else None
        scores = list_scores(leaderboard, model)
        self._page(model_page(model), "model", model=model, label=label, scores=scores, runs=runs, temporal=profile)

    def _page(self, name: str, template: str, **values: Any) -> None:
        """Write the page `name` from a template and its values; add the values that all pages share."""
        page = self._templates.get_template(f"{template}.html")
        shared_values = {
            "key": self._key,
            "has_tables": self._has_tables,
            "root": "../" * name.count("/"),  # relative address of the top of the report
            "current_page": name,
        }
        self._folder.write(name, page.render(shared_values | values))

    def _write_first_page(
        self,
        run_by_model: Mapping[str, ReportedRun],
        leaderboard: Leaderboard,
        paper_comparisons: Sequence[PaperComparison],
    ) -> None:
        """Write the first page and the leaderboard, which it summarises."""
        overview = self._tables.build_overview() if self._key.overview else None
        comparisons = self._browser_data.paired_comparisons
        self._page("leaderboard.html", "leaderboard", leaderboard=leaderboard)
        self._page(
            "index.html",
            "index",
            overview=overview,
            rankings=build_rankings(leaderboard, comparisons),
            paper_comparisons=paper_comparisons,
            health=summarize_health(self._key.runs(), self._browser_data.summaries, self._problems_by_run),
            highlights=self._browser_data.highlights,
            filmstrips=select_shown(self._browser_data.filmstrips),
            browser_address=browser_address,
            run_by_model=run_by_model,
            tables=self._rendered_tables,
            figures=self._figures,
        )

    def _build_leaderboard(self) -> Leaderboard:
        """Return the leaderboard, which the numbers of all runs must precede."""
        link = partial(self._links.items_address, show_provenance=True)
        sources = filter(None, map(self._collect_sources, self._key.benchmarks))
        return build_leaderboard(self._key, sources, link, self._browser_data.paired_comparisons)

    def _collect_sources(self, benchmark: ReportedBenchmark) -> Sources | None:
        """Return where a benchmark's numbers in the leaderboard come from; None if it has no headline."""
        headline = benchmark.headline
        if headline is None:
            return None
        main_table = next((table for table in benchmark.tables if table.name == headline.table), None)
        overview_settings = self._settings.get(settings_name("tables", OVERVIEW)) if self._key.overview else None
        overview_parts = cast(OverviewKey, overview_settings).parts if overview_settings else ()
        summaries = [self._browser_data.summaries[run.scored.name] for run in benchmark.runs]
        nouns = (summary.sample_nouns.get(headline.metric) for summary in summaries)
        return Sources(
            benchmark,
            headline,
            builder=self._tables.make_builder(benchmark.name, main_table) if main_table else None,
            overview_runs=frozenset(run for part in overview_parts for run in part.runs),
            numbers=self._headline_numbers,
            sample_noun=next((noun for noun in nouns if noun), ""),
            statistics=self._read_statistics(benchmark),
            broken_runs=frozenset(run for run, problems in self._problems_by_run.items() if problems),
        )

    def _write_tables(self, benchmark: ReportedBenchmark) -> None:
        """Write the page of a benchmark's tables, copy their csv files, and remember which cells show each run."""
        name = benchmark.name
        tables = self._rendered_tables[name] = {}
        for table in benchmark.tables:
            self._folder.copy(
                verify_sealed_text(table_file(name, table.name, "csv")), f"tables/{name}/{table.name}.csv"
            )
            tables[table.name] = self._tables.build(name, table)
            for run, cell in list_table_cells(tables[table.name].tidy_rows):
                self._cells_by_run[run].append(cell)
        self._page(f"tables/{name}.html", "tables", benchmark=benchmark, tables=tables)

    def _write_figures(self, benchmark: ReportedBenchmark) -> None:
        """Write the page of a benchmark's figures, and copy their files. It only names figures without numbers."""
        name = benchmark.name
        figures = self._figures[name] = {}
        empty_figures: list[FigureKey] = []
        for figure in benchmark.figures:
            key = cast(FigureKey, self._settings[settings_name("figures", name, figure)])
            files = {kind: verify_sealed_text(figure_file(name, figure, kind)) for kind in FIGURE_KINDS}
            if len(files["csv"].read_text(encoding="utf-8").splitlines()) <= 1:  # only the names of columns
                empty_figures.append(key)
                continue
            figures[figure] = key
            for kind, file in files.items():
                self._folder.copy(file, f"figures/{name}/{figure}.{kind}")
        self._page(f"figures/{name}.html", "figures", benchmark=benchmark, figures=figures, empty_figures=empty_figures)

    def _read_statistics(self, benchmark: ReportedBenchmark) -> pl.DataFrame | None:
        """Return the statistics of a benchmark's data, if its tables show them; a published run may not have them."""
        path = self._results.statistics(benchmark.name)
        has_statistics = any(table.statistics for table in benchmark.tables) and path.is_file()
        return read_table(path, METRICS) if has_statistics else None

    def _write_run(self, benchmark: ReportedBenchmark, run: ReportedRun, names: TableNames) -> None:
        """Write the page of a run and the provenance of its numbers, and remember why the run looks broken."""
        answer_run, name = run.scored.run, run.scored.name
        metrics = read_table(self._results.metrics(run.scored), METRICS)
        lines = build_metric_lines(run, metrics, self._links, names)
        health_lines = [line for line in lines if line.row["metric"].startswith(HEALTH_PREFIX)]
        number_lines = [line for line in lines if line not in health_lines]
        stages = self._lineages.trace(self._results.metrics(run.scored))
        self._folder.put(run.provenance, build_provenance(lines, self._cells_by_run[name], stages))
        self._problems_by_run[name] = [] if run.reference else find_problems([line.row for line in lines])
        self._score_by_run[name] = find_headline_score(
            metrics, benchmark.name, benchmark.forms[answer_run.protocol], self._read_statistics(benchmark)
        )
        if benchmark.headline and (number := find_headline_number(benchmark.headline, metrics)):
            self._headline_numbers[name] = number
        settings_name_by_title = {"Settings of the answers": answer_run.name}
        if run.judge:
            settings_name_by_title["Settings of the judge"] = judge_settings_name(
                answer_run.benchmark, answer_run.protocol, run.judge
            )
        self._page(
            run.page,
            "run",
            run=run,
            title=name,
            benchmark=benchmark,
            summary=self._browser_data.summaries[name],
            main_lines=select_main_lines(number_lines, benchmark.headline),
            lines=number_lines,
            health=health_lines,
            reasons=self._problems_by_run[name],
            speed=list(describe_speed(run, self._results)),
            settings={
                title: flatten_details(self._settings[settings_name].model_dump())
                for title, settings_name in settings_name_by_title.items()
            },
            stages=stages,
            version=VERSION,
        )


def build(key: ReportKey, results: Results, store: Store, root: Path, settings: Mapping[str, Settings]) -> None:
    """Write the report.

    Args:
        key: Settings of the report.
        results: Results of the suite.
        store: Store with the clips.
        root: Folder of the report.
        settings: Settings of the suite's tables, figures and runs by name.
    """
    folder = ReportFolder(root)

    def get_clip_address(row: Mapping[str, Any]) -> str:
        """Return the address of a clip in the store, or of its copy in the report; empty if the clip is lost."""
        source = store.root / row["object"]
        if key.clips == "link":
            return folder.link_to(source)
        if not source.is_file():
            return ""
        folder.copy(source, f"media/{source.name}", row["sha256"])
        return f"media/{source.name}"

    browser_data = write_data(key, results, folder, get_clip_address, store.root, settings)
    Pages(key, results, folder, browser_data, settings).write()
    for name, path in list_site_files().items():
        folder.copy(path, name)
    folder.finish()
