"""The files that the report is made from: those of a suite, and its own fixed files and templates."""

from pathlib import Path

from reprise.core.paths import (
    ALL,
    Results,
    Scored,
    figure_file,
    reproduction_file,
    table_file,
    time_file,
)
from reprise.report.keys import ReportedRun, ReportKey
from reprise.tables.published import published_file
from reprise.tables.render.html import CSS

FIGURE_KINDS = ("svg", "png", "pdf", "csv")
# What the report holds of a card of time; of that of all models all but the items.
CARD_KINDS = (*FIGURE_KINDS, "items.csv")
SITE = Path(__file__).with_name("site")
TEMPLATES = Path(__file__).with_name("templates")
BROWSER = "items.html"


def inputs(key: ReportKey, results: Results) -> list[Path]:
    """Return the files of a suite that its report is made from."""
    found = [results.folder / "sources" / "missing.md"]
    found += [reproduction_file("html"), reproduction_file("csv")] if key.show_published else []
    if key.time:
        found += [time_file(ALL, kind) for kind in FIGURE_KINDS]
        found += [time_file(model, kind) for model in key.time for kind in ("json", *CARD_KINDS)]
    for benchmark in key.benchmarks:
        name = benchmark.name
        for table in benchmark.tables:
            found.append(table_file(name, table.name, "csv"))
            found += [results.statistics(name)] if table.statistics else []
        for figure in benchmark.figures:
            found += [figure_file(name, figure, kind) for kind in FIGURE_KINDS]
        found += [published_file(name)] if key.show_published and benchmark.tables else []
        if benchmark.runs and benchmark.has_clips:
            found += [results.facts(name), *(results.ledger("clips", name, shard) for shard in range(key.shards))]
        for run in benchmark.runs:
            one = run.scored
            found += [results.items(name), results.requests(name, one.run.protocol), results.responses(one.run)]
            found += [] if run.imported else [results.frames(name, one.run.sampling), results.timings(one.run)]
            if one.judge:
                found += [results.judge_requests(one.run), results.judge_responses(one.run, one.judge)]
            found.append(results.metrics(one))
            found += [results.verdicts(one.run, reader) for reader in readers_of(run)]
            found += problem_files(run, results)
    return found


def readers_of(run: ReportedRun) -> tuple[str, str]:
    """The names of a run's verdicts: by the careful reading and by the authors', of its answers or of its judge."""
    return (run.judge, f"{run.judge}.authors") if run.judge else ("robust", "authors")


def problem_files(run: ReportedRun, results: Results) -> list[Path]:
    of_answers = [results.import_problems(Scored(run.scored.run))] if run.imported else []
    return of_answers + ([results.import_problems(run.scored)] if run.imported_ratings else [])


def site_files() -> dict[str, Path]:
    """Name in the report -> fixed file. The item browser is at the top, what it loads in `assets/`."""
    found = {"assets/tables.css": CSS}
    for path in sorted(SITE.rglob("*")):
        name = path.relative_to(SITE).as_posix()
        if path.is_file():
            found[name if name == BROWSER else f"assets/{name}"] = path
    return found


def own_files() -> dict[str, Path]:
    return site_files() | {f"templates/{path.name}": path for path in sorted(TEMPLATES.glob("*.html"))}
