"""Keys and input functions for tables.smk and figures.smk: tables, figures, the overview and comparisons."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reprise.config.figures import Distribution, Figure, Scatter, compute_width
from reprise.config.suite import SubsetDraw
from reprise.config.tables import TableSpec
from reprise.core.errors import UserError
from reprise.core.paths import (
    JUDGES,
    OVERVIEW,
    READABLE_FORMATS,
    TABLES,
    Run,
    ScoredRun,
    collected_table_file,
    figure_file,
    overview_file,
    reproduction_file,
    settings_name,
    table_file,
)
from reprise.core.settings import Key
from reprise.figures.keys import FigureKey, PdfKey
from reprise.media.sampling import count_frames
from reprise.models.adapters import ADAPTERS
from reprise.plan.figure_styles import assign_model_styles
from reprise.plan.forecast import is_made_here
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.targets import list_compared_runs, list_judge_pairs
from reprise.tables.keys import AgreementKey, JudgePairKey, OverviewKey, ReproductionKey, TableKey, TableTitle
from reprise.tables.published import published_path


def make_table_key(plan: Plan, benchmark: str, table: str, spec: TableSpec) -> TableKey:
    """Return the key of a table, or of the part of a table that a figure or the overview shows."""
    suite, settings, models = plan.config.suite, plan.config.benchmarks[benchmark], plan.config.models
    cells = spec.cells()
    scored = plan.select_scored_runs(benchmark, cells)
    judged_protocols = tuple(name for name in settings.protocols if plan.is_judged(benchmark, name))
    judges = plan.benchmark_judges(benchmark) if judged_protocols else []
    slugs = {cell.model for cell in cells if cell.model is not None}
    rules, samplings = plan.config.main.samplings, sorted({cell.sampling for cell in cells if cell.sampling})
    return TableKey(
        suite=plan.config.name,
        suite_title=suite.title,
        notice=suite.notice,
        benchmark=benchmark,
        benchmark_title=settings.title,
        paper=settings.paper,
        table=table,
        show_published=suite.show_published,
        published_sha256=plan.compute_optional_digest(published_path(benchmark) if suite.show_published else None),
        spec=spec,
        # Only a comparison of groups depends on the confidence level.
        **({"confidence": plan.config.main.confidence} if spec.compared_with else {}),
        forms={name: protocol.form for name, protocol in settings.protocols.items()},
        frames_min={name: protocol.frames_min for name, protocol in settings.protocols.items() if protocol.frames_min},
        frames={name: count for name in samplings if (count := count_frames(rules[name])) is not None},
        runs=tuple(scored_run.name for scored_run in scored),
        imported_runs=tuple(
            scored_run.name for scored_run in scored if {scored_run.run.model, scored_run.judge} & plan.imports.models
        ),
        judge_order=tuple(judges),
        unjudged_runs=tuple(run.name for run in plan.find_unjudged_runs(benchmark, cells)),
        judged_protocols=judged_protocols,
        judges={judge: models[judge].label for judge in judges},
        abbreviations=plan.config.tables[benchmark].abbreviations,
        reference_models=tuple(sorted(slug for slug in slugs if models[slug].reference)),
        quantised={slug: quantised for slug in sorted({*slugs, *judges}) if (quantised := models[slug].quantised)},
        missing_share_max=suite.missing_share_max,
        failed_share_max=suite.failed_share_max,
    )


class TableInputs(RuleInputs):
    """Input functions for the rules of tables, figures and the overview. The rule of the overview has no wildcards."""

    def metrics(self, wildcards: Any) -> list[Path]:
        """Return the metrics of the scored runs."""
        return [self._results.metrics(scored) for scored in self._scored_runs(wildcards)]

    def problems(self, wildcards: Any) -> list[Path]:
        """Return the files with the problems of imported answers and ratings."""
        scored, imported = self._scored_runs(wildcards), self._plan.imports.models
        answers = [ScoredRun(scored_run.run) for scored_run in scored if scored_run.run.model in imported]
        ratings = [scored_run for scored_run in scored if scored_run.judge in imported]
        return [self._results.import_problems(scored_run) for scored_run in (*answers, *ratings)]

    def published_values(self, wildcards: Any) -> list[Path]:
        """Return the files of published values."""
        benchmarks = [wildcards.benchmark] if hasattr(wildcards, "benchmark") else self._plan.overview_specs
        return [published_path(benchmark) for benchmark in benchmarks] if self._plan.config.suite.show_published else []

    def statistics(self, wildcards: Any) -> list[Path]:
        """Return the data statistics, if the table or figure shows them or a chance level computed from them."""
        parts = self._plan.table_parts(wildcards.benchmark, self._table_or_figure(wildcards))
        is_needed = any(self._plan.needs_statistics(wildcards.benchmark, spec) for _, spec in parts)
        return [self._results.statistics(wildcards.benchmark)] if is_needed else []

    def category(self, wildcards: Any) -> str:
        """Return the category in Snakemake's report: the title of the benchmark."""
        return self._plan.config.benchmarks[wildcards.benchmark].title

    def caption(self, wildcards: Any) -> str:
        """Return the caption of a table or figure for Snakemake's report."""
        spec = self._get_spec(wildcards)
        return self.make_caption(f"{spec.title}. {spec.caption}")

    def make_caption(self, body: str) -> str:
        """Return a caption that begins with the suite's notice.

        Punctuation is escaped, because Snakemake parses captions as reStructuredText.
        """
        text = " ".join(f"{self._plan.config.suite.notice} {body}".split())
        return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", text)

    def _table_or_figure(self, wildcards: Any) -> str:
        """Return the name of the table or figure that a rule makes; empty for the overview."""
        return str(getattr(wildcards, "table", "") or getattr(wildcards, "figure", ""))

    def _get_spec(self, wildcards: Any) -> TableSpec | Figure:
        get_spec = self._plan.get_figure if hasattr(wildcards, "figure") else self._plan.get_table
        return get_spec(wildcards.benchmark, self._table_or_figure(wildcards))

    def _scored_runs(self, wildcards: Any) -> Sequence[ScoredRun]:
        name = self._table_or_figure(wildcards)
        return self._plan.table_scored_runs(wildcards.benchmark, name) if name else self._plan.overview_scored_runs()


class TableRules(TableInputs):
    """Settings and input functions of tables.smk."""

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the key of each stage of tables.smk, with its name."""
        config, overview_specs = self._plan.config, self._plan.overview_specs
        for benchmark, table, spec in self._plan.list_tables():
            table_settings = make_table_key(self._plan, benchmark, table, spec)
            yield settings_name("tables", benchmark, table), run_keys.add_versions("table", table_settings, benchmark)
        if overview_specs:
            overview = OverviewKey(
                suite=config.name,
                confidence=config.main.confidence,
                parts=tuple(make_table_key(self._plan, name, OVERVIEW, spec) for name, spec in overview_specs.items()),
                default_conditions={
                    name: defaults for name in overview_specs if (defaults := config.tables[name].overview)
                },
                protocols_without_scores={
                    name: protocols for name in overview_specs if (protocols := self._protocols_without_scores(name))
                },
                gpus={line.model: config.models[line.model].gpus for line in config.suite.overview_lines()},
            )
            yield settings_name("tables", OVERVIEW), run_keys.add_versions("overview", overview, *overview_specs)
        if pairs := list_judge_pairs(self._plan):
            agreement = AgreementKey(
                suite=config.name,
                suite_title=config.suite.title,
                notice=config.suite.notice,
                confidence=config.main.confidence,
                pairs=tuple(
                    JudgePairKey(
                        benchmark=pair.benchmark,
                        title=f"{config.benchmarks[pair.benchmark].title}, {pair.protocol}",
                        judges=pair.judges,
                        runs=tuple(run.name for run in pair.runs),
                    )
                    for pair in pairs
                ),
                judges={judge: config.models[judge].label for pair in pairs for judge in pair.judges},
            )
            yield settings_name("tables", JUDGES), run_keys.add_versions("agreement", agreement)
        if config.suite.show_published:
            titles = [
                TableTitle(
                    table=f"{benchmark}/{table}",
                    paper=config.benchmarks[benchmark].title,
                    number=f"Table {table.removeprefix('table')}",
                    title=spec.title,
                )
                for benchmark, table, spec in self._plan.list_tables()
            ]
            reproduction = ReproductionKey(
                suite=config.name,
                suite_title=config.suite.title,
                notice=config.suite.notice,
                confidence=config.main.confidence,
                titles=tuple(titles),
                paper_judges={
                    f"{benchmark}/{table}": spec.judge
                    for benchmark, table, spec in self._plan.list_tables()
                    if spec.judge
                },
                judges={judge: config.models[judge].label for judge in sorted(self._plan.judges())},
                conditions={run.name: tuple(self._conditions(run)) for run in self._plan.runs()},
                obstacles={name: reasons for name, reasons in self._obstacles() if reasons},
                margins={
                    name: dict(benchmark.margins) for name, benchmark in config.benchmarks.items() if benchmark.margins
                },
            )
            yield settings_name("reproduction"), run_keys.add_versions("reproduction", reproduction)

    def _protocols_without_scores(self, benchmark: str) -> tuple[str, ...]:
        """Return the protocols that request text, if the default protocol of the overview requests scores."""
        protocols, overview = (
            self._plan.config.benchmarks[benchmark].protocols,
            self._plan.config.tables[benchmark].overview,
        )
        if overview is None or protocols[overview.protocol].request_type != "score":
            return ()
        return tuple(name for name, protocol in protocols.items() if protocol.request_type in ("choose", "write"))

    def _conditions(self, run: Run) -> Iterator[str]:
        """Yield the conditions of a run that may differ from those of a paper."""
        yield f"protocol {run.protocol}"
        yield f"frames {run.sampling}"
        model = self._plan.config.models[run.model]
        if run.model in self._plan.imports.models:
            return
        if model.repo:
            yield f"revision {str(model.revision)[:12]}"
        if ADAPTERS[model.adapter].needs_weights:
            yield f"weights in {model.dtype if model.dtype != 'checkpoint' else 'the type of the checkpoint'}"

    def _obstacles(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each run, judge and benchmark's data with the reasons why its numbers differ from published ones."""
        for benchmark in self._plan.config.benchmarks:
            yield f"{benchmark}/data", tuple(self._data_obstacles(benchmark))
        for judge in self._plan.judges():
            yield judge, tuple(f"judge {reason}" for reason in self._model_obstacles(judge))
        for run in self._plan.runs():
            protocol = self._plan.config.benchmarks[run.benchmark].protocols[run.protocol]
            subset = self._plan.config.suite.benchmarks[run.benchmark].subset
            has_other_subset = protocol.items == "subset" and isinstance(subset, SubsetDraw)
            reasons = [*self._data_obstacles(run.benchmark), *self._model_obstacles(run.model)]
            yield run.name, (*reasons, *(["another subset than the paper's"] if has_other_subset else []))

    def _data_obstacles(self, benchmark: str) -> Iterator[str]:
        config = self._plan.config
        if config.limit is not None:
            yield f"only {config.limit} items per benchmark (--limit)"
        if is_made_here(self._plan, benchmark):
            yield "not the released data"

    def _model_obstacles(self, slug: str) -> Iterator[str]:
        if baseline := self._plan.config.suite.baseline:
            yield f"replaced by {baseline}"
        if quantised := self._plan.config.models[slug].quantised:
            yield f"quantised: {quantised}"

    def output_files(self) -> list[Path]:
        """Return the outputs for readers: all tables, the overview, and the verdicts of the reproduction."""
        tables = [
            collected_table_file(table, kind) for table in self._plan.benchmarks_by_table() for kind in READABLE_FORMATS
        ]
        overview = [overview_file(kind) for kind in READABLE_FORMATS if self._plan.overview_specs]
        reproduction = [reproduction_file("md")] if self._plan.config.suite.show_published else []
        return [*tables, *overview, *reproduction]

    def table_files(self, kind: str = "csv") -> list[Path]:
        """Return every table of the suite in one format."""
        return [table_file(benchmark, table, kind) for benchmark, table, _ in self._plan.list_tables()]

    def latex_files(self) -> list[Path]:
        """Return every table of the suite, and the overview, as LaTeX."""
        overview = [overview_file("tex")] if self._plan.overview_specs else []
        return [*self.table_files("tex"), *overview]

    def parts(self, wildcards: Any) -> list[Path]:
        """Return all papers' tables with one number, or raise a UserError if no paper of the suite has such a table."""
        benchmarks_by_table = self._plan.benchmarks_by_table()
        if wildcards.table not in benchmarks_by_table:
            names = ", ".join(f"{name} ({', '.join(benchmarks)})" for name, benchmarks in benchmarks_by_table.items())
            raise UserError(
                f"{TABLES / wildcards.table}: no paper of suite '{self._plan.config.name}' has it. Available: {names}."
            )
        return [
            table_file(benchmark, wildcards.table, kind)
            for benchmark in benchmarks_by_table[wildcards.table]
            for kind in READABLE_FORMATS
        ]

    def answer_problems(self, wildcards: Any) -> list[Path]:
        """Return the files with the problems of the imported answers of all tables."""
        tables = [self._plan.table_scored_runs(benchmark, table) for benchmark, table, _ in self._plan.list_tables()]
        runs = sorted({scored.run for scored_runs in tables for scored in scored_runs})
        imported = self._plan.imports.models
        return [self._results.import_problems(ScoredRun(run)) for run in runs if run.model in imported]

    def timings(self, wildcards: Any) -> list[Path]:
        """Return the timings of all runs except imported ones."""
        runs = sorted({scored.run for scored in self._scored_runs(wildcards)})
        return [self._results.timings(run) for run in runs if run.model not in self._plan.imports.models]

    def labels(self, wildcards: Any) -> dict[str, str]:
        """Return the labels of a table in Snakemake's report, which lists outputs by these labels."""
        return {"what": f"Table {wildcards.table.removeprefix('table')}", "title": self._get_spec(wildcards).title}

    def compared_items(self, wildcards: Any) -> list[Path]:
        """Return the items of all runs on which pairs of judges are compared."""
        return sorted({self._results.items(scored.run.benchmark) for scored in list_compared_runs(self._plan)})

    def compared_verdicts(self, wildcards: Any) -> list[Path]:
        """Return the verdicts of all runs on which pairs of judges are compared."""
        return [self._results.verdicts(scored.run, scored.judge) for scored in list_compared_runs(self._plan)]


class FigureRules(TableInputs):
    """Settings and input functions of figures.smk."""

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the key of each stage of figures.smk, with its name."""
        config, suite = self._plan.config, self._plan.config.suite
        captions: dict[str, str] = {}  # `<benchmark>/<figure>` -> caption
        styles = assign_model_styles(self._plan)
        for benchmark, figure, spec in self._plan.list_figures():
            parts = self._plan.table_parts(benchmark, figure)
            models = {cell.model for _, part in parts for cell in part.cells() if cell.model is not None}
            key = FigureKey(
                suite=config.name,
                notice=suite.notice,
                benchmark=benchmark,
                benchmark_title=config.benchmarks[benchmark].title,
                figure=figure,
                spec=spec,
                width=compute_width(suite.figure_width, spec.width),
                styles={model: styles[model] for model in sorted(models)},
                parts=tuple(make_table_key(self._plan, benchmark, table, part) for table, part in parts),
                show_published=suite.show_published,
                published_sha256=self._plan.compute_optional_digest(
                    published_path(benchmark) if suite.show_published else None
                ),
            )
            captions[f"{benchmark}/{figure}"] = key.full_caption
            yield settings_name("figures", benchmark, figure), run_keys.add_versions("figure", key, benchmark)
        yield "tables_pdf", run_keys.add_versions("tables_pdf", PdfKey())
        yield "suite_pdf", run_keys.add_versions("tables_pdf", PdfKey(captions=captions))

    def figure_files(self, kind: str = "png") -> list[Path]:
        """Return every figure of the suite in one format."""
        return [figure_file(benchmark, figure, kind) for benchmark, figure, _ in self._plan.list_figures()]

    def verdicts(self, wildcards: Any) -> list[Path]:
        """Return the verdicts of the runs that a scatter plot shows."""
        scored_runs = self._scored_runs(wildcards) if isinstance(self._get_spec(wildcards), Scatter) else []
        return [self._results.verdicts(scored.run, scored.judge or "robust") for scored in scored_runs]

    def items(self, wildcards: Any) -> list[Path]:
        """Return the items, if the figure is a scatter plot of runs or shows the distribution of available items."""
        spec, benchmark = self._get_spec(wildcards), wildcards.benchmark
        is_counted = (
            isinstance(spec, Distribution)
            and spec.construction_statistics is None
            and self._plan.has_release(benchmark)
        )
        is_shown = isinstance(spec, Scatter) and self._scored_runs(wildcards)
        return [self._results.items(benchmark)] if is_counted or is_shown else []

    def clip_metadata(self, wildcards: Any) -> list[Path]:
        """Return the clip metadata if the figure shows its distribution."""
        spec, benchmark = self._get_spec(wildcards), wildcards.benchmark
        is_needed = isinstance(spec, Distribution) and spec.measurement is not None
        return [self._results.clip_metadata(benchmark)] if is_needed and benchmark in self._plan.data_benchmarks else []

    def construction_statistics(self, wildcards: Any) -> list[Path]:
        """Return the construction's counts if the figure shows them and the suite constructs the benchmark."""
        spec, benchmark = self._get_spec(wildcards), wildcards.benchmark
        is_constructed = self._plan.config.suite.benchmarks[benchmark].construction is not None
        is_needed = is_constructed and isinstance(spec, Distribution) and spec.construction_statistics is not None
        return [self._results.construction(benchmark, "statistics.parquet")] if is_needed else []

    def labels(self, wildcards: Any) -> dict[str, str]:
        """Return the labels of a figure in Snakemake's report."""
        number = wildcards.figure.removeprefix("fig")
        label = f"Figure {number}" if number.isdecimal() else "Our analysis"
        return {"what": label, "title": self._get_spec(wildcards).title}
