"""Check a user's command before any job is planned: its profile, its targets, and unpinned weights and data."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from reprise.config.problems import find_unknown_name
from reprise.config.tables import Row
from reprise.config.temporal import PLANNED, temporal_rows
from reprise.core.errors import UserError, describe_choices
from reprise.core.log import log
from reprise.core.names import TABLE, UNPINNED
from reprise.core.paths import (
    ALL,
    DEFAULT_PROFILE,
    FIGURES,
    JUDGES,
    OVERVIEW,
    PDFS,
    PROFILE_OPTION,
    PROFILES_FOLDER,
    READABLE_FORMATS,
    REPORT,
    REPRODUCTION,
    RESULTS,
    TABLES,
    TEMPORAL,
    Run,
    ScoredRun,
    agreement_file,
    collected_table_file,
    figure_file,
    locate,
    overview_file,
    parse_option_values,
    report_files,
    reproduction_file,
    table_file,
    temporal_file,
)
from reprise.fetch.settings import Huggingface
from reprise.plan.runs import Plan, run_from_row
from reprise.tables.render.latex_document import LATEX_MISSING, has_latex


class JudgePair(NamedTuple):
    """Two judges of a protocol, and the runs that both of them rate."""

    benchmark: str
    protocol: str
    judges: tuple[str, str]
    runs: tuple[Run, ...]


def list_judge_pairs(plan: Plan) -> list[JudgePair]:
    """Return every pair of judges that rate the same run, in the order of the judges."""
    pairs = []
    judged_runs = [run for run in plan.runs() if plan.is_judged(run.benchmark, run.protocol)]
    for benchmark, protocol in dict.fromkeys((run.benchmark, run.protocol) for run in judged_runs):
        protocol_runs = [run for run in judged_runs if (run.benchmark, run.protocol) == (benchmark, protocol)]
        for judges in combinations(plan.benchmark_judges(benchmark), 2):
            runs = tuple(run for run in protocol_runs if all(plan.has_ratings(run, judge) for judge in judges))
            pairs.append(JudgePair(benchmark, protocol, judges, runs))
    return [pair for pair in pairs if pair.runs]


def list_compared_runs(plan: Plan) -> list[ScoredRun]:
    """Return the scored runs on which pairs of judges are compared."""
    return sorted(
        {ScoredRun(run, judge) for pair in list_judge_pairs(plan) for run in pair.runs for judge in pair.judges}
    )


TABLE_FORMATS = ("csv", "html", "md", "tex")
FIGURE_FORMATS = ("csv", "pdf", "png", "svg")
TEMPORAL_FORMATS = ("html", "md", "tex", "csv", "png", "svg", "pdf")
# The name of a table, such as `velociti/table3`, or the path of its file.
TABLE_TARGET = re.compile(rf"(?:\w+/)?{TABLE.strip('^$')}|(?:.*/)?tab\w*\.(?:csv|html|md|pdf|tex)")
# Name or folder of an optional result -> the message for a suite that does not produce it.
OPTIONAL_RESULTS = {
    OVERVIEW: "It has no overview. List models in `overview:` of {file}; `reprise eval` adds one.",
    JUDGES: "No two judges rate the same run. List two in `judges:` and in `run:` of {file}, or import ratings.",
    REPRODUCTION: "It shows no published values (`show_published: false` in {file}) to compare with.",
    TEMPORAL.name: "It has no temporal profiles. List models of its overview in `temporal:` of {file}; "
    "`reprise temporal` adds one.",
}


def check_profile(arguments: Sequence[str]) -> None:
    """Raise a UserError if the profile does not exist. Snakemake would silently run without a profile."""
    name = parse_option_values(arguments).get(PROFILE_OPTION, DEFAULT_PROFILE)
    if (
        name != "none"
        and name != DEFAULT_PROFILE
        and not any(locate(path).exists() for path in (name, PROFILES_FOLDER / name))
    ):
        profiles = [str(path.parent) for path in locate(PROFILES_FOLDER).glob("*/config*.yaml")]
        raise UserError(f"{PROFILE_OPTION}: no profile '{name}'.{describe_choices(name, profiles)}")


def parse_targets(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of Snakemake that are targets: paths in `results/`, and names or paths of tables."""
    words = [argument.removeprefix("./") for argument in arguments]
    # The value of `--report` is a file that Snakemake writes, not a target.
    return [
        word
        for previous_word, word in zip(["", *words], words, strict=False)
        if previous_word != "--report" and (word.startswith(f"{RESULTS}/") or TABLE_TARGET.fullmatch(word))
    ]


def list_outputs(plan: Plan) -> dict[str, set[ScoredRun]]:
    """Map the path of each output for readers to the scored runs that it shows.

    These outputs are the tables, figures, temporal profiles and the report.
    """
    scored_runs_by_file: dict[str, set[ScoredRun]] = defaultdict(set)

    def add(files: Iterable[Path], scored_runs: Collection[ScoredRun]) -> None:
        for file in files:
            scored_runs_by_file[str(file)].update(scored_runs)

    for benchmark, table, _ in plan.list_tables_and_overview():
        scored = plan.table_scored_runs(benchmark, table)
        if table == OVERVIEW:
            add(map(overview_file, TABLE_FORMATS), scored)
        else:
            add((table_file(benchmark, table, kind) for kind in TABLE_FORMATS), scored)
            add((collected_table_file(table, kind) for kind in READABLE_FORMATS), scored)
    for benchmark, figure, _ in plan.list_figures():
        add(
            (figure_file(benchmark, figure, kind) for kind in FIGURE_FORMATS), plan.table_scored_runs(benchmark, figure)
        )
    for slug in plan.temporal_profiles:
        scored = plan.temporal_scored_runs([slug])
        add((temporal_file(slug, kind) for kind in (*TEMPORAL_FORMATS, "json", "items.csv")), scored)
        add((temporal_file(ALL, kind) for kind in TEMPORAL_FORMATS), scored)
    if list_judge_pairs(plan):
        add(map(agreement_file, TABLE_FORMATS), list_compared_runs(plan))
    reproduction_files = [reproduction_file(kind) for kind in ("csv", "html", "md") if plan.config.suite.show_published]
    add([*PDFS, *report_files(), *reproduction_files], plan.scored_runs())
    return scored_runs_by_file


def check_targets(plan: Plan, targets: Sequence[str]) -> None:
    """Raise a UserError if the suite does not produce a target."""
    available_files = list_outputs(plan) if targets else {}
    problems = [
        f"{target}: {problem}" for target in targets for problem in _find_problems(plan, target, available_files)
    ]
    if problems:
        raise UserError("\n".join(problems))


def _find_problems(plan: Plan, target: str, available_files: Collection[str]) -> Iterator[str]:
    """Yield the reasons why a target cannot be produced."""
    suite = plan.config.name
    match target.split("/"):
        case _ if target in available_files:  # The suite produces the file; only LaTeX may be missing.
            if Path(target) in PDFS and not has_latex():
                yield LATEX_MISSING
        case ["results", TABLES.name | FIGURES.name | REPORT.name, *_]:
            yield f"suite '{suite}' has no such file. {_explain_missing_file(plan, Path(target), available_files)}"
        # `results/temporal/health.csv` is a result of the suite `temporal`, not of temporal profiles.
        case ["results", TEMPORAL.name, file] if file != "health.csv":
            yield f"suite '{suite}' has no such file. {_explain_missing_file(plan, Path(target), available_files)}"
        case ["results", file] if file.partition(".")[0] == REPRODUCTION:
            yield f"suite '{suite}' has no such file. {_explain_missing_file(plan, Path(target), available_files)}"
        case ["results", owner, _, *_] if owner != suite and locate(f"config/suites/{owner}.yaml").is_file():
            hint = f"Add `--config suite={owner}` after the targets."
            yield f"belongs to suite '{owner}', but the suite is '{suite}'. {hint}"
        case ["results", folder, _, *_] if folder != suite:
            folders = [TABLES.name, FIGURES.name, REPORT.name, TEMPORAL.name, suite]
            yield f"no result is in '{RESULTS / folder}'.{describe_choices(folder, folders)}"
        case ["results", _, "frames", benchmark, file] if benchmark in plan.config.benchmarks:
            yield from _find_frames_problems(plan, benchmark, file.removesuffix(".parquet"))
        case ["results", _, "frames", "preview", benchmark, file] if benchmark in plan.config.benchmarks:
            samplings = [name for name in plan.config.main.samplings if file.endswith(f".{name}.png")]
            if samplings:
                # The longest name, because a sampling's name may end like that of another sampling.
                yield from _find_frames_problems(plan, benchmark, max(samplings, key=len))
        case ["results", _, "responses" | "verdicts" | "metrics", *names]:
            yield from _find_run_problems(plan, names)
        case [first, *_] if first != "results":
            similar_files = [
                file
                for file in available_files
                if file.endswith((f"/{target}", f"/{target}.html")) or target.endswith(file)
            ]
            path_in_results = target[max(0, target.find("results/")) :]
            candidates = sorted(similar_files, key=len) or get_close_matches(path_in_results, available_files, n=1)
            hint = f" Did you mean '{candidates[0]}'?" if candidates else ""
            yield f"a target is a file in {RESULTS}/.{hint}"


def _explain_missing_file(plan: Plan, path: Path, available_files: Collection[str]) -> str:
    """Return what the suite lacks to produce a file, or the similar files that it produces."""
    siblings = [Path(file).name for file in available_files if Path(file).parent == path.parent]
    stem = path.name.partition(".")[0]
    if path.parent == TEMPORAL:
        profile = temporal_rows(plan.config).get(path.stem, {})
        rows = [(benchmark, conditions[PLANNED]) for benchmark, conditions in profile.items()]
        runs = [run for name, row in rows if isinstance(row, Row) and (run := run_from_row(name, row))]
        if runs and path.stem not in plan.temporal_profiles:
            return f"{runs[0].name} cannot run: {plan.explain_skipped_run(runs[0])}"
        if not siblings:
            return OPTIONAL_RESULTS[TEMPORAL.name].format(file=plan.config.suite_file)
    elif stem in OPTIONAL_RESULTS and not any(name.startswith(f"{stem}.") for name in siblings):
        return OPTIONAL_RESULTS[stem].format(file=plan.config.suite_file)
    if not siblings:
        return describe_choices(str(path.parent), [str(Path(file).parent) for file in available_files]).strip()
    same_stem = [name for name in siblings if name.startswith(f"{stem}.")]
    candidates = same_stem or [name for name in siblings if name.endswith(path.suffix)]
    return describe_choices(path.name, candidates or siblings).strip()


def _find_frames_problems(plan: Plan, benchmark: str, sampling: str) -> Iterator[str]:
    """Yield the reasons why the suite plans no frames of a benchmark with this sampling."""
    yield from plan.config.main.sampling_problems(sampling)
    if sampling in plan.config.main.samplings and sampling not in plan.planned_samplings(benchmark):
        yield (
            f"no run of suite '{plan.config.name}' uses this sampling for {benchmark}. Add one to `extra_runs:` of "
            f"{plan.config.suite_file}, or to a table."
        )


def _find_run_problems(plan: Plan, run_parts: Sequence[str]) -> Iterator[str]:
    """Yield the unknown names in the path of a run's result: benchmark, protocol, sampling, model."""
    config = plan.config
    benchmark, protocol, sampling, model = [*run_parts, "", "", "", ""][:4]  # Missing parts are empty.
    yield from find_unknown_name("benchmark", benchmark, config.benchmarks)
    if benchmark in config.benchmarks:
        yield from find_unknown_name("protocol", protocol, config.benchmarks[benchmark].protocols)
    yield from config.main.sampling_problems(sampling)
    if not any(f"{model}.".startswith(f"{slug}.") for slug in config.models):  # A slug may contain dots.
        yield from find_unknown_name("model", model.removesuffix(".parquet"), config.models)


def find_target_runs(plan: Plan, targets: Sequence[str]) -> set[ScoredRun]:
    """Return the scored runs behind the targets, or those of the whole suite without targets."""
    runs = plan.scored_runs()
    if not targets:
        return set(runs)
    scored_runs_by_file = list_outputs(plan)
    runs_in_paths = {scored for target in targets for scored in runs if f"/{scored.run.name}" in target}
    return runs_in_paths.union(*(scored_runs_by_file.get(target, ()) for target in targets))


def list_models(scored_runs: Iterable[ScoredRun]) -> list[str]:
    """Return the models and judges of these scored runs."""
    return sorted({slug for scored in scored_runs for slug in (scored.run.model, scored.judge) if slug})


def warn_about_models(plan: Plan, targets: Sequence[str]) -> None:
    """Warn about unpinned models and data behind these targets, and about models that their vendors have retired.

    A dry run accepts unpinned models and data, but a run fails. Some vendors answer requests to a retired model with
    another model.
    """
    scored_runs = find_target_runs(plan, targets)
    unpinned_models = [slug for slug in list_models(scored_runs) if plan.config.models[slug].revision == UNPINNED]
    benchmarks = {scored.run.benchmark for scored in scored_runs} | {
        name
        for name in plan.config.benchmarks
        for target in targets
        if f"/{name}/" in target.removeprefix(f"{TABLES}/").removeprefix(f"{FIGURES}/")
    }
    unpinned_benchmarks = sorted(name for name in benchmarks if has_unpinned_data(plan, name))
    descriptions = []
    if unpinned_models:
        descriptions.append(f"model{'s' * (len(unpinned_models) > 1)} {', '.join(unpinned_models)}")
    if unpinned_benchmarks:
        descriptions.append(f"data of {', '.join(unpinned_benchmarks)}")
    if descriptions:
        log.warning(
            f"Unpinned: {'; '.join(descriptions)}. A dry run accepts them, but a run fails. Run `reprise "
            "pin` with network access first; it writes their commits into config/."
        )
    for warning in find_retired_models(plan, scored_runs):
        log.warning(warning)


def find_retired_models(plan: Plan, scored_runs: Iterable[ScoredRun]) -> Iterator[str]:
    """Yield a warning for each model of these scored runs that its vendor has retired."""
    for slug in list_models(scored_runs):
        retirement = plan.config.models[slug].served_until
        if retirement is not None and date.today() > retirement.date:
            yield (
                f"Model {slug} was served until {retirement.date} ({retirement.source}). Cached answers stay valid; "
                "new requests to it will fail."
            )


def has_unpinned_data(plan: Plan, benchmark: str) -> bool:
    """Return whether no commit pins a benchmark's release, or the repository of videos that its runs need."""
    route = plan.config.suite.benchmarks[benchmark].route
    is_unpinned = isinstance(route, Huggingface) and route.revision == UNPINNED
    return not plan.has_release(benchmark) or (is_unpinned and benchmark in plan.data_benchmarks)
