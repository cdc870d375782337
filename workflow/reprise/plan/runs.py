"""Determine the runs and tables of a suite, and which of them this site can produce."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.benchmarks.registry import load_analyses, load_scores
from reprise.config.configuration import Configuration
from reprise.config.figures import Figure, TableFigure
from reprise.config.model import Model
from reprise.config.side_packages import list_packages, load_module
from reprise.config.suite import GpuLimit
from reprise.config.tables import Row, TableSpec
from reprise.config.temporal import PLANNED, temporal_rows
from reprise.core.errors import UserError, reject_unknown
from reprise.core.files import list_matching_files
from reprise.core.names import FIGURE, UNPINNED
from reprise.core.paths import FIGURES, OVERVIEW, RUN_NAME, TABLES, ManifestKind, Results, Run, ScoredRun
from reprise.core.store import Store
from reprise.external import IMPORTS_FOLDER
from reprise.fetch.settings import ReleaseHub
from reprise.models.adapters import ADAPTERS
from reprise.models.inference.money.prices import Budget, get_budget_setting
from reprise.plan.imported import ImportedFiles
from reprise.plan.name_matching import format_list, match_names, suggest_closest

if TYPE_CHECKING:  # That module imports this one.
    from reprise.plan.side_package import SidePackage


def run_from_row(benchmark: str, row: Row) -> Run | None:
    """Return the run that a table row shows, or None for chance, data statistics and published values."""
    if row.model is None or row.protocol is None or row.sampling is None or row.chance or row.dataset:
        return None
    return Run(benchmark, row.protocol, row.sampling, row.model)


class Plan:
    """Runs and tables of one suite, according to its configuration."""

    def __init__(self, config: Configuration, *, is_read_only: bool = False) -> None:
        """Create the plan of a configuration.

        By default, a plan records the digests of the files that it reads in the store. A read-only plan writes nothing.
        """
        self.config = config
        self.results = Results(config.name)
        self.store = Store(Path(config.main.store), is_read_only=is_read_only)
        self.packages = self._load_side_packages()
        self.imports = ImportedFiles(config, self.packages.values())
        self.budget = Budget(config.suite.budget_usd, config.suite.budget_tokens)
        self.selected_models = frozenset(
            slug for slug, model in config.models.items() if self._is_selected(slug, model)
        )
        self._judges_by_benchmark: dict[str, list[str]] = {}
        self._all_runs: list[Run] | None = None
        self._manifests: dict[tuple[ManifestKind, str], list[Path]] = {}
        # (benchmark, table or figure) -> the scored runs that it shows
        self._scored_runs_by_table: dict[tuple[str, str], list[ScoredRun]] = {}

    def _load_side_packages(self) -> "dict[str, SidePackage]":
        """Return the side packages that the suite needs, such as human evaluation, by name."""
        names = list_packages(self.config.suite.benchmarks.values())
        return {name: load_module(name, "plan").Package(self) for name in names}

    def _is_selected(self, slug: str, model: Model) -> bool:
        """Return whether this site runs a model: `run:` of the suite selects it, and a paid model has a budget."""
        is_over_budget = ADAPTERS[model.adapter].is_paid(model.settings) and not self.budget.permits(model.price)
        if slug in self.config.suite.skip or self._is_unsampled_import(slug) or is_over_budget:
            return False
        is_local = not model.is_remote and model.gpus == 0 and model.repo is None
        accepted_names = {slug, "all", *(["local"] if is_local else [])}
        for term in self.config.suite.run:
            if isinstance(term, GpuLimit):
                is_selected = not model.is_remote and model.gpus <= term.gpus
            else:
                is_selected = term in accepted_names
            if is_selected:
                return True
        return False

    def _is_unsampled_import(self, slug: str) -> bool:
        """Return whether a model has imported predictions for all items, but the suite is a sample of the items."""
        return self.config.limit is not None and self.config.is_import(slug)

    def list_tables(self) -> list[tuple[str, str, TableSpec]]:
        """Return every table of the suite with its benchmark and name."""
        return [
            (benchmark, table, spec)
            for benchmark, tables in self.config.tables.items()
            for table, spec in tables.tables.items()
        ]

    @cached_property
    def overview_specs(self) -> dict[str, TableSpec]:
        """Return each benchmark's part of the overview; empty if the suite has no overview."""
        specs = {benchmark: self.config.get_overview(benchmark) for benchmark in self.config.tables}
        return {benchmark: spec for benchmark, spec in specs.items() if spec is not None}

    def list_tables_and_overview(self) -> list[tuple[str, str, TableSpec]]:
        """Return every table and every part of the overview."""
        return [*self.list_tables(), *((benchmark, OVERVIEW, spec) for benchmark, spec in self.overview_specs.items())]

    def get_table(self, benchmark: str, table: str) -> TableSpec:
        """Return the specification of a table or of a part of the overview; raise a UserError without one."""
        name = f"{benchmark}/{table}"
        specs = {f"{slug}/{label}": spec for slug, label, spec in self.list_tables_and_overview()}
        reject_unknown("table", [name], specs, str(TABLES / name))
        return specs[name]

    def list_figures(self) -> list[tuple[str, str, Figure]]:
        """Return every figure of the suite with its benchmark and name."""
        return [
            (benchmark, figure, spec)
            for benchmark, figures in self.config.figures.items()
            for figure, spec in figures.figures.items()
        ]

    def get_figure(self, benchmark: str, figure: str) -> Figure:
        """Return the specification of a figure, or raise a UserError if it does not exist."""
        name = f"{benchmark}/{figure}"
        specs = {f"{slug}/{label}": spec for slug, label, spec in self.list_figures()}
        reject_unknown("figure", [name], specs, str(FIGURES / name))
        return specs[name]

    def table_parts(self, benchmark: str, name: str) -> list[tuple[str, TableSpec]]:
        """Return the tables behind a table or figure, by name, each reduced to the part that is shown."""
        if not re.match(FIGURE, name):
            return [(name, self.get_table(benchmark, name))]
        spec = self.get_figure(benchmark, name)
        parts = spec.of if isinstance(spec, TableFigure) else []
        return [(part.table, part.select(self.get_table(benchmark, part.table))) for part in parts]

    def benchmarks_by_table(self) -> dict[str, list[str]]:
        """Return, for each table name such as `table3`, the benchmarks whose papers have a table of this number."""
        names = sorted({table for _, table, _ in self.list_tables()}, key=lambda name: int(name.removeprefix("table")))
        return {name: [benchmark for benchmark, table, _ in self.list_tables() if table == name] for name in names}

    def list_manifests(self, stage: ManifestKind, benchmark: str) -> list[Path]:
        """Return the paths of a stage's manifests, one for each shard."""
        if (stage, benchmark) not in self._manifests:
            shards = range(self.config.suite.shards)
            self._manifests[stage, benchmark] = [self.results.manifest(stage, benchmark, shard) for shard in shards]
        return self._manifests[stage, benchmark]

    def compute_digests(self, files: Iterable[str | Path]) -> dict[str, str]:
        """Return a mapping of each file's path to its digest."""
        return {str(path): self.store.digest(Path(path)) for path in files}

    def compute_folder_digests(self, folder: str, patterns: Sequence[str]) -> dict[str, str]:
        """Return the digests of the files in a user's folder that match a pattern, by file name."""
        return {name: self.store.digest(path) for name, path in list_matching_files(Path(folder), patterns).items()}

    def compute_optional_digest(self, file: str | Path | None) -> str:
        """Return the digest of a file, or an empty text if it is missing. The stage that reads it reports the error."""
        return self.store.digest(Path(file)) if file and Path(file).is_file() else ""

    def has_release(self, benchmark: str) -> bool:
        """Return whether a benchmark's release is available."""
        release = self.config.suite.benchmarks[benchmark].release
        return not (isinstance(release, ReleaseHub) and release.revision == UNPINNED)

    def needs_statistics(self, benchmark: str, spec: TableSpec) -> bool:
        """Return whether a table shows data statistics or a chance level computed from data that are available."""
        if not self.has_release(benchmark):
            return False
        metrics = {metric for column in spec.columns for metric in spec.list_metrics(column)}
        # `CHANCE` maps a metric to None if its chance level is computed from the data.
        is_chance_computed = any(
            metric in metrics and level is None for metric, level in load_scores(benchmark).CHANCE.items()
        )
        return any(row.dataset or (row.chance and is_chance_computed) for row in spec.rows())

    def benchmark_judges(self, benchmark: str) -> list[str]:
        """Return the judges of a benchmark: first those that run here, then those with imported ratings."""
        if benchmark not in self._judges_by_benchmark:
            overrides = self.config.suite.benchmarks[benchmark].judges
            runs = [Run.parse(f"{benchmark}/{name}") for name in sorted(self.config.list_runs(benchmark))]
            imported = self.imports.judges(benchmark, [run for run in runs if run.model in self.selected_models])
            candidates = [*(self.config.suite.judges if overrides is None else overrides), *imported]
            self._judges_by_benchmark[benchmark] = [
                slug for slug in dict.fromkeys(candidates) if slug in self.selected_models
            ]
        return self._judges_by_benchmark[benchmark]

    def find_judge(self, run: Run) -> str:
        """Return the judge of a run, or raise a UserError if no judge can rate the run."""
        judge = self._select_judge(run, self.benchmark_judges(run.benchmark))
        if judge is None:
            raise UserError(
                f"suite '{self.config.name}': no judge of {run.benchmark} runs here, and none has rated {run.name}. "
                "Name one in `judges:` and in `run:`."
            )
        return judge

    def _select_judge(self, run: Run, judges: Iterable[str]) -> str | None:
        """Return the first of these judges that rates a run here or whose ratings of it were imported."""
        candidates = (
            judge for judge in judges if judge in self.benchmark_judges(run.benchmark) and self.has_ratings(run, judge)
        )
        return next(candidates, None)

    def judges(self) -> set[str]:
        """Return the judges of all benchmarks."""
        return {judge for benchmark in self.config.benchmarks for judge in self.benchmark_judges(benchmark)}

    def is_judged(self, benchmark: str, protocol: str) -> bool:
        """Return whether a judge rates the answers to a protocol."""
        return self.config.benchmarks[benchmark].protocols[protocol].judge is not None

    def find_scored_run(self, benchmark: str, row: Row) -> ScoredRun | None:
        """Return the scored run of a table cell, or None if this site cannot produce it.

        The judge is the first one that the row or the benchmark names and that can rate the run.
        """
        run = run_from_row(benchmark, row)
        if run is None or run.model not in self.selected_models or not self.has_answers(run):
            return None
        if not self.is_judged(benchmark, run.protocol):
            return ScoredRun(run)
        judge = self._select_judge(run, row.judges or self.benchmark_judges(benchmark))
        return ScoredRun(run, judge) if judge else None

    def find_unjudged_runs(self, benchmark: str, cells: Iterable[Row]) -> list[Run]:
        """Return the runs of these table cells that this site can produce but no judge rates."""
        runs = {run for cell in cells if not cell.judges and (run := run_from_row(benchmark, cell))}
        judged_runs = [
            run for run in runs if run.model in self.selected_models and self.is_judged(benchmark, run.protocol)
        ]
        judges = self.benchmark_judges(benchmark)
        return sorted(run for run in judged_runs if self.has_answers(run) and self._select_judge(run, judges) is None)

    def has_answers(self, run: Run) -> bool:
        """Return whether a run's answers are computed here or were imported."""
        return run.model not in self.imports.models or bool(self.imports.answer_files(run))

    def has_ratings(self, run: Run, judge: str) -> bool:
        """Return whether a judge rates a run here or its ratings were imported."""
        return judge not in self.imports.models or bool(self.imports.rating_files(run, judge))

    def needs_clip_metadata(self, benchmark: str) -> bool:
        """Return whether the analyses of a benchmark need clip metadata that this site can compute.

        Without a run that queries a model, no videos are fetched, so there is no clip metadata.
        """
        analyses = load_analyses(benchmark)
        return analyses is not None and analyses.needs_clip_metadata and benchmark in self.data_benchmarks

    def table_scored_runs(self, benchmark: str, name: str) -> list[ScoredRun]:
        """Return the scored runs of a table, figure or part of the overview that this site can produce."""
        if (benchmark, name) not in self._scored_runs_by_table:
            cells = [cell for _, spec in self.table_parts(benchmark, name) for cell in spec.cells()]
            self._scored_runs_by_table[benchmark, name] = self.select_scored_runs(benchmark, cells)
        return self._scored_runs_by_table[benchmark, name]

    def select_scored_runs(self, benchmark: str, cells: Iterable[Row]) -> list[ScoredRun]:
        """Return the scored runs of these table cells that this site can produce."""
        return sorted({scored for cell in cells if (scored := self.find_scored_run(benchmark, cell))})

    def overview_scored_runs(self) -> list[ScoredRun]:
        """Return the scored runs of the overview."""
        return [
            scored
            for benchmark in sorted(self.overview_specs)
            for scored in self.table_scored_runs(benchmark, OVERVIEW)
        ]

    @cached_property
    def temporal_profiles(self) -> dict[str, dict[str, dict[str, ScoredRun | str]]]:
        """Return the temporal profiles that this site can produce, by model.

        Each profile maps benchmark -> condition -> the scored run, or the reason why this site cannot produce it.
        """
        profiles = {
            slug: {
                benchmark: {
                    condition: self._find_condition(benchmark, condition, row) for condition, row in conditions.items()
                }
                for benchmark, conditions in benchmarks.items()
            }
            for slug, benchmarks in temporal_rows(self.config).items()
        }
        return {slug: benchmarks for slug, benchmarks in profiles.items() if self._list_scored_conditions(benchmarks)}

    def _find_condition(self, benchmark: str, condition: str, row: Row | str) -> ScoredRun | str:
        """Return the scored run of a condition, or the reason why this site cannot produce it."""
        if isinstance(row, str):
            return row
        run = run_from_row(benchmark, row)
        assert run is not None
        # A file in the model's shared folder may fit several runs. It belongs to the run that a table shows.
        if condition != PLANNED and run.model in self.imports.models and not self.imports.find_run_folder_files(run):
            folder = IMPORTS_FOLDER / run.benchmark / run.model / run.protocol / run.sampling
            return f"its answers are imported, and {folder}/ has none."
        return self.find_scored_run(benchmark, row) or self.explain_skipped_run(run)

    def temporal_scored_runs(self, slugs: Iterable[str]) -> list[ScoredRun]:
        """Return the scored runs of the temporal profiles of these models."""
        return sorted(
            {scored for slug in slugs for scored in self._list_scored_conditions(self.temporal_profiles[slug])}
        )

    def _list_scored_conditions(self, profile: Mapping[str, Mapping[str, ScoredRun | str]]) -> list[ScoredRun]:
        """Return the scored runs of a temporal profile, without the conditions that this site cannot produce."""
        return [
            scored for conditions in profile.values() for scored in conditions.values() if isinstance(scored, ScoredRun)
        ]

    def runs(self) -> list[Run]:
        """Return all runs of the suite: those of its tables, overview and temporal profiles, and its extra runs."""
        if self._all_runs is None:
            extra_runs = {
                Run.parse(f"{benchmark}/{run_name}")
                for benchmark, settings in self.config.suite.benchmarks.items()
                for run_name in settings.extra_runs
            }
            self._all_runs = sorted({scored.run for scored in self._collect_scored_runs()} | extra_runs)
        return self._all_runs

    def scored_runs(self) -> list[ScoredRun]:
        """Return all runs of the suite as scored runs.

        A run has each judge that a table shows. A run that no table shows has its first judge, or none.
        """
        scored_runs = self._collect_scored_runs()
        for run in set(self.runs()) - {scored.run for scored in scored_runs}:
            judges = self.benchmark_judges(run.benchmark) if self.is_judged(run.benchmark, run.protocol) else []
            scored_runs.add(ScoredRun(run, self._select_judge(run, judges) or ""))
        return sorted(scored_runs)

    def _collect_scored_runs(self) -> set[ScoredRun]:
        scored_runs = {
            scored
            for benchmark, table, _ in self.list_tables_and_overview()
            for scored in self.table_scored_runs(benchmark, table)
        }
        return scored_runs | set(self.temporal_scored_runs(self.temporal_profiles))

    def planned_samplings(self, benchmark: str) -> list[str]:
        """Return the samplings whose frames are planned: those without a transform, and those that a run uses."""
        main, used_samplings = self.config.main, {run.sampling for run in self.runs() if run.benchmark == benchmark}
        return [name for name in main.samplings if name in used_samplings or not main.is_transformed(name)]

    def find_run(self, name: str) -> Run:
        """Return the run that a name or abbreviation matches, or raise a UserError if none or several match."""
        runs = {run.name: run for run in self.runs()}
        matches = match_names(name, runs)
        if len(matches) == 1:
            return runs[matches[0]]
        suite = f"suite '{self.config.name}'"
        if matches:
            raise UserError(
                f"'{name}' matches {len(matches)} runs of {suite}: {format_list(matches)}. Add another part: "
                f"{RUN_NAME}."
            )
        suite_runs = {
            f"{benchmark}/{run}" for benchmark in self.config.benchmarks for run in self.config.list_runs(benchmark)
        }
        skipped_runs = sorted(suite_runs - runs.keys())
        skipped_matches = match_names(name, skipped_runs)
        if len(skipped_matches) == 1:
            raise UserError(
                f"{skipped_matches[0]}: {suite} shows this run, but does not compute it: "
                f"{self.explain_skipped_run(Run.parse(skipped_matches[0]))}"
            )
        raise UserError(
            f"no run '{name}' in {suite}.{suggest_closest(name, [*runs, *skipped_runs])} A run is named {RUN_NAME}, "
            "or by enough of these parts to be unique; `reprise runs` lists the runs."
        )

    def explain_skipped_run(self, run: Run) -> str:
        """Return the reason why this site does not produce a run."""
        model, suite_file = self.config.models[run.model], self.config.suite_file
        if self._is_unsampled_import(run.model):
            return f"its answers are imported for all of {run.benchmark}, but suite '{self.config.name}' is a sample."
        if run.model not in self.selected_models:
            if ADAPTERS[model.adapter].is_paid(model.settings) and not self.budget.permits(model.price):
                price_state = "names no `price:`" if model.price is None else "names a `price:`"
                return (
                    f"its model has a paid API, its file {price_state}, and `{get_budget_setting(model.price)}:` in "
                    f"{suite_file} is 0."
                )
            needs = f" (it needs {model.gpus} GPUs)" if model.gpus else ""
            return f"`run:` in {suite_file} does not select '{run.model}'{needs}."
        if not self.has_answers(run):
            return f"its answers are imported, and {IMPORTS_FOLDER / run.benchmark / run.model}/ has none."
        return f"no judge of {run.benchmark} runs here, and none has rated it."

    @cached_property
    def data_benchmarks(self) -> list[str]:
        """Return the benchmarks whose videos this site processes, because a run queries a model about them."""
        return sorted({run.benchmark for run in self.runs() if run.model not in self.imports.models})
