"""Checks what a user typed before any job is planned: profile, unknown targets, unpinned weights and data."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from reprise.config.problems import unknown_name
from reprise.config.tables import Row
from reprise.config.time import PLANNED, time_rows
from reprise.core.errors import UserError, choices
from reprise.core.log import log
from reprise.core.names import TABLE, UNPINNED
from reprise.core.paths import (
    ALL,
    DEFAULT,
    FIGURES,
    JUDGES,
    OVERVIEW,
    PDFS,
    PROFILE,
    PROFILES,
    READ_AS,
    REPORT,
    REPRODUCTION,
    RESULTS,
    TABLES,
    TIME,
    Run,
    Scored,
    agreement_file,
    collected_table_file,
    figure_file,
    located,
    options_of,
    overview_file,
    report_files,
    reproduction_file,
    table_file,
    time_file,
)
from reprise.fetch.settings import Huggingface
from reprise.plan.runs import Plan, run_of
from reprise.tables.render.latex_document import MISSING, has_latex


class JudgePair(NamedTuple):
    benchmark: str
    protocol: str
    judges: tuple[str, str]
    runs: tuple[Run, ...]  # what both have rated, or can be asked to rate


def judge_pairs(plan: Plan) -> list[JudgePair]:
    """Every pair of judges with a run in common, in the order of the judges."""
    found = []
    judged = [run for run in plan.runs() if plan.is_judged(run.benchmark, run.protocol)]
    for benchmark, protocol in dict.fromkeys((run.benchmark, run.protocol) for run in judged):
        mine = [run for run in judged if (run.benchmark, run.protocol) == (benchmark, protocol)]
        for pair in combinations(plan.judges_of(benchmark), 2):
            runs = tuple(run for run in mine if all(plan.has_ratings(run, judge) for judge in pair))
            found.append(JudgePair(benchmark, protocol, pair, runs))
    return [pair for pair in found if pair.runs]


def compared(plan: Plan) -> list[Scored]:
    return sorted({Scored(run, judge) for pair in judge_pairs(plan) for run in pair.runs for judge in pair.judges})


FORMATS = ("csv", "html", "md", "tex")
PICTURES = ("csv", "pdf", "png", "svg")
CARDS = ("html", "md", "tex", "csv", "png", "svg", "pdf")
A_TABLE = re.compile(rf"(?:\w+/)?{TABLE.strip('^$')}|(?:.*/)?tab\w*\.(?:csv|html|md|pdf|tex)")  # its name, or a file
# What a suite lacks that makes no file of this name, or none in this folder.
LACKS = {
    OVERVIEW: "It has no overview. Name models in `overview:` of {file}; `python -m reprise eval` does so.",
    JUDGES: "No two judges rate the same run. Name two in `judges:` and in `run:` of {file}, or import ratings.",
    REPRODUCTION: "It shows no published values (`show_published: false` in {file}) to compare with.",
    TIME.name: "It has no cards of time. Name some of its overview in `time:` of {file}; `reprise time` does so.",
}


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
        if before != "--report" and (one.startswith(f"{RESULTS}/") or A_TABLE.fullmatch(one))
    ]


def readable(plan: Plan) -> dict[str, set[Scored]]:
    """Every file that people read, and the numbers of runs behind it."""
    found: dict[str, set[Scored]] = defaultdict(set)

    def note(files: Iterable[Path], numbers: Collection[Scored]) -> None:
        for file in files:
            found[str(file)].update(numbers)

    for benchmark, table, _ in plan.shown():
        scored = plan.table_scored(benchmark, table)
        if table == OVERVIEW:
            note(map(overview_file, FORMATS), scored)
        else:
            note((table_file(benchmark, table, kind) for kind in FORMATS), scored)
            note((collected_table_file(table, kind) for kind in READ_AS), scored)
    for benchmark, figure, _ in plan.figures():
        note((figure_file(benchmark, figure, kind) for kind in PICTURES), plan.table_scored(benchmark, figure))
    for slug in plan.time:
        scored = plan.time_scored([slug])
        note((time_file(slug, kind) for kind in (*CARDS, "json", "items.csv")), scored)
        note((time_file(ALL, kind) for kind in CARDS), scored)
    if judge_pairs(plan):
        note(map(agreement_file, FORMATS), compared(plan))
    verdicts = [reproduction_file(kind) for kind in ("csv", "html", "md") if plan.config.suite.show_published]
    note([*PDFS, *report_files(), *verdicts], plan.numbers())
    return found


def check_targets(plan: Plan, targets: Sequence[str]) -> None:
    known = readable(plan) if targets else {}
    reasons = [f"{target}: {reason}" for target in targets for reason in _problems(plan, target, known)]
    if reasons:
        raise UserError("\n".join(reasons))


def _problems(plan: Plan, target: str, known: Collection[str]) -> Iterator[str]:
    suite = plan.config.name
    match target.split("/"):
        case _ if target in known:
            if Path(target) in PDFS and not has_latex():
                yield MISSING
        case ["results", TABLES.name | FIGURES.name | REPORT.name, *_]:
            yield f"suite '{suite}' makes no such file. {_why_none(plan, Path(target), known)}"
        case ["results", TIME.name, file] if file != "health.csv":  # of the suite that is called so, too
            yield f"suite '{suite}' makes no such file. {_why_none(plan, Path(target), known)}"
        case ["results", file] if file.partition(".")[0] == REPRODUCTION:
            yield f"suite '{suite}' makes no such file. {_why_none(plan, Path(target), known)}"
        case ["results", other, _, *_] if other != suite and located(f"config/suites/{other}.yaml").is_file():
            yield f"is of suite '{other}', but the suite is '{suite}'. Add `--config suite={other}` after the targets."
        case ["results", folder, _, *_] if folder != suite:
            there = [TABLES.name, FIGURES.name, REPORT.name, TIME.name, suite]
            yield f"nothing is made in '{RESULTS / folder}'.{choices(folder, there)}"
        case ["results", _, "frames", benchmark, file] if benchmark in plan.config.benchmarks:
            yield from _frames_problems(plan, benchmark, file.removesuffix(".parquet"))
        case ["results", _, "frames", "preview", benchmark, file] if benchmark in plan.config.benchmarks:
            named = [name for name in plan.config.main.samplings if file.endswith(f".{name}.png")]
            if named:
                yield from _frames_problems(plan, benchmark, max(named, key=len))
        case ["results", _, "responses" | "verdicts" | "metrics", *names]:
            yield from _run_problems(plan, names)
        case [first, *_] if first != "results":
            like = [file for file in known if file.endswith((f"/{target}", f"/{target}.html")) or target.endswith(file)]
            near = sorted(like, key=len) or get_close_matches(target[max(0, target.find("results/")) :], known, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            yield f"a target is a file in {RESULTS}/.{hint}"


def _why_none(plan: Plan, path: Path, known: Collection[str]) -> str:
    """What a suite lacks, or what there is in its place, where it makes no file of this path."""
    there = [Path(one).name for one in known if Path(one).parent == path.parent]
    stem = path.name.partition(".")[0]
    if path.parent == TIME:
        rows = [(name, views[PLANNED]) for name, views in time_rows(plan.config).get(path.stem, {}).items()]
        runs = [run for name, row in rows if isinstance(row, Row) and (run := run_of(name, row))]
        if runs and path.stem not in plan.time:
            return f"{runs[0].name} cannot be made: {plan.why_idle(runs[0])}"
        if not there:
            return LACKS[TIME.name].format(file=plan.config.file)
    elif stem in LACKS and not any(name.startswith(f"{stem}.") for name in there):
        return LACKS[stem].format(file=plan.config.file)
    if not there:
        return choices(str(path.parent), [str(Path(one).parent) for one in known]).strip()
    same_stem = [name for name in there if name.startswith(f"{stem}.")]
    alike = same_stem or [name for name in there if name.endswith(path.suffix)]
    return choices(path.name, alike or there).strip()


def _frames_problems(plan: Plan, benchmark: str, sampling: str) -> Iterator[str]:
    yield from plan.config.main.sampling_problems(sampling)
    if sampling in plan.config.main.samplings and sampling not in plan.samplings_of(benchmark):
        yield (
            f"no run of suite '{plan.config.name}' shows {benchmark} so. Name one in `extra_runs:` of "
            f"{plan.config.file}, or in a table."
        )


def _run_problems(plan: Plan, names: Sequence[str]) -> Iterator[str]:
    config = plan.config
    benchmark, protocol, sampling, model = [*names, *[""] * 4][:4]
    yield from unknown_name("benchmark", benchmark, config.benchmarks)
    if benchmark in config.benchmarks:
        yield from unknown_name("protocol", protocol, config.benchmarks[benchmark].protocols)
    yield from config.main.sampling_problems(sampling)
    if not any(f"{model}.".startswith(f"{slug}.") for slug in config.models):  # a slug may have dots
        yield from unknown_name("model", model.removesuffix(".parquet"), config.models)


def asked_by(plan: Plan, targets: Sequence[str]) -> set[Scored]:
    """The numbers behind the targets; those of the whole suite where no target is named."""
    numbers = plan.numbers()
    if not targets:
        return set(numbers)
    known, named = readable(plan), {one for target in targets for one in numbers if f"/{one.run.name}" in target}
    return named.union(*(known.get(target, ()) for target in targets))


def models_of(asked: Iterable[Scored]) -> list[str]:
    """The models that are asked for these numbers, judges among them."""
    return sorted({slug for one in asked for slug in (one.run.model, one.judge) if slug})


def warn_of_models(plan: Plan, targets: Sequence[str]) -> None:
    """Name the models and data of these targets that are not pinned, and the models that their vendors have ended.

    A dry run passes what is not pinned, a run does not. Of an ended model some vendors let another one answer.
    """
    asked = asked_by(plan, targets)
    models = [slug for slug in models_of(asked) if plan.config.models[slug].revision == UNPINNED]
    benchmarks = {one.run.benchmark for one in asked} | {
        name
        for name in plan.config.benchmarks
        for target in targets
        if f"/{name}/" in target.removeprefix(f"{TABLES}/").removeprefix(f"{FIGURES}/")
    }
    data = sorted(name for name in benchmarks if has_unpinned_data(plan, name))
    named = [f"model{'s' * (len(models) > 1)} {', '.join(models)}"] if models else []
    named += [f"data of {', '.join(data)}"] if data else []
    if named:
        log.warning(
            f"Unpinned: {'; '.join(named)}. A dry run passes, a run stops at them. Run `python -m reprise pin` with "
            "network access first; it writes their commits into config/."
        )
    for line in ended(plan, asked):
        log.warning(line)


def ended(plan: Plan, asked: Iterable[Scored]) -> Iterator[str]:
    """Of these numbers' models those that their vendors have ended."""
    for slug in models_of(asked):
        served = plan.config.models[slug].served_until
        if served is not None and date.today() > served.date:
            yield (
                f"Model {slug} was served until {served.date} ({served.source}). Answers that are there stay; new "
                "questions to it will fail."
            )


def has_unpinned_data(plan: Plan, benchmark: str) -> bool:
    """Whether a benchmark's release, or the videos that runs here look at, are named by no commit."""
    route = plan.config.suite.benchmarks[benchmark].route
    is_unpinned = isinstance(route, Huggingface) and route.revision == UNPINNED
    return not plan.has_data(benchmark) or (is_unpinned and benchmark in plan.data_benchmarks)
