"""For report.smk: the runs, tables and figures of the suite, as the report's settings name them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.config.time import PLANNED
from reprise.core.files import file_digest
from reprise.core.paths import Scored, settings_name
from reprise.core.settings import Key
from reprise.plan.rules import Asked
from reprise.plan.run_keys import RunKeys
from reprise.report.inputs import inputs, own_files
from reprise.report.keys import Headline, ReportedBenchmark, ReportedRun, ReportedTable, ReportKey


class Report(Asked):
    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Key]]:
        yield settings_name("report"), runs.versioned("report", self._key(), *self._plan.config.tables)

    def inputs(self, wildcards: Any) -> list[Path]:
        return list(dict.fromkeys(inputs(self._key(), self._results)))

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
            time=tuple(self._plan.time),
            site={name: file_digest(path) for name, path in own_files().items()},
            benchmarks=tuple(self._benchmark(name) for name in config.tables),
        )

    def _benchmark(self, name: str) -> ReportedBenchmark:
        config = self._plan.config
        settings = config.benchmarks[name]
        figures = config.figures.get(name)
        return ReportedBenchmark(
            name=name,
            title=settings.title,
            passing_on=config.suite.benchmarks[name].passing_on,
            has_clips=name in self._plan.data_benchmarks,
            forms={protocol: one.form for protocol, one in settings.protocols.items()},
            rated_to={protocol: one.rated_to for protocol, one in settings.protocols.items() if one.judge is not None},
            headline=self._headline(name),
            runs=tuple(self._run(one) for one in self._plan.numbers() if one.run.benchmark == name),
            tables=tuple(
                ReportedTable(name=table, statistics=self._plan.shows_data(name, spec))
                for table, spec in config.tables[name].tables.items()
            ),
            figures=tuple(figures.figures) if figures else (),
        )

    def _headline(self, name: str) -> Headline | None:
        """The last of the main numbers: where there are several, the strictest."""
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

    def _run(self, one: Scored) -> ReportedRun:
        model = self._plan.config.models[one.run.model]
        return ReportedRun(
            run=one.run.name,
            judge=one.judge,
            label=model.label,
            imported=one.run.model in self._plan.imports.models,
            imported_ratings=one.judge in self._plan.imports.models,
            reference=model.reference,
            views=self._views(one),
        )

    def _views(self, one: Scored) -> dict[str, str]:
        """The runs that differ in the view of time alone, of a run that a card of time holds them against."""
        views = self._plan.time.get(one.run.model, {}).get(one.run.benchmark, {})
        others = {view: other for view, other in views.items() if isinstance(other, Scored) and other != one}
        return {view: other.name for view, other in others.items()} if views.get(PLANNED) == one else {}
