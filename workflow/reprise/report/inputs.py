"""List the files that the report is built from: results of the suite, fixed files and templates."""

from pathlib import Path

from reprise.core.paths import (
    ALL,
    Results,
    ScoredRun,
    figure_file,
    reproduction_file,
    table_file,
    temporal_file,
)
from reprise.report.keys import ReportedRun, ReportKey
from reprise.tables.published import published_path
from reprise.tables.render.html import CSS

FIGURE_KINDS = ("svg", "png", "pdf", "csv")
# Files of each model's temporal profile. The profile of all models has no list of items.
PROFILE_KINDS = (*FIGURE_KINDS, "items.csv")
SITE_FOLDER = Path(__file__).with_name("site")
TEMPLATES_FOLDER = Path(__file__).with_name("templates")
BROWSER_PAGE = "items.html"


def list_inputs(key: ReportKey, results: Results) -> list[Path]:
    """Return the results of the suite that its report is built from."""
    paths = [results.folder / "sources" / "missing.md"]
    paths += [reproduction_file("html"), reproduction_file("csv")] if key.show_published else []
    if key.temporal:
        paths += [temporal_file(ALL, kind) for kind in FIGURE_KINDS]
        paths += [temporal_file(model, kind) for model in key.temporal for kind in ("json", *PROFILE_KINDS)]
    for benchmark in key.benchmarks:
        name = benchmark.name
        for table in benchmark.tables:
            paths.append(table_file(name, table.name, "csv"))
            paths += [results.statistics(name)] if table.statistics else []
        for figure in benchmark.figures:
            paths += [figure_file(name, figure, kind) for kind in FIGURE_KINDS]
        paths += [published_path(name)] if key.show_published and benchmark.tables else []
        if benchmark.runs and benchmark.has_clips:
            paths += [
                results.clip_metadata(name),
                *(results.manifest("clips", name, shard) for shard in range(key.shards)),
            ]
        for run in benchmark.runs:
            scored = run.scored
            paths += [results.items(name), results.requests(name, scored.run.protocol), results.responses(scored.run)]
            paths += [] if run.imported else [results.frames(name, scored.run.sampling), results.timings(scored.run)]
            if scored.judge:
                paths += [results.judge_requests(scored.run), results.judge_responses(scored.run, scored.judge)]
            paths.append(results.metrics(scored))
            paths += [results.verdicts(scored.run, extractor) for extractor in get_extractor_names(run)]
            paths += list_problem_files(run, results)
    return paths


def get_extractor_names(run: ReportedRun) -> tuple[str, str]:
    """Return the names of a run's two verdict files: by the robust extractor, and by the authors' extractor."""
    return (run.judge, f"{run.judge}.authors") if run.judge else ("robust", "authors")


def list_problem_files(run: ReportedRun, results: Results) -> list[Path]:
    """Return the files with the problems of imported answers and ratings."""
    answer_problems = [results.import_problems(ScoredRun(run.scored.run))] if run.imported else []
    return answer_problems + ([results.import_problems(run.scored)] if run.imported_ratings else [])


def list_site_files() -> dict[str, Path]:
    """Return the fixed files by their names in the report: the item browser, and other files in `assets/`."""
    files = {"assets/tables.css": CSS}
    for path in sorted(SITE_FOLDER.rglob("*")):
        name = path.relative_to(SITE_FOLDER).as_posix()
        if path.is_file():
            files[name if name == BROWSER_PAGE else f"assets/{name}"] = path
    return files


def list_fixed_files() -> dict[str, Path]:
    """Return the fixed files and the templates by name. The report's key records their digests."""
    return list_site_files() | {f"templates/{path.name}": path for path in sorted(TEMPLATES_FOLDER.glob("*.html"))}
