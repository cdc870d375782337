"""For tables.smk: one paper's tables, those of all papers, the overview, and what compares numbers."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reprise.config.figures import Distribution, Figure, Scatter
from reprise.config.tables import TableSpec
from reprise.core.errors import UserError
from reprise.core.paths import (
    JUDGES,
    OVERVIEW,
    READ_AS,
    TABLES,
    Run,
    Scored,
    collected_table_file,
    figure_file,
    overview_file,
    reproduction_file,
    settings_name,
    table_file,
)
from reprise.core.settings import Key
from reprise.figures.keys import FigureKey, PdfKey
from reprise.media.sampling import frames_shown
from reprise.models.adapters import ADAPTERS
from reprise.plan.rules import Asked
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.targets import compared, judge_pairs
from reprise.tables.keys import AgreementKey, JudgePairKey, OverviewKey, ReproductionKey, TableKey, Title
from reprise.tables.published import published_file


def table_key(plan: Plan, runs: RunKeys, benchmark: str, table: str, spec: TableSpec) -> TableKey:
    """The key of a table, or of a part of one that a figure or the overview shows."""
    suite, settings, models = plan.config.suite, plan.config.benchmarks[benchmark], plan.config.models
    cells = spec.cells()
    scored = plan.scored_of(benchmark, cells)
    judged = tuple(name for name in settings.protocols if plan.is_judged(benchmark, name))
    judges = plan.judges_of(benchmark) if judged else []
    shown = {cell.model for cell in cells if cell.model is not None}
    settled, samplings = plan.config.main.samplings, sorted({cell.sampling for cell in cells if cell.sampling})
    return TableKey(
        suite=plan.config.name,
        suite_title=suite.title,
        notice=suite.notice,
        benchmark=benchmark,
        benchmark_title=settings.title,
        paper=settings.paper,
        table=table,
        show_published=suite.show_published,
        published_sha256=plan.digest_of(published_file(benchmark) if suite.show_published else None),
        spec=spec,
        forms={name: protocol.form for name, protocol in settings.protocols.items()},
        frames_min={name: one.frames_min for name, one in settings.protocols.items() if one.frames_min},
        frames={name: count for name in samplings if (count := frames_shown(settled[name])) is not None},
        runs=tuple(one.name for one in scored),
        imported=tuple(one.name for one in scored if {one.run.model, one.judge} & plan.imports.models),
        judge_order=tuple(judges),
        unjudged=tuple(run.name for run in plan.unjudged(benchmark, cells)),
        judged=judged,
        judges={one: models[one].label for one in judges},
        abbreviations=plan.config.tables[benchmark].abbreviations,
        references=tuple(sorted(one for one in shown if models[one].reference)),
        quantised={slug: how for slug in sorted({*shown, *judges}) if (how := models[slug].quantised)},
        missing_share_max=suite.missing_share_max,
        failed_share_max=suite.failed_share_max,
    )


class Shown(Asked):
    """What the rules of tables and of figures ask alike, and that of the overview, which has no wildcards."""

    def metrics(self, wildcards: Any) -> list[Path]:
        return [self._results.metrics(one) for one in self._scored(wildcards)]

    def problems(self, wildcards: Any) -> list[Path]:
        scored, imported = self._scored(wildcards), self._plan.imports.models
        answers = [Scored(one.run) for one in scored if one.run.model in imported]
        ratings = [one for one in scored if one.judge in imported]
        return [self._results.import_problems(one) for one in (*answers, *ratings)]

    def published(self, wildcards: Any) -> list[Path]:
        shown = [wildcards.benchmark] if hasattr(wildcards, "benchmark") else self._plan.overview
        return [published_file(one) for one in shown] if self._plan.config.suite.show_published else []

    def statistics(self, wildcards: Any) -> list[Path]:
        """Numbers of the data, or chances that are counted from them, where they are shown and the data are here."""
        parts = self._plan.parts_of(wildcards.benchmark, self._name(wildcards))
        is_needed = any(self._plan.shows_data(wildcards.benchmark, spec) for _, spec in parts)
        return [self._results.statistics(wildcards.benchmark)] if is_needed else []

    def category(self, wildcards: Any) -> str:
        return self._plan.config.benchmarks[wildcards.benchmark].title

    def caption(self, wildcards: Any) -> str:
        spec = self._spec(wildcards)
        return self.caption_of(f"{spec.title}. {spec.caption}")

    def caption_of(self, words: str) -> str:
        """A caption, behind the suite's notice; reStructuredText, in which Snakemake takes it, shows it as it is."""
        text = " ".join(f"{self._plan.config.suite.notice} {words}".split())
        return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", text)

    def _name(self, wildcards: Any) -> str:
        return str(getattr(wildcards, "table", "") or getattr(wildcards, "figure", ""))

    def _spec(self, wildcards: Any) -> TableSpec | Figure:
        kind = self._plan.figure if hasattr(wildcards, "figure") else self._plan.table
        return kind(wildcards.benchmark, self._name(wildcards))

    def _scored(self, wildcards: Any) -> Sequence[Scored]:
        name = self._name(wildcards)
        return self._plan.table_scored(wildcards.benchmark, name) if name else self._plan.overview_scored()


class Tables(Shown):
    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Key]]:
        config, shown, key = self._plan.config, self._plan.overview, settings_name
        for benchmark, table, spec in self._plan.tables():
            of_table = table_key(self._plan, runs, benchmark, table, spec)
            yield key("tables", benchmark, table), runs.versioned("table", of_table, benchmark)
        if shown:
            overview = OverviewKey(
                suite=config.name,
                confidence=config.main.confidence,
                parts=tuple(table_key(self._plan, runs, name, OVERVIEW, spec) for name, spec in shown.items()),
                of_all={name: main for name in shown if (main := config.tables[name].overview)},
                gpus={line.model: config.models[line.model].gpus for line in config.suite.overview_lines()},
            )
            yield key("tables", OVERVIEW), runs.versioned("overview", overview, *shown)
        if pairs := judge_pairs(self._plan):
            agreement = AgreementKey(
                suite=config.name,
                suite_title=config.suite.title,
                notice=config.suite.notice,
                confidence=config.main.confidence,
                pairs=tuple(
                    JudgePairKey(
                        benchmark=one.benchmark,
                        title=f"{config.benchmarks[one.benchmark].title}, {one.protocol}",
                        judges=one.judges,
                        runs=tuple(run.name for run in one.runs),
                    )
                    for one in pairs
                ),
                judges={judge: config.models[judge].label for one in pairs for judge in one.judges},
            )
            yield key("tables", JUDGES), runs.versioned("agreement", agreement)
        if config.suite.show_published:
            titles = [
                Title(
                    table=f"{benchmark}/{table}",
                    paper=config.benchmarks[benchmark].title,
                    number=f"Table {table.removeprefix('table')}",
                    title=spec.title,
                )
                for benchmark, table, spec in self._plan.tables()
            ]
            reproduction = ReproductionKey(
                suite=config.name,
                suite_title=config.suite.title,
                notice=config.suite.notice,
                confidence=config.main.confidence,
                titles=tuple(titles),
                judges_of_paper={f"{one}/{table}": s.judge for one, table, s in self._plan.tables() if s.judge},
                judges={judge: config.models[judge].label for judge in sorted(self._plan.judges())},
                conditions={run.name: tuple(self._conditions(run)) for run in self._plan.runs()},
            )
            yield key("reproduction"), runs.versioned("reproduction", reproduction)

    def _conditions(self, run: Run) -> Iterator[str]:
        """What a run was made with, as far as papers may differ in it."""
        yield f"protocol {run.protocol}"
        yield f"frames {run.sampling}"
        model = self._plan.config.models[run.model]
        if run.model in self._plan.imports.models:
            return
        if model.repo:
            yield f"revision {str(model.revision)[:12]}"
        if ADAPTERS[model.adapter].needs_weights:
            yield f"weights in {model.dtype if model.dtype != 'checkpoint' else 'the type of the checkpoint'}"
        if how := model.settings.get("quantised"):
            yield f"quantised: {how}"

    def to_read(self) -> list[Path]:
        """What people read: every table number that a paper of the suite has, the overview, and the verdicts."""
        tables = [collected_table_file(table, kind) for table in self._plan.benchmarks_by_table() for kind in READ_AS]
        overview = [overview_file(kind) for kind in READ_AS if self._plan.overview]
        verdicts = [reproduction_file("md")] if self._plan.config.suite.show_published else []
        return [*tables, *overview, *verdicts]

    def each(self, kind: str = "csv") -> list[Path]:
        return [table_file(benchmark, table, kind) for benchmark, table, _ in self._plan.tables()]

    def fragments(self) -> list[Path]:
        """Every table of every paper of the suite, and the overview, as LaTeX."""
        overview = [overview_file("tex")] if self._plan.overview else []
        return [*self.each("tex"), *overview]

    def parts(self, wildcards: Any) -> list[Path]:
        having = self._plan.benchmarks_by_table()
        if wildcards.table not in having:
            known = ", ".join(f"{name} ({', '.join(benchmarks)})" for name, benchmarks in having.items())
            raise UserError(
                f"{TABLES / wildcards.table}: no paper of suite '{self._plan.config.name}' has it. There are: {known}."
            )
        return [
            table_file(benchmark, wildcards.table, kind) for benchmark in having[wildcards.table] for kind in READ_AS
        ]

    def timings(self, wildcards: Any) -> list[Path]:
        runs = sorted({one.run for one in self._scored(wildcards)})
        return [self._results.timings(run) for run in runs if run.model not in self._plan.imports.models]

    def labels(self, wildcards: Any) -> dict[str, str]:
        return {"what": f"Table {wildcards.table.removeprefix('table')}", "title": self._spec(wildcards).title}

    def compared_items(self, wildcards: Any) -> list[Path]:
        return sorted({self._results.items(one.run.benchmark) for one in compared(self._plan)})

    def compared_verdicts(self, wildcards: Any) -> list[Path]:
        return [self._results.verdicts(one.run, one.judge) for one in compared(self._plan)]


class Figures(Shown):
    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Key]]:
        config, suite, captions = self._plan.config, self._plan.config.suite, dict[str, str]()
        for benchmark, figure, spec in self._plan.figures():
            shown = self._plan.parts_of(benchmark, figure)
            key = FigureKey(
                suite=config.name,
                notice=suite.notice,
                benchmark=benchmark,
                benchmark_title=config.benchmarks[benchmark].title,
                figure=figure,
                spec=spec,
                parts=tuple(table_key(self._plan, runs, benchmark, table, part) for table, part in shown),
                show_published=suite.show_published,
                published_sha256=self._plan.digest_of(published_file(benchmark) if suite.show_published else None),
            )
            captions[f"{benchmark}/{figure}"] = key.described
            yield settings_name("figures", benchmark, figure), runs.versioned("figure", key, benchmark)
        yield "tables_pdf", runs.versioned("tables_pdf", PdfKey())
        yield "suite_pdf", runs.versioned("tables_pdf", PdfKey(captions=captions))

    def every(self, kind: str = "png") -> list[Path]:
        return [figure_file(benchmark, figure, kind) for benchmark, figure, _ in self._plan.figures()]

    def verdicts(self, wildcards: Any) -> list[Path]:
        shown = self._scored(wildcards) if isinstance(self._spec(wildcards), Scatter) else []
        return [self._results.verdicts(one.run, one.judge or "robust") for one in shown]

    def items(self, wildcards: Any) -> list[Path]:
        """The items of such a figure, or of one that counts them, where the data can be had."""
        spec, benchmark = self._spec(wildcards), wildcards.benchmark
        is_counted = isinstance(spec, Distribution) and spec.made is None and self._plan.has_data(benchmark)
        is_shown = isinstance(spec, Scatter) and self._scored(wildcards)
        return [self._results.items(benchmark)] if is_counted or is_shown else []

    def facts(self, wildcards: Any) -> list[Path]:
        spec, benchmark = self._spec(wildcards), wildcards.benchmark
        is_needed = isinstance(spec, Distribution) and spec.fact is not None
        return [self._results.facts(benchmark)] if is_needed and benchmark in self._plan.data_benchmarks else []

    def made(self, wildcards: Any) -> list[Path]:
        """What the making of the benchmark counted, for a figure that shows it where the benchmark is made."""
        spec, benchmark = self._spec(wildcards), wildcards.benchmark
        is_made = self._plan.config.suite.benchmarks[benchmark].construction is not None
        is_needed = is_made and isinstance(spec, Distribution) and spec.made is not None
        return [self._results.construction(benchmark, "statistics.parquet")] if is_needed else []

    def labels(self, wildcards: Any) -> dict[str, str]:
        number = wildcards.figure.removeprefix("fig")
        what = f"Figure {number}" if number.isdecimal() else "Our analysis"
        return {"what": what, "title": self._spec(wildcards).title}
