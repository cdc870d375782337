"""Which runs and tables a suite has, and which of them this site can make."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.benchmarks.registry import load_analyses, load_scores
from reprise.config.configuration import Configuration
from reprise.config.figures import Figure, OfTables
from reprise.config.model import Model
from reprise.config.side_packages import module_of, packages_of
from reprise.config.suite import OnGpus
from reprise.config.tables import Row, TableSpec
from reprise.config.time import PLANNED, time_rows
from reprise.core.errors import UserError, refuse_unknown
from reprise.core.files import matching_files
from reprise.core.names import FIGURE, UNPINNED
from reprise.core.paths import FIGURES, OVERVIEW, RUN_NAME, TABLES, Ledger, Results, Run, Scored
from reprise.core.store import Store
from reprise.external import FOLDER
from reprise.fetch.settings import ReleaseHub
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.money.prices import Budget, needed_budget
from reprise.plan.imported import Imports
from reprise.plan.naming import fitting, listed, nearest

if TYPE_CHECKING:  # they import this module
    from reprise.plan.side_package import SidePackage


def run_of(benchmark: str, row: Row) -> Run | None:
    """The run behind a row as a column shows it; none for chance, the data, or published numbers only."""
    if row.model is None or row.protocol is None or row.sampling is None or row.chance or row.dataset:
        return None
    return Run(benchmark, row.protocol, row.sampling, row.model)


class Plan:
    """The checked configuration of one suite, seen as runs and tables."""

    def __init__(self, config: Configuration, *, is_read_only: bool = False) -> None:
        """Plans of jobs and commands record the digests of files that they read; a read-only plan writes nothing."""
        self.config = config
        self.results = Results(config.name)
        self.store = Store(Path(config.main.store), is_read_only=is_read_only)
        self.packages = self._side_packages()
        self.imports = Imports(config, self.packages.values())
        self.budget = Budget(config.suite.budget_usd, config.suite.budget_tokens)
        self.models = frozenset(slug for slug, model in config.models.items() if self._runs_here(slug, model))
        self._judges: dict[str, list[str]] = {}
        self._runs: list[Run] | None = None
        self._ledgers: dict[tuple[Ledger, str], list[Path]] = {}
        self._scored: dict[tuple[str, str], list[Scored]] = {}  # (benchmark, table or figure) -> its numbers

    def _side_packages(self) -> "dict[str, SidePackage]":
        names = packages_of(self.config.suite.benchmarks.values())
        return {name: module_of(name, "plan").Package(self) for name in names}

    def _runs_here(self, slug: str, model: Model) -> bool:
        """Whether the suite's `run:` selects a model; one that somebody is paid for also needs a budget."""
        is_unpaid = ADAPTERS[model.adapter].is_paid(model.settings) and not self.budget.permits(model.price)
        if slug in self.config.suite.skip or self._is_of_the_whole(slug) or is_unpaid:
            return False
        fits_local = not model.is_remote and model.gpus == 0 and model.repo is None
        return any(
            not model.is_remote and model.gpus <= term.gpus
            if isinstance(term, OnGpus)
            else term in (slug, "all") or (term == "local" and fits_local)
            for term in self.config.suite.run
        )

    def _is_of_the_whole(self, slug: str) -> bool:
        """Whether a model's answers were made elsewhere, for all of a benchmark, while this is a part."""
        return self.config.limit is not None and self.config.is_import(slug)

    def tables(self) -> list[tuple[str, str, TableSpec]]:
        named = self.config.tables.items()
        return [(benchmark, table, spec) for benchmark, of in named for table, spec in of.tables.items()]

    @cached_property
    def overview(self) -> dict[str, TableSpec]:
        """Benchmark -> its part of the overview; empty where the suite names no model for it."""
        found = {benchmark: self.config.overview_of(benchmark) for benchmark in self.config.tables}
        return {benchmark: spec for benchmark, spec in found.items() if spec is not None}

    def shown(self) -> list[tuple[str, str, TableSpec]]:
        """Every table, and every part of the overview."""
        return [*self.tables(), *((benchmark, OVERVIEW, spec) for benchmark, spec in self.overview.items())]

    def table(self, benchmark: str, table: str) -> TableSpec:
        """The specification of one table, or of a part of the overview; a UserError if it does not exist."""
        name, known = f"{benchmark}/{table}", {f"{one}/{each}": spec for one, each, spec in self.shown()}
        refuse_unknown("table", [name], known, str(TABLES / name))
        return known[name]

    def figures(self) -> list[tuple[str, str, Figure]]:
        named = self.config.figures.items()
        return [(benchmark, figure, spec) for benchmark, of in named for figure, spec in of.figures.items()]

    def figure(self, benchmark: str, figure: str) -> Figure:
        name, known = f"{benchmark}/{figure}", {f"{one}/{each}": spec for one, each, spec in self.figures()}
        refuse_unknown("figure", [name], known, str(FIGURES / name))
        return known[name]

    def parts_of(self, benchmark: str, name: str) -> list[tuple[str, TableSpec]]:
        """Each table that a figure shows a part of, with the part as a table; a table is its own."""
        if not re.match(FIGURE, name):
            return [(name, self.table(benchmark, name))]
        spec = self.figure(benchmark, name)
        parts = spec.of if isinstance(spec, OfTables) else []
        return [(part.table, part.of(self.table(benchmark, part.table))) for part in parts]

    def benchmarks_by_table(self) -> dict[str, list[str]]:
        """Table -> the benchmarks whose papers have one of this number."""
        names = sorted({table for _, table, _ in self.tables()}, key=lambda name: int(name.removeprefix("table")))
        return {name: [benchmark for benchmark, table, _ in self.tables() if table == name] for name in names}

    def ledgers(self, stage: Ledger, benchmark: str) -> list[Path]:
        if (stage, benchmark) not in self._ledgers:
            shards = range(self.config.suite.shards)
            self._ledgers[stage, benchmark] = [self.results.ledger(stage, benchmark, shard) for shard in shards]
        return self._ledgers[stage, benchmark]

    def digests(self, files: Iterable[str | Path]) -> dict[str, str]:
        return {str(path): self.store.digest(Path(path)) for path in files}

    def digests_in(self, folder: str, patterns: Sequence[str]) -> dict[str, str]:
        """The files of a user's folder by name and content, so that an edited one is a change."""
        return {name: self.store.digest(path) for name, path in matching_files(Path(folder), patterns).items()}

    def digest_of(self, file: str | Path | None) -> str:
        """The digest of a file that a stage reads; where it is missing, the stage says so."""
        return self.store.digest(Path(file)) if file and Path(file).is_file() else ""

    def has_data(self, benchmark: str) -> bool:
        """Whether a benchmark's release can be had."""
        release = self.config.suite.benchmarks[benchmark].release
        return not (isinstance(release, ReleaseHub) and release.revision == UNPINNED)

    def shows_data(self, benchmark: str, spec: TableSpec) -> bool:
        """Whether a table shows numbers of the data, or a chance that is counted from them, and the data are here."""
        if not self.has_data(benchmark):
            return False
        chance = load_scores(benchmark).CHANCE
        is_counted = any(chance.get(metric, 0.0) is None for c in spec.columns for metric in spec.metrics_of(c))
        return any(row.dataset or (row.chance and is_counted) for row in spec.rows())

    def judges_of(self, benchmark: str) -> list[str]:
        """Those of the benchmark's judges, or of the suite's, that run here, then those whose ratings lie here."""
        if benchmark not in self._judges:
            own = self.config.suite.benchmarks[benchmark].judges
            runs = [Run.parse(f"{benchmark}/{name}") for name in sorted(self.config.runs_of(benchmark))]
            raters = self.imports.judges(benchmark, [run for run in runs if run.model in self.models])
            named = [*(self.config.suite.judges if own is None else own), *raters]
            self._judges[benchmark] = [slug for slug in dict.fromkeys(named) if slug in self.models]
        return self._judges[benchmark]

    def judge_of(self, run: Run) -> str:
        judge = self._rater(run, self.judges_of(run.benchmark))
        if judge is None:
            raise UserError(
                f"suite '{self.config.name}': no judge of {run.benchmark} runs here, or has rated {run.name}. "
                "Name one in `judges:` and in `run:`."
            )
        return judge

    def _rater(self, run: Run, judges: Iterable[str]) -> str | None:
        """The first judge that can be asked about a run, or has rated it."""
        able = (judge for judge in judges if judge in self.judges_of(run.benchmark) and self.has_ratings(run, judge))
        return next(able, None)

    def judges(self) -> set[str]:
        return {judge for benchmark in self.config.benchmarks for judge in self.judges_of(benchmark)}

    def is_judged(self, benchmark: str, protocol: str) -> bool:
        return self.config.benchmarks[benchmark].protocols[protocol].judge is not None

    def scored(self, benchmark: str, row: Row) -> Scored | None:
        """Whose numbers a cell shows, if this site can make them: a run's, by the row's judges or the first of all."""
        run = run_of(benchmark, row)
        if run is None or run.model not in self.models or not self.has_answers(run):
            return None
        if not self.is_judged(benchmark, run.protocol):
            return Scored(run)
        judge = self._rater(run, row.judges or self.judges_of(benchmark))
        return Scored(run, judge) if judge else None

    def unjudged(self, benchmark: str, cells: Iterable[Row]) -> list[Run]:
        """The runs of these cells of a table that this site can make, but that no judge rates."""
        runs = {run for cell in cells if not cell.judges and (run := run_of(benchmark, cell))}
        judged = [run for run in runs if run.model in self.models and self.is_judged(benchmark, run.protocol)]
        judges = self.judges_of(benchmark)
        return sorted(run for run in judged if self.has_answers(run) and self._rater(run, judges) is None)

    def has_answers(self, run: Run) -> bool:
        return run.model not in self.imports.models or bool(self.imports.answer_files(run))

    def has_ratings(self, run: Run, judge: str) -> bool:
        return judge not in self.imports.models or bool(self.imports.rating_files(run, judge))

    def counts_facts(self, benchmark: str) -> bool:
        """Whether analyses need facts of the videos; imported answers alone have nothing fetched for them."""
        analyses = load_analyses(benchmark)
        return analyses is not None and analyses.needs_facts and benchmark in self.data_benchmarks

    def table_scored(self, benchmark: str, name: str) -> list[Scored]:
        """The numbers of runs that a table, a part of the overview or a figure needs and that this site can make."""
        if (benchmark, name) not in self._scored:
            cells = [cell for _, spec in self.parts_of(benchmark, name) for cell in spec.cells()]
            self._scored[benchmark, name] = self.scored_of(benchmark, cells)
        return self._scored[benchmark, name]

    def scored_of(self, benchmark: str, cells: Iterable[Row]) -> list[Scored]:
        """The numbers of runs that these cells of a table show and that this site can make."""
        return sorted({found for cell in cells if (found := self.scored(benchmark, cell))})

    def overview_scored(self) -> list[Scored]:
        return [one for benchmark in sorted(self.overview) for one in self.table_scored(benchmark, OVERVIEW)]

    @cached_property
    def time(self) -> dict[str, dict[str, dict[str, Scored | str]]]:
        """Of each card of time that this site can make, benchmark -> view -> whose numbers, or why there are none."""
        found = {
            slug: {
                name: {view: self._viewed(name, view, row) for view, row in views.items()}
                for name, views in asked.items()
            }
            for slug, asked in time_rows(self.config).items()
        }
        return {slug: asked for slug, asked in found.items() if self._asked(asked)}

    def _viewed(self, benchmark: str, view: str, row: Row | str) -> Scored | str:
        if isinstance(row, str):
            return row
        run = run_of(benchmark, row)
        assert run is not None
        # Files that could be of several runs are of the one that a table shows.
        if view != PLANNED and run.model in self.imports.models and not self.imports.own_files(run):
            folder = FOLDER / run.benchmark / run.model / run.protocol / run.sampling
            return f"its answers are imported, and none lie in {folder}/."
        return self.scored(benchmark, row) or self.why_idle(run)

    def time_scored(self, slugs: Iterable[str]) -> list[Scored]:
        return sorted({one for slug in slugs for one in self._asked(self.time[slug])})

    def _asked(self, views: Mapping[str, Mapping[str, Scored | str]]) -> list[Scored]:
        return [one for of_one in views.values() for one in of_one.values() if isinstance(one, Scored)]

    def runs(self) -> list[Run]:
        """All runs of the suite: those of its tables, of its overview and of its cards of time, and its extra runs."""
        if self._runs is None:
            entries = self.config.suite.benchmarks.items()
            named = {Run.parse(f"{benchmark}/{name}") for benchmark, entry in entries for name in entry.extra_runs}
            self._runs = sorted({one.run for one in self._scored_anywhere()} | named)
        return self._runs

    def numbers(self) -> list[Scored]:
        """The numbers of all runs: by every judge that a table shows, else by the first one, else by the readers."""
        shown = self._scored_anywhere()
        for run in set(self.runs()) - {one.run for one in shown}:
            judges = self.judges_of(run.benchmark) if self.is_judged(run.benchmark, run.protocol) else []
            shown.add(Scored(run, self._rater(run, judges) or ""))
        return sorted(shown)

    def _scored_anywhere(self) -> set[Scored]:
        shown = {one for benchmark, table, _ in self.shown() for one in self.table_scored(benchmark, table)}
        return shown | set(self.time_scored(self.time))

    def samplings_of(self, benchmark: str) -> list[str]:
        """The samplings by which a benchmark's frames are planned: all, and those with a view that a run has."""
        main, used = self.config.main, {run.sampling for run in self.runs() if run.benchmark == benchmark}
        return [name for name in main.samplings if name in used or not main.is_viewed(name)]

    def find_run(self, name: str) -> Run:
        """The run of this name, or the only one that the words fit; a UserError if the suite has none or several."""
        runs = {run.name: run for run in self.runs()}
        found = fitting(name, runs)
        if len(found) == 1:
            return runs[found[0]]
        suite = f"suite '{self.config.name}'"
        if found:
            raise UserError(
                f"'{name}' fits {len(found)} runs of {suite}: {listed(found)}. Add another part: {RUN_NAME}."
            )
        shown = {f"{name}/{run}" for name in self.config.benchmarks for run in self.config.runs_of(name)}
        idle_runs = sorted(shown - runs.keys())
        idle = fitting(name, idle_runs)
        if len(idle) == 1:
            raise UserError(
                f"{idle[0]}: {suite} shows this run, but does not make it: {self.why_idle(Run.parse(idle[0]))}"
            )
        raise UserError(
            f"no run '{name}' in {suite}.{nearest(name, [*runs, *idle_runs])} A run is named {RUN_NAME}, "
            "or by as many parts of that as tell it from others; `python -m reprise runs` lists them."
        )

    def why_idle(self, run: Run) -> str:
        model, where = self.config.models[run.model], self.config.file
        if self._is_of_the_whole(run.model):
            return f"its answers were made elsewhere, for all of {run.benchmark}, and '{self.config.name}' is a part."
        if run.model not in self.models:
            if ADAPTERS[model.adapter].is_paid(model.settings) and not self.budget.permits(model.price):
                named = "names no `price:`" if model.price is None else "names a `price:`"
                return (
                    f"its model is behind an API with a key and its file {named}, and "
                    f"`{needed_budget(model.price)}:` in {where} is 0."
                )
            needs = f" (it needs {model.gpus} GPUs)" if model.gpus else ""
            return f"`run:` in {where} does not select '{run.model}'{needs}."
        if not self.has_answers(run):
            return f"its answers are imported, and none lie in {FOLDER / run.benchmark / run.model}/."
        return f"no judge of {run.benchmark} runs here, or has rated it."

    @cached_property
    def data_benchmarks(self) -> list[str]:
        """The benchmarks whose videos this site works on: those with a run that looks at them."""
        return sorted({run.benchmark for run in self.runs() if run.model not in self.imports.models})
