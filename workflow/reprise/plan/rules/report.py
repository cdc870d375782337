"""Key and input function for report.smk: the runs, tables and figures that the report shows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.config.temporal import PLANNED
from reprise.core.files import file_digest
from reprise.core.paths import ScoredRun, settings_name
from reprise.core.settings import Key
from reprise.plan.figure_styles import assign_model_styles
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys
from reprise.report.inputs import list_fixed_files, list_inputs
from reprise.report.keys import Headline, ReportedBenchmark, ReportedModel, ReportedRun, ReportedTable, ReportKey
from reprise.report.run_titles import describe_sampling
from reprise.temporal.conditions import CONDITION_TITLES


class ReportRules(RuleInputs):
    """Settings and input functions of report.smk."""

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the key of the report, with its name."""
        yield (
            settings_name("report"),
            run_keys.add_versions("report", self._make_report_key(), *self._plan.config.tables),
        )

    def inputs(self, wildcards: Any) -> list[Path]:
        """Return the files that the report reads."""
        return list(dict.fromkeys(list_inputs(self._make_report_key(), self._results)))

    def _make_report_key(self) -> ReportKey:
        config, suite = self._plan.config, self._plan.config.suite
        styles = assign_model_styles(self._plan)
        return ReportKey(
            suite=config.name,
            suite_title=suite.title,
            notice=suite.notice,
            clips=config.main.report_clips,
            level=config.main.confidence,
            shards=suite.shards,
            show_published=suite.show_published,
            overview=bool(self._plan.overview_specs),
            overview_models=tuple(dict.fromkeys(line.model for line in suite.overview_lines())),
            models={
                slug: ReportedModel(label=model.label, reference=model.reference, style=styles.get(slug))
                for slug in sorted(self._list_models())
                if (model := config.models.get(slug)) is not None
            },
            temporal=tuple(self._plan.temporal_profiles),
            site={name: file_digest(path) for name, path in list_fixed_files().items()},
            benchmarks=tuple(self._describe_benchmark(name) for name in config.tables),
        )

    def _list_models(self) -> set[str]:
        """Return the models of the runs, of the papers' main tables, and of the overview."""
        plan = self._plan
        specs = [
            tables.tables[tables.overview.table]
            for tables in plan.config.tables.values()
            if tables.overview is not None and tables.overview.table is not None
        ]
        return {
            *(scored.run.model for scored in plan.scored_runs()),
            *(row.model for spec in specs for row in spec.rows() if row.model),
            *(line.model for line in plan.config.suite.overview_lines()),
        }

    def _describe_benchmark(self, name: str) -> ReportedBenchmark:
        """Return what the report shows of a benchmark."""
        config = self._plan.config
        settings = config.benchmarks[name]
        figures = config.figures.get(name)
        return ReportedBenchmark(
            name=name,
            title=settings.title,
            redistribution=config.suite.benchmarks[name].redistribution,
            has_clips=name in self._plan.data_benchmarks,
            forms={protocol: spec.form for protocol, spec in settings.protocols.items()},
            protocol_titles=settings.protocol_titles,
            sampling_titles={
                sampling: describe_sampling(config.main.samplings[sampling])
                for sampling in self._list_main_samplings(name)
            },
            items={protocol: spec.items for protocol, spec in settings.protocols.items() if spec.items is not None},
            sample_counts={
                protocol: int(count.headline_samples.number)
                for protocol, spec in settings.protocols.items()
                for count in (settings.data.counts if settings.data else ())
                if spec.form in count.forms and spec.items == count.items and count.headline_samples
            },
            max_rating={
                protocol: spec.max_rating for protocol, spec in settings.protocols.items() if spec.judge is not None
            },
            headline=self._find_headline(name),
            runs=tuple(
                self._describe_run(scored) for scored in self._plan.scored_runs() if scored.run.benchmark == name
            ),
            tables=tuple(
                ReportedTable(name=table, statistics=self._plan.needs_statistics(name, spec))
                for table, spec in config.tables[name].tables.items()
            ),
            figures=tuple(figures.figures) if figures else (),
        )

    def _list_main_samplings(self, name: str) -> list[str]:
        """Return the samplings of the main table's rows."""
        tables = self._plan.config.tables[name]
        if tables.overview is None or tables.overview.table is None:
            return []
        rows = tables.tables[tables.overview.table].rows()
        return sorted({row.sampling for row in rows if row.sampling})

    def _find_headline(self, name: str) -> Headline | None:
        """Return the headline of a benchmark: the last column of its overview, which has the strictest metric."""
        tables = self._plan.config.tables[name]
        overview = tables.overview
        if overview is None:
            return None
        column = overview.columns[-1]
        return Headline(
            metric=(column.metrics or [""])[0],
            group=column.group or "",
            title=tables.abbreviations.get(column.title, column.title),
            decimals=column.decimals,
            table=overview.table,
            protocol=overview.protocol,
            sampling=overview.sampling,
        )

    def _describe_run(self, scored: ScoredRun) -> ReportedRun:
        """Return what the report needs to know about a scored run."""
        config, run = self._plan.config, scored.run
        model = config.models[run.model]
        return ReportedRun(
            run=run.name,
            judge=scored.judge,
            label=model.label,
            protocol_title=config.benchmarks[run.benchmark].protocol_titles.get(run.protocol, ""),
            sampling_title=describe_sampling(config.main.samplings[run.sampling]),
            judge_label=config.models[scored.judge].label if scored.judge else "",
            imported=run.model in self._plan.imports.models,
            imported_ratings=scored.judge in self._plan.imports.models,
            reference=model.reference,
            ablations=self._find_ablations(scored),
        )

    def _find_ablations(self, scored: ScoredRun) -> dict[str, str]:
        """Return the runs with temporal ablations that a temporal profile compares with a run, by condition."""
        conditions = self._plan.temporal_profiles.get(scored.run.model, {}).get(scored.run.benchmark, {})
        if conditions.get(PLANNED) != scored:
            return {}
        return {
            condition: ablation.name
            for condition, ablation in conditions.items()
            if isinstance(ablation, ScoredRun) and ablation != scored and condition in CONDITION_TITLES
        }
