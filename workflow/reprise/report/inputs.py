"""The files that the report is made from."""

from collections.abc import Iterator
from pathlib import Path

from reprise.core.paths import OVERVIEW, STAMP, Results, Scored, figure_file, reproduction_file, table_file
from reprise.report.keys import ReportedRun, ReportKey
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
        name = benchmark.name
        for table in benchmark.tables:
            yield results.key("tables", name, table.name)
            yield table_file(name, table.name, "csv")
            if table.statistics:
                yield results.statistics(name)
        for figure in benchmark.figures:
            yield results.key("figures", name, figure)
            yield from (figure_file(name, figure, kind) for kind in FIGURE_KINDS)
        if key.show_published and benchmark.tables:
            yield published_file(name)
        if benchmark.runs and benchmark.has_clips:
            yield results.facts(name)
            yield from (results.ledger("clips", name, shard) for shard in range(key.shards))
        for run in benchmark.runs:
            yield from (step.path for step in run.behind(results, key.shards).steps())
            yield from _beside(run, results)


def _beside(run: ReportedRun, results: Results) -> Iterator[Path]:
    """What is read of a run besides the files behind its numbers."""
    one = run.scored
    yield results.run_key(one.run)
    if not run.imported:
        yield results.timings(one.run)
    if one.judge:
        yield results.judge_key(one.run.benchmark, one.run.protocol, one.judge)
    yield from (results.verdicts(one.run, reader) for reader in readers_of(run))
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
