"""Serve report.smk: the runs, tables and figures of the suite, as the report's settings name them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.config.temporal import PLANNED
from reprise.core.files import file_digest
from reprise.core.paths import ScoredRun, settings_name
from reprise.core.settings import Key
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys
from reprise.report.inputs import fixed_files, list_inputs
from reprise.report.keys import Headline, ReportedBenchmark, ReportedRun, ReportedTable, ReportKey


class ReportRules(RuleInputs):
    """Settings and input functions of report.smk."""

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Key]]:
        """Yield the settings of the report."""
        yield settings_name("report"), runs.add_versions("report", self._key(), *self._plan.config.tables)

    def inputs(self, wildcards: Any) -> list[Path]:
        """Return the files that the report reads."""
        return list(dict.fromkeys(list_inputs(self._key(), self._results)))

    def _key(self) -> ReportKey:
        config, suite = self._plan.config, self._plan.config.suite
        return ReportKey(
            suite=config.name,
            suite_title=suite.title,
            notice=suite.notice,
            clips=config.main.report_clips,
            level=config.main.confidence,
            shards=suite.shards,
            show_published=suite.show_published,
            overview=bool(self._plan.overview),
            temporal=tuple(self._plan.temporal),
            site={name: file_digest(path) for name, path in fixed_files().items()},
            benchmarks=tuple(self._benchmark(name) for name in config.tables),
        )

    def _benchmark(self, name: str) -> ReportedBenchmark:
        config = self._plan.config
        settings = config.benchmarks[name]
        figures = config.figures.get(name)
        return ReportedBenchmark(
            name=name,
            title=settings.title,
            redistribution=config.suite.benchmarks[name].redistribution,
            has_clips=name in self._plan.data_benchmarks,
            forms={protocol: spec.form for protocol, spec in settings.protocols.items()},
            rated_to={
                protocol: spec.rated_to for protocol, spec in settings.protocols.items() if spec.judge is not None
            },
            headline=self._headline(name),
            runs=tuple(self._run(scored) for scored in self._plan.scored_runs() if scored.run.benchmark == name),
            tables=tuple(
                ReportedTable(name=table, statistics=self._plan.shows_data(name, spec))
                for table, spec in config.tables[name].tables.items()
            ),
            figures=tuple(figures.figures) if figures else (),
        )

    def _headline(self, name: str) -> Headline | None:
        """Return the last of the main metrics, which is the strictest if there are several."""
        tables = self._plan.config.tables[name]
        main = tables.overview
        if main is None:
            return None
        column = main.columns[-1]
        return Headline(
            metric=(column.metrics or [""])[0],
            group=column.group or "",
            title=tables.abbreviations.get(column.title, column.title),
            decimals=column.decimals,
            table=main.table,
            protocol=main.protocol,
            sampling=main.sampling,
        )

    def _run(self, scored: ScoredRun) -> ReportedRun:
        model = self._plan.config.models[scored.run.model]
        return ReportedRun(
            run=scored.run.name,
            judge=scored.judge,
            label=model.label,
            imported=scored.run.model in self._plan.imports.models,
            imported_ratings=scored.judge in self._plan.imports.models,
            reference=model.reference,
            ablations=self._ablations(scored),
        )

    def _ablations(self, scored: ScoredRun) -> dict[str, str]:
        """Return the temporal ablations of a run that a temporal profile compares with it."""
        conditions = self._plan.temporal.get(scored.run.model, {}).get(scored.run.benchmark, {})
        ablations = {
            condition: scored_condition
            for condition, scored_condition in conditions.items()
            if isinstance(scored_condition, ScoredRun) and scored_condition != scored
        }
        return (
            {condition: scored_condition.name for condition, scored_condition in ablations.items()}
            if conditions.get(PLANNED) == scored
            else {}
        )
