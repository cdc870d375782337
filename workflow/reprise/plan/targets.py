"""Check a user's command before any job is planned: the profile, unknown targets, and unpinned weights and data."""

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
    """Two judges of a protocol with runs in common."""

    benchmark: str
    protocol: str
    judges: tuple[str, str]
    runs: tuple[Run, ...]  # runs that both judges have rated or can rate


def judge_pairs(plan: Plan) -> list[JudgePair]:
    """Return every pair of judges with a run in common, in the order of the judges."""
    pairs = []
    judged_runs = [run for run in plan.runs() if plan.is_judged(run.benchmark, run.protocol)]
    for benchmark, protocol in dict.fromkeys((run.benchmark, run.protocol) for run in judged_runs):
        protocol_runs = [run for run in judged_runs if (run.benchmark, run.protocol) == (benchmark, protocol)]
        for judges in combinations(plan.judges_of(benchmark), 2):
            runs = tuple(run for run in protocol_runs if all(plan.has_ratings(run, judge) for judge in judges))
            pairs.append(JudgePair(benchmark, protocol, judges, runs))
    return [pair for pair in pairs if pair.runs]


def compared(plan: Plan) -> list[Scored]:
    """Return the scored runs that pairs of judges compare."""
    return sorted({Scored(run, judge) for pair in judge_pairs(plan) for run in pair.runs for judge in pair.judges})


FORMATS = ("csv", "html", "md", "tex")
PICTURES = ("csv", "pdf", "png", "svg")
CARDS = ("html", "md", "tex", "csv", "png", "svg", "pdf")
# The name of a table, or the path of its file.
TABLE_TARGET = re.compile(rf"(?:\w+/)?{TABLE.strip('^$')}|(?:.*/)?tab\w*\.(?:csv|html|md|pdf|tex)")
# Name or folder of an optional result -> the message for a suite that does not produce it.
OPTIONAL_RESULTS = {
    OVERVIEW: "It has no overview. Name models in `overview:` of {file}; `python -m reprise eval` does so.",
    JUDGES: "No two judges rate the same run. Name two in `judges:` and in `run:` of {file}, or import ratings.",
    REPRODUCTION: "It shows no published values (`show_published: false` in {file}) to compare with.",
    TIME.name: "It has no cards of time. Name some of its overview in `time:` of {file}; `reprise time` does so.",
}


def check_profile(arguments: Sequence[str]) -> None:
    """Raise a UserError if the profile does not exist, since Snakemake would silently run without one."""
    name = options_of(arguments).get(PROFILE, DEFAULT)
    if name != "none" and name != DEFAULT and not any(located(path).exists() for path in (name, PROFILES / name)):
        profiles = [str(path.parent) for path in located(PROFILES).glob("*/config*.yaml")]
        raise UserError(f"{PROFILE}: no profile '{name}'.{choices(name, profiles)}")


def targets_of(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of Snakemake that name files to produce: those in `results/`, and tables anywhere."""
    words = [argument.removeprefix("./") for argument in arguments]
    return [
        word
        for previous, word in zip(["", *words], words, strict=False)
        if previous != "--report" and (word.startswith(f"{RESULTS}/") or TABLE_TARGET.fullmatch(word))
    ]


def readable(plan: Plan) -> dict[str, set[Scored]]:
    """Return the files for readers, each with the scored runs behind it."""
    files_to_read: dict[str, set[Scored]] = defaultdict(set)

    def add(files: Iterable[Path], numbers: Collection[Scored]) -> None:
        for file in files:
            files_to_read[str(file)].update(numbers)

    for benchmark, table, _ in plan.shown():
        scored = plan.table_scored(benchmark, table)
        if table == OVERVIEW:
            add(map(overview_file, FORMATS), scored)
        else:
            add((table_file(benchmark, table, kind) for kind in FORMATS), scored)
            add((collected_table_file(table, kind) for kind in READ_AS), scored)
    for benchmark, figure, _ in plan.figures():
        add((figure_file(benchmark, figure, kind) for kind in PICTURES), plan.table_scored(benchmark, figure))
    for slug in plan.time:
        scored = plan.time_scored([slug])
        add((time_file(slug, kind) for kind in (*CARDS, "json", "items.csv")), scored)
        add((time_file(ALL, kind) for kind in CARDS), scored)
    if judge_pairs(plan):
        add(map(agreement_file, FORMATS), compared(plan))
    verdicts = [reproduction_file(kind) for kind in ("csv", "html", "md") if plan.config.suite.show_published]
    add([*PDFS, *report_files(), *verdicts], plan.numbers())
    return files_to_read


def check_targets(plan: Plan, targets: Sequence[str]) -> None:
    """Raise a UserError if a target is no file that the suite produces."""
    available = readable(plan) if targets else {}
    reasons = [f"{target}: {reason}" for target in targets for reason in _problems(plan, target, available)]
    if reasons:
        raise UserError("\n".join(reasons))


def _problems(plan: Plan, target: str, available: Collection[str]) -> Iterator[str]:
    """Yield the reasons why a target cannot be produced."""
    suite = plan.config.name
    match target.split("/"):
        case _ if target in available:
            if Path(target) in PDFS and not has_latex():
                yield MISSING
        case ["results", TABLES.name | FIGURES.name | REPORT.name, *_]:
            yield f"suite '{suite}' makes no such file. {_missing_reason(plan, Path(target), available)}"
        case ["results", TIME.name, file] if file != "health.csv":  # A suite may have the same name.
            yield f"suite '{suite}' makes no such file. {_missing_reason(plan, Path(target), available)}"
        case ["results", file] if file.partition(".")[0] == REPRODUCTION:
            yield f"suite '{suite}' makes no such file. {_missing_reason(plan, Path(target), available)}"
        case ["results", owner, _, *_] if owner != suite and located(f"config/suites/{owner}.yaml").is_file():
            yield f"is of suite '{owner}', but the suite is '{suite}'. Add `--config suite={owner}` after the targets."
        case ["results", folder, _, *_] if folder != suite:
            folders = [TABLES.name, FIGURES.name, REPORT.name, TIME.name, suite]
            yield f"nothing is made in '{RESULTS / folder}'.{choices(folder, folders)}"
        case ["results", _, "frames", benchmark, file] if benchmark in plan.config.benchmarks:
            yield from _frames_problems(plan, benchmark, file.removesuffix(".parquet"))
        case ["results", _, "frames", "preview", benchmark, file] if benchmark in plan.config.benchmarks:
            samplings = [name for name in plan.config.main.samplings if file.endswith(f".{name}.png")]
            if samplings:
                yield from _frames_problems(plan, benchmark, max(samplings, key=len))
        case ["results", _, "responses" | "verdicts" | "metrics", *names]:
            yield from _run_problems(plan, names)
        case [first, *_] if first != "results":
            similar = [
                file for file in available if file.endswith((f"/{target}", f"/{target}.html")) or target.endswith(file)
            ]
            candidates = sorted(similar, key=len) or get_close_matches(
                target[max(0, target.find("results/")) :], available, n=1
            )
            hint = f" Did you mean '{candidates[0]}'?" if candidates else ""
            yield f"a target is a file in {RESULTS}/.{hint}"


def _missing_reason(plan: Plan, path: Path, available: Collection[str]) -> str:
    """Return what a suite lacks to produce a file of this path, or which similar files it produces."""
    siblings = [Path(file).name for file in available if Path(file).parent == path.parent]
    stem = path.name.partition(".")[0]
    if path.parent == TIME:
        rows = [(name, views[PLANNED]) for name, views in time_rows(plan.config).get(path.stem, {}).items()]
        runs = [run for name, row in rows if isinstance(row, Row) and (run := run_of(name, row))]
        if runs and path.stem not in plan.time:
            return f"{runs[0].name} cannot be made: {plan.why_idle(runs[0])}"
        if not siblings:
            return OPTIONAL_RESULTS[TIME.name].format(file=plan.config.file)
    elif stem in OPTIONAL_RESULTS and not any(name.startswith(f"{stem}.") for name in siblings):
        return OPTIONAL_RESULTS[stem].format(file=plan.config.file)
    if not siblings:
        return choices(str(path.parent), [str(Path(file).parent) for file in available]).strip()
    same_stem = [name for name in siblings if name.startswith(f"{stem}.")]
    candidates = same_stem or [name for name in siblings if name.endswith(path.suffix)]
    return choices(path.name, candidates or siblings).strip()


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
    if not any(f"{model}.".startswith(f"{slug}.") for slug in config.models):  # A slug may contain dots.
        yield from unknown_name("model", model.removesuffix(".parquet"), config.models)


def asked_by(plan: Plan, targets: Sequence[str]) -> set[Scored]:
    """Return the scored runs behind the targets, or those of the whole suite without targets."""
    runs = plan.numbers()
    if not targets:
        return set(runs)
    files, matches = (
        readable(plan),
        {scored for target in targets for scored in runs if f"/{scored.run.name}" in target},
    )
    return matches.union(*(files.get(target, ()) for target in targets))


def models_of(scored_runs: Iterable[Scored]) -> list[str]:
    """Return the models that produce these scored runs, including judges."""
    return sorted({slug for scored in scored_runs for slug in (scored.run.model, scored.judge) if slug})


def warn_of_models(plan: Plan, targets: Sequence[str]) -> None:
    """Warn of unpinned models and data behind these targets, and of models that their vendors no longer serve.

    A dry run accepts unpinned models and data, but a run fails. Some vendors let another model answer for a retired
    one.
    """
    scored_runs = asked_by(plan, targets)
    models = [slug for slug in models_of(scored_runs) if plan.config.models[slug].revision == UNPINNED]
    benchmarks = {scored.run.benchmark for scored in scored_runs} | {
        name
        for name in plan.config.benchmarks
        for target in targets
        if f"/{name}/" in target.removeprefix(f"{TABLES}/").removeprefix(f"{FIGURES}/")
    }
    data = sorted(name for name in benchmarks if has_unpinned_data(plan, name))
    unpinned = [f"model{'s' * (len(models) > 1)} {', '.join(models)}"] if models else []
    unpinned += [f"data of {', '.join(data)}"] if data else []
    if unpinned:
        log.warning(
            f"Unpinned: {'; '.join(unpinned)}. A dry run passes, a run stops at them. Run `python -m reprise pin` with "
            "network access first; it writes their commits into config/."
        )
    for line in ended(plan, scored_runs):
        log.warning(line)


def ended(plan: Plan, scored_runs: Iterable[Scored]) -> Iterator[str]:
    """Yield a warning for each model behind these scored runs that its vendor no longer serves."""
    for slug in models_of(scored_runs):
        served = plan.config.models[slug].served_until
        if served is not None and date.today() > served.date:
            yield (
                f"Model {slug} was served until {served.date} ({served.source}). Answers that are there stay; new "
                "questions to it will fail."
            )


def has_unpinned_data(plan: Plan, benchmark: str) -> bool:
    """Return whether no commit pins a benchmark's release or the videos that runs here need."""
    route = plan.config.suite.benchmarks[benchmark].route
    is_unpinned = isinstance(route, Huggingface) and route.revision == UNPINNED
    return not plan.has_data(benchmark) or (is_unpinned and benchmark in plan.data_benchmarks)
