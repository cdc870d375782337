"""Checks what a user typed before any job is planned: profile, unknown targets, unpinned weights and data."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path

from reprise.config.tables import Row
from reprise.config.time import PLANNED, time_rows
from reprise.core.errors import UserError, choices, suggestion
from reprise.core.log import log
from reprise.core.names import TABLE
from reprise.core.paths import (
    ALL,
    DEFAULT,
    FIGURES,
    JUDGES,
    OVERVIEW,
    PROFILE,
    PROFILES,
    REPORT,
    REPRODUCTION,
    RESULTS,
    TABLES,
    TIME,
    Scored,
    agreement_file,
    collected_table_file,
    figure_file,
    located,
    options_of,
    report_files,
    suite_pdf_file,
    table_file,
    tables_pdf_file,
    time_file,
)
from reprise.fetch.settings import Huggingface, ReleaseHub
from reprise.plan.agreement import compared, judge_pairs
from reprise.plan.identity import UNPINNED
from reprise.plan.runs import Plan, run_of
from reprise.tables.render.latex_document import MISSING, has_latex

FORMATS = ("csv", "html", "md", "tex")
PICTURES = ("csv", "pdf", "png", "svg")
CARDS = ("csv", "html", "json", "md", "pdf", "png", "svg", "tex")
COLLECTED = ("html", "md", "tex")
VERDICTS_AS = ("csv", "html", "md")
TABLE_FILE = re.compile(r"(^|/)tab\w*\.(csv|html|md|pdf|tex)$")
NAME_OF_TABLE = re.compile(rf"(?:\w+/)?{TABLE.strip('^$')}")
OF_RUNS = ("responses", "verdicts", "metrics")


def check_profile(arguments: Sequence[str]) -> None:
    """Stop at a profile of the workflow that does not exist: Snakemake would run without one, and not say so."""
    value = options_of(arguments).get(PROFILE, DEFAULT)
    if value != "none" and value != DEFAULT and not any(located(path).exists() for path in (value, PROFILES / value)):
        there = [str(path.parent) for path in located(PROFILES).glob("*/config*.yaml")]
        raise UserError(f"{PROFILE}: no profile '{value}'.{choices(value, there)}")


def targets_of(arguments: Sequence[str]) -> list[str]:
    """The words among Snakemake's arguments that name files to make: those in `results/`, and tables anywhere."""
    words = [one.removeprefix("./") for one in arguments]
    return [
        one
        for before, one in zip(["", *words], words, strict=False)
        if before != "--report"
        and (one.startswith(f"{RESULTS}/") or NAME_OF_TABLE.fullmatch(one) or TABLE_FILE.search(one))
    ]


def check_targets(plan: Plan, targets: Sequence[str]) -> None:
    """Stop at targets that no rule makes."""
    reasons = [f"{target}: {reason}" for target in targets for reason in _problems(plan, target)]
    if reasons:
        raise UserError("\n".join(reasons))


def _problems(plan: Plan, target: str) -> Iterator[str]:
    suite = plan.config.name
    match target.split("/"):
        case ["results", *_] if Path(target) in (tables_pdf_file(), suite_pdf_file()):
            yield from () if has_latex() else (MISSING,)
        case ["results", "tables", file] if file.partition(".")[0] == OVERVIEW:
            adds = "`python -m reprise eval` does so."
            why = f"suite '{suite}' has no overview. Name models in `overview:` of {plan.config.file}; {adds}"
            yield from _format_problems(file.partition(".")[2], FORMATS, "" if plan.overview else why)
        case ["results", "tables", file] if file.partition(".")[0] == JUDGES:
            cure = f"Name two in `judges:` and in `run:` of {plan.config.file}, or import ratings."
            why = f"no two judges of suite '{suite}' rate the same run. {cure}"
            yield from _format_problems(file.partition(".")[2], FORMATS, "" if judge_pairs(plan) else why)
        case ["results", "tables", file] if file.startswith("tab"):
            listed = [f"{name} ({', '.join(having)})" for name, having in plan.benchmarks_by_table().items()]
            yield from _file_problems(
                file, list(plan.benchmarks_by_table()), COLLECTED, f"no paper of suite '{suite}'", listed
            )
        case ["results", "tables", benchmark, file] if benchmark not in plan.config.tables:
            yield f"unknown benchmark '{benchmark}'.{choices(benchmark, plan.config.tables)}"
        case ["results", "tables", benchmark, file] if file.startswith("tab"):
            names = [table for name, table, _ in plan.tables() if name == benchmark]
            yield from _file_problems(file, names, FORMATS, f"{benchmark} of suite '{suite}'", names)
        case ["results", "figures", benchmark, *_] if benchmark not in plan.config.figures:
            yield f"no figures of '{benchmark}' in suite '{suite}'.{choices(benchmark, plan.config.figures)}"
        case ["results", "figures", benchmark, file]:
            names = list(plan.config.figures[benchmark].figures)
            yield from _file_problems(file, names, PICTURES, f"{benchmark} of suite '{suite}'", names)
        case ["results", TIME.name, file] if file != "health.csv":  # of the suite that is called so, too
            yield from _time_problems(plan, file)
        case ["results", other, _, *_] if other != suite and located(f"config/suites/{other}.yaml").is_file():
            yield f"is of suite '{other}', but the suite is '{suite}'. Add `--config suite={other}` after the targets."
        case ["results", REPORT.name, *_] if Path(target) not in report_files():
            yield f"the report is made as a whole. Did you mean '{report_files()[0]}'?"
        case ["results", folder, _, *_] if folder not in (suite, TABLES.name, FIGURES.name, REPORT.name, TIME.name):
            there = [TABLES.name, FIGURES.name, REPORT.name, TIME.name, suite]
            yield f"nothing is made in '{RESULTS / folder}'.{choices(folder, there)}"
        case ["results", _, "frames", benchmark, file] if benchmark in plan.config.benchmarks:
            yield from _frames_problems(plan, benchmark, file.removesuffix(".parquet"))
        case ["results", _, "frames", "preview", benchmark, file] if benchmark in plan.config.benchmarks:
            named = [name for name in plan.config.main.samplings if file.endswith(f".{name}.png")]
            if named:
                yield from _frames_problems(plan, benchmark, max(named, key=len))
        case ["results", _, stage, *names] if stage in OF_RUNS:
            yield from _run_problems(plan, names)
        case ["results", file] if file.partition(".")[0] == REPRODUCTION:
            why = f"suite '{suite}' shows no published values (`show_published: false`), so that there is nothing to"
            shown = plan.config.suite.show_published
            yield from _format_problems(file.partition(".")[2], VERDICTS_AS, "" if shown else f"{why} compare with.")
        case ["results", *_]:
            return
        case [word] if word in plan.benchmarks_by_table():
            yield f"a target is a file. Did you mean '{collected_table_file(word, 'html')}'?"
        case [benchmark, word] if any((benchmark, word) == (paper, table) for paper, table, _ in plan.tables()):
            yield f"a target is a file. Did you mean '{table_file(benchmark, word, 'html')}'?"
        case _:
            yield f"nothing is made there; what is made lies in {RESULTS}/.{_nearest(plan, target)}"


def _time_problems(plan: Plan, file: str) -> Iterator[str]:
    """Why there is no such card of time."""
    slug, _, kind = file.rpartition(".")
    if not plan.config.suite.time:
        yield (
            f"suite '{plan.config.name}' has no cards of time. Name models of its overview in `time:` of "
            f"{plan.config.file}; `python -m reprise time <model>` does so."
        )
    elif slug not in (ALL, *plan.time):
        asked = [(name, views[PLANNED]) for name, views in time_rows(plan.config).get(slug, {}).items()]
        runs = [run for name, row in asked if isinstance(row, Row) and (run := run_of(name, row))]
        why = f" {runs[0].name} cannot be made: {plan.why_idle(runs[0])}" if runs else choices(slug, [ALL, *plan.time])
        yield f"no card of '{slug}'.{why}"
    else:
        yield from _format_problems(kind, CARDS)


def _format_problems(kind: str, formats: Sequence[str], why_none: str = "") -> Iterator[str]:
    if why_none:
        yield why_none
    elif kind not in formats:
        yield f"no format '{kind}'.{suggestion(kind, formats)} Allowed: {', '.join(formats)}."


def _run_problems(plan: Plan, names: Sequence[str]) -> Iterator[str]:
    """The first part of a run's path that names nothing."""
    config = plan.config
    benchmark, protocol, sampling, model = [*names, *[""] * 4][:4]
    if benchmark not in config.benchmarks:
        yield f"unknown benchmark '{benchmark}'.{choices(benchmark, config.benchmarks)}"
    elif protocol not in (protocols := config.benchmarks[benchmark].protocols):
        yield f"unknown protocol '{protocol}'.{choices(protocol, protocols)}"
    elif problems := config.main.sampling_problems(sampling):
        yield from problems
    elif not any(f"{model}.".startswith(f"{slug}.") for slug in config.models):  # a slug may have dots
        slug = model.removesuffix(".parquet")
        yield f"unknown model '{slug}'.{choices(slug, config.models)}"


def _frames_problems(plan: Plan, benchmark: str, sampling: str) -> Iterator[str]:
    """Why there is no plan of frames of this sampling."""
    yield from (problems := plan.config.main.sampling_problems(sampling))
    if not problems and sampling not in plan.samplings_of(benchmark):
        yield (
            f"no run of suite '{plan.config.name}' shows {benchmark} so. Name one in `extra_runs:` of "
            f"{plan.config.file}, or in a table."
        )


def _nearest(plan: Plan, target: str) -> str:
    """The table that a path outside `results/` may mean."""
    tables = [(benchmark, table) for benchmark, table, _ in plan.tables()]
    files = [table_file(benchmark, table, kind) for benchmark, table in tables for kind in FORMATS]
    files += [collected_table_file(table, kind) for table in plan.benchmarks_by_table() for kind in COLLECTED]
    path = target[max(0, target.find(f"{RESULTS}/")) :]
    close = get_close_matches(path, [str(file) for file in files], n=1)
    return f" Did you mean '{close[0]}'?" if close else f" Such as: {files[-1]}."


def _file_problems(
    file: str, names: Sequence[str], formats: Sequence[str], who: str, listed: Sequence[str]
) -> Iterator[str]:
    name, _, kind = file.partition(".")
    if name not in names:
        has = "has" if who.startswith("no ") else "does not have"
        hint = "" if re.fullmatch(TABLE, name) else suggestion(name, names)  # another number is no better guess
        yield f"{who} {has} a '{name}'.{hint} There are: {', '.join(listed)}."
    elif kind not in formats:
        hint = f" The csv of each paper is results/tables/<benchmark>/{name}.csv." if kind == "csv" else ""
        yield f"no format '{kind}'.{suggestion(kind, formats)} Allowed: {', '.join(formats)}.{hint}"


def warn_of_unpinned(plan: Plan, targets: Sequence[str]) -> None:
    """Name the weights and data of these targets that are not pinned yet: a dry run passes them, a run does not."""
    asked = asked_by(plan, targets)
    models = {
        slug
        for one in asked
        for slug in (one.run.model, one.judge)
        if slug and plan.config.models[slug].revision == UNPINNED
    }
    benchmarks = {one.run.benchmark for one in asked} | {
        name
        for name in plan.config.benchmarks
        for target in targets
        if f"/{name}/" in target.removeprefix(f"{TABLES}/").removeprefix(f"{FIGURES}/")
    }
    data = {name for name in benchmarks if has_unpinned_data(plan, name)}
    named = [f"model{'s' * (len(models) > 1)} {', '.join(sorted(models))}"] if models else []
    named += [f"data of {', '.join(sorted(data))}"] if data else []
    if named:
        log.warning(
            f"Unpinned: {'; '.join(named)}. A dry run passes, a run stops at them. Run `python -m reprise pin` with "
            "network access first; it writes their commits into config/."
        )


def warn_of_ended(plan: Plan, targets: Sequence[str]) -> None:
    """Name the models of these targets that their vendors have ended: some vendors let another model answer."""
    for line in ended(plan, asked_by(plan, targets)):
        log.warning(line)


def ended(plan: Plan, asked: Iterable[Scored]) -> Iterator[str]:
    """Of these numbers' models those that their vendors have ended."""
    for slug in sorted({slug for one in asked for slug in (one.run.model, one.judge) if slug}):
        served = plan.config.models[slug].served_until
        if served is not None and date.today() > served.date:
            yield (
                f"Model {slug} was served until {served.date} ({served.source}). Answers that are there stay; new "
                "questions to it will fail."
            )


def asked_by(plan: Plan, targets: Sequence[str]) -> set[Scored]:
    """The numbers behind the targets; those of the whole suite where no target is named."""
    tables = {(benchmark, table): plan.table_scored(benchmark, table) for benchmark, table, _ in plan.shown()}
    everything = {one for scored in tables.values() for one in scored} | {Scored(run) for run in plan.runs()}
    if not targets or {*map(str, (tables_pdf_file(), suite_pdf_file(), *report_files()))} & set(targets):
        return everything
    found = {one for target in targets for one in everything if f"/{one.run.name}" in target}
    if {str(agreement_file(kind)) for kind in FORMATS} & set(targets):
        found.update(compared(plan))
    cards = [slug for slug in plan.time if {str(time_file(slug, kind)) for kind in CARDS} & set(targets)]
    if {str(time_file(ALL, kind)) for kind in CARDS} & set(targets):
        cards = list(plan.time)
    found.update(plan.time_scored(cards))
    for (benchmark, table), scored in tables.items():
        # A part of the overview is in no file of its own; the overview lies where a collected table of its name would.
        files = {
            str(path)
            for kind in FORMATS
            for path in (table_file(benchmark, table, kind), collected_table_file(table, kind))
        }
        if files & set(targets):
            found.update(scored)
    for benchmark, figure, _ in plan.figures():
        if {str(figure_file(benchmark, figure, kind)) for kind in PICTURES} & set(targets):
            found.update(plan.figure_scored(benchmark, figure))
    return found


def has_unpinned_data(plan: Plan, benchmark: str) -> bool:
    """Whether a benchmark's release, or the videos that runs here look at, are named by no commit."""
    entry = plan.config.suite.benchmarks[benchmark]
    release, route = entry.release, entry.route
    is_looked_at = benchmark in plan.data_benchmarks()
    return (isinstance(release, ReleaseHub) and release.revision == UNPINNED) or (
        is_looked_at and isinstance(route, Huggingface) and route.revision == UNPINNED
    )
