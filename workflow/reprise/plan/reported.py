"""What the rule of the report is asked for: the runs, tables and figures of the suite, as its key names them."""

from pathlib import Path

from reprise.core.files import file_digest
from reprise.core.paths import Scored
from reprise.plan.runs import Plan
from reprise.report.fixed import own_files
from reprise.report.inputs import inputs
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportedTable, ReportKey


def report_key(plan: Plan) -> ReportKey:
    """The key, without the digest of its code."""
    config, suite = plan.config, plan.config.suite
    return ReportKey(
        suite=config.name,
        suite_title=suite.title,
        notice=suite.notice,
        clips=config.main.report_clips,
        shards=suite.shards,
        show_published=suite.show_published,
        overview=bool(plan.overview),
        site={name: file_digest(path) for name, path in own_files().items()},
        benchmarks=tuple(_benchmark(plan, name) for name in config.tables),
    )


def _benchmark(plan: Plan, name: str) -> ReportedBenchmark:
    config = plan.config
    settings = config.benchmarks[name]
    figures = config.figures.get(name)
    return ReportedBenchmark(
        name=name,
        title=settings.title,
        passing_on=config.suite.benchmarks[name].passing_on,
        has_clips=name in plan.data_benchmarks(),
        forms={protocol: one.form for protocol, one in settings.protocols.items()},
        rated_to={protocol: one.rated_to for protocol, one in settings.protocols.items() if one.judge is not None},
        runs=tuple(_run(plan, one) for one in plan.numbers() if one.run.benchmark == name),
        tables=tuple(
            ReportedTable(name=table, statistics=plan.shows_data(name, spec))
            for table, spec in config.tables[name].tables.items()
        ),
        figures=tuple(figures.figures) if figures else (),
    )


def _run(plan: Plan, one: Scored) -> ReportedRun:
    behind = plan.behind(one)
    return ReportedRun(
        run=one.run.name,
        judge=one.judge,
        label=plan.config.models[one.run.model].label,
        reference=plan.config.models[one.run.model].reference,
        imported=behind.imported,
        imported_ratings=behind.imported_ratings,
        weights=behind.weights,
        environment=behind.environment,
    )


def report_inputs(plan: Plan) -> list[Path]:
    """The files that the report is made from."""
    return list(dict.fromkeys(inputs(report_key(plan), plan.results)))
