"""The files that the report is made from."""

from pathlib import Path

from reprise.core.paths import OVERVIEW, RESULTS, STAMP, Results, Scored, figure_file, reproduction_file, table_file
from reprise.report.keys import ReportedRun, ReportKey
from reprise.tables.published import published_file

FIGURE_KINDS = ("svg", "png", "pdf", "csv")
TIME = RESULTS / "time"
ALL_MODELS = "all"
CARD_KINDS = ("svg", "png", "pdf", "csv", "items.csv")
"""what the report holds of a card of time; of that of all models all but the items"""


def inputs(key: ReportKey, results: Results) -> list[Path]:
    """All of them, without the report's own key."""
    found = [STAMP, results.folder / "sources" / "missing.md"]
    found += [reproduction_file("html"), reproduction_file("csv")] if key.show_published else []
    found += [results.key("tables", OVERVIEW)] if key.overview else []
    if key.time:
        found += [TIME / f"{ALL_MODELS}.{kind}" for kind in FIGURE_KINDS]
        found += [TIME / f"{model}.{kind}" for model in key.time for kind in ("json", *CARD_KINDS)]
    for benchmark in key.benchmarks:
        name, runs = benchmark.name, benchmark.runs
        for table in benchmark.tables:
            found += [results.key("tables", name, table.name), table_file(name, table.name, "csv")]
            found += [results.statistics(name)] if table.statistics else []
        for figure in benchmark.figures:
            found.append(results.key("figures", name, figure))
            found += [figure_file(name, figure, kind) for kind in FIGURE_KINDS]
        found += [published_file(name)] if key.show_published and benchmark.tables else []
        if runs and benchmark.has_clips:
            found += [results.facts(name), *(results.ledger("clips", name, shard) for shard in range(key.shards))]
        for run in runs:
            found += [step.path for step in run.origin(results, key.shards).steps()]
            found += _beside(run, results)
    return found


def _beside(run: ReportedRun, results: Results) -> list[Path]:
    """What is read of a run besides the files behind its numbers."""
    one = run.scored
    verdicts = [results.verdicts(one.run, reader) for reader in readers_of(run)]
    timings = [] if run.imported else [results.timings(one.run)]
    judge = [results.judge_key(one.run.benchmark, one.run.protocol, one.judge)] if one.judge else []
    return [results.run_key(one.run), *timings, *judge, *verdicts, *problem_files(run, results)]


def readers_of(run: ReportedRun) -> tuple[str, str]:
    """The names of a run's verdicts: by the careful reading and by the authors', of its answers or of its judge."""
    return (run.judge, f"{run.judge}.authors") if run.judge else ("robust", "authors")


def problem_files(run: ReportedRun, results: Results) -> list[Path]:
    """What is wrong with its imported files."""
    of_answers = [results.import_problems(Scored(run.scored.run))] if run.imported else []
    return of_answers + ([results.import_problems(run.scored)] if run.imported_ratings else [])
