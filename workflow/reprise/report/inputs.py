"""The files that the report is made from."""

from collections.abc import Iterator
from pathlib import Path

from reprise.core.paths import OVERVIEW, STAMP, Results, Scored, figure_file, reproduction_file, table_file
from reprise.report.keys import ReportedBenchmark, ReportedRun, ReportKey
from reprise.tables.published import published_file

FIGURE_KINDS = ("svg", "png", "pdf", "csv")


def inputs(key: ReportKey, results: Results) -> Iterator[Path]:
    """All of them, without the report's own key."""
    yield STAMP
    yield results.folder / "sources" / "missing.md"
    if key.show_published:
        yield reproduction_file("html")
        yield reproduction_file("csv")
    if key.overview:
        yield results.key("tables", OVERVIEW)
    for benchmark in key.benchmarks:
        yield from _of_benchmark(benchmark, key, results)


def _of_benchmark(entry: ReportedBenchmark, key: ReportKey, results: Results) -> Iterator[Path]:
    name = entry.name
    for table in entry.tables:
        yield results.key("tables", name, table.name)
        yield table_file(name, table.name, "csv")
        if table.statistics:
            yield results.statistics(name)
    for figure in entry.figures:
        yield results.key("figures", name, figure)
        yield from (figure_file(name, figure, kind) for kind in FIGURE_KINDS)
    if key.show_published and entry.tables:
        yield published_file(name)
    if entry.runs:
        yield results.items(name)
    if entry.runs and entry.has_clips:
        yield results.facts(name)
        yield from (results.ledger("clips", name, shard) for shard in range(key.shards))
    for run in entry.runs:
        yield from of_run(run, results)
        yield from (step.path for step in run.origin(results, key.shards).steps())


def of_run(run: ReportedRun, results: Results) -> Iterator[Path]:
    """What is known of a run, its answers first."""
    one = run.scored
    yield results.responses(one.run)
    yield results.requests(one.run.benchmark, one.run.protocol)
    yield results.run_key(one.run)
    if not run.imported:
        yield results.timings(one.run)
        yield results.frames(one.run.benchmark, one.run.sampling)
    if one.judge:
        yield results.judge_key(one.run.benchmark, one.run.protocol, one.judge)
        yield results.judge_responses(one.run, one.judge)
    yield from (results.verdicts(one.run, reader) for reader in readers_of(run))
    yield results.metrics(one)
    yield from problem_files(run, results)


def readers_of(run: ReportedRun) -> tuple[str, str]:
    """The names of a run's verdicts: by the careful reading and by the authors', of its answers or of its judge."""
    return (run.judge, f"{run.judge}.authors") if run.judge else ("robust", "authors")


def problem_files(run: ReportedRun, results: Results) -> Iterator[Path]:
    """What is wrong with its imported files."""
    one = run.scored
    if run.imported:
        yield results.import_problems(Scored(one.run))
    if run.imported_ratings:
        yield results.import_problems(one)
