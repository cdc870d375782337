"""Command `plan`: list pending inference by model, with reasons and estimated cost, without running anything."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from reprise.benchmarks.annotations import group_by_key
from reprise.commands.needs import TYPICAL_MODEL, NamedModel, find_named_model, format_needs
from reprise.commands.numbers import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_size,
)
from reprise.commands.output import write_lines
from reprise.commands.pending import JobEstimate, JobEstimator
from reprise.commands.shared import format_snakemake_call, load_plan
from reprise.commands.show import match_tables
from reprise.commands.totals import describe_costs, format_disk_space, format_totals
from reprise.commands.weights_folder import check_weights, is_below_local_folder, no_folder_error
from reprise.core.errors import UserError, reject_unknown
from reprise.core.paths import RESULTS, ScoredRun, locate
from reprise.core.plain import sanitize
from reprise.core.terminal import get_width, wrap_line
from reprise.models.local.device_memory import compute_max_reserve
from reprise.plan.costs import EstimateSource, measure_weights
from reprise.plan.forecast import GPU, size_of_model
from reprise.plan.name_matching import format_list, match_names, suggest_closest
from reprise.plan.runs import Plan
from reprise.plan.states import PendingJobs, RunStates, find_pending_jobs
from reprise.plan.suite import all_settings
from reprise.plan.targets import check_targets, find_retired_models, find_target_runs, list_compared_runs

MAX_LINES = 12  # Lines of runs that are printed without `--all`.
MAX_COUNTED_FILES = 4  # Files that a suggested call of snakemake names, to keep it short.
# Source of an estimated time -> its mark before the time, and the explanation of the mark in the legend.
SOURCE_MARKS: Mapping[EstimateSource, tuple[str, str]] = {
    "itself": ("", "no mark: from earlier requests of the run itself"),
    "benchmark": ("~", "~ from a run of its model on this benchmark"),
    "model": ("~~", "~~ from another run of its model"),
    "arithmetic": ("=", f"= by arithmetic for an {GPU}, not measured"),
}
NUMBERS_FORMAT = "{:>8}{:>9}{:>7}{:>7}{:>9}{:>10}"


def show_plan(targets: Sequence[str], show_all: bool, suite: str | None, benchmarks: str | None = None) -> None:
    """Print the pending inference behind the targets, and what benchmarks and models need.

    A target that names a model without runs in the suite gets the needs of its runs in the overview.
    """
    plan = load_plan(suite, creates_store=False)
    width = get_width(sys.stdout) or sys.maxsize  # In a file or a pipe no line is wrapped.
    supported = [name for name, tables in plan.config.tables.items() if tables.overview is not None]
    names = list(plan.config.benchmarks) if benchmarks is None else benchmarks.split(",")
    reject_unknown("benchmark", names, plan.config.benchmarks, "--benchmarks")
    run_targets, models = _split_targets(plan, targets)
    lines: list[str] = []
    pending_jobs = PendingJobs([], 0, 0)
    estimates: list[JobEstimate] = []
    if run_targets or not targets:
        pending_jobs, estimates = estimate_jobs(plan, run_targets, names)
        lines += format_plan(plan, pending_jobs, estimates, suite, width, show_all=show_all)
    pending_names = {estimate.scored_run.run.benchmark for estimate in estimates}
    if not (pending_names or pending_jobs.done_count or pending_jobs.recomputed_count):
        models = models or [TYPICAL_MODEL]
    if models:  # Their needs are printed for the benchmarks that the targets name, or for all.
        target_parts = {part for target in run_targets for part in target.split("/")}
        candidates = {*supported} & {*names}
        pending_names |= (candidates & target_parts) or candidates
    lines += format_needs(plan, [name for name in names if name in pending_names], estimates, models, width)
    write_lines([sanitize("\n".join(lines).strip("\n"))])


def _split_targets(plan: Plan, targets: Sequence[str]) -> tuple[list[str], list[NamedModel]]:
    """Return the targets that name runs of the suite, and the models of which the suite has no run."""
    run_targets, models = [], []
    slugs = {run.model for run in plan.runs()}
    for target in targets:
        named = None if match_tables(plan, target) else find_named_model(plan, target)
        if named is None:
            run_targets.append(target)
        elif named.name in slugs:
            run_targets.append(named.name)
        else:
            models.append(named)
    return run_targets, models


def estimate_jobs(
    plan: Plan, targets: Sequence[str], names: Collection[str] | None = None
) -> tuple[PendingJobs, list[JobEstimate]]:
    """Return the pending inference jobs behind the targets, and their estimates; `names` restricts the benchmarks."""
    settings = all_settings(plan)
    scored_runs = select_scored_runs(plan, targets)
    if names is not None:
        scored_runs = [scored for scored in scored_runs if scored.run.benchmark in names]
    states = RunStates(plan, settings)
    pending_jobs = find_pending_jobs(plan, states, scored_runs)
    benchmarks = set(plan.config.benchmarks if names is None else names)
    if targets:  # A side package's jobs count only for the benchmarks of the targets.
        target_parts = {part for target in targets for part in target.split("/")}
        benchmarks &= target_parts | {scored.run.benchmark for scored in scored_runs}
    package_jobs = [job for package in plan.packages.values() for job in package.pending_jobs(states, benchmarks)]
    pending_jobs = pending_jobs._replace(jobs=[*package_jobs, *pending_jobs.jobs])
    estimator = JobEstimator(plan, settings)
    return pending_jobs, [estimator.estimate_job(job) for job in pending_jobs.jobs]


def summarize_costs(plan: Plan, scored_runs: Iterable[ScoredRun], suite: str | None) -> Iterator[str]:
    """Yield the total requests, time and cost of the pending inference of scored runs."""
    settings = all_settings(plan)
    estimator = JobEstimator(plan, settings)
    jobs = find_pending_jobs(plan, RunStates(plan, settings), scored_runs).jobs
    estimates = [estimator.estimate_job(job) for job in jobs]
    if estimates:
        yield from format_totals(plan, estimates)
        yield from describe_costs(plan, estimates)
    if any(estimate.time and estimate.time.source == "arithmetic" for estimate in estimates):
        yield f"Times without a similar run here are by arithmetic for an {GPU}, not measured."
    yield from _explain_unknown_requests(estimates, suite)


def select_scored_runs(plan: Plan, targets: Sequence[str]) -> list[ScoredRun]:
    """Return the scored runs of the targets, which name tables, result files or runs; all without targets."""
    if not targets:
        return plan.scored_runs()
    return sorted(set(chain.from_iterable(_match_scored_runs(plan, target) for target in targets)))


def _match_scored_runs(plan: Plan, target: str) -> Iterable[ScoredRun]:
    """Return the scored runs of one target: a result file, a table, or a run."""
    if target.startswith(f"{RESULTS}/"):
        check_targets(plan, [target])
        requested = find_target_runs(plan, [target])
        # A target such as a file of responses requests a run without its judges; the judged runs then count as well.
        matches = [scored for scored in plan.scored_runs() if scored in requested or ScoredRun(scored.run) in requested]
        return [*matches, *(scored for scored in list_compared_runs(plan) if scored in requested)]
    tables = match_tables(plan, target)
    if tables:
        return chain.from_iterable(plan.table_scored_runs(*table) for table in tables)
    runs = [run.name for run in plan.runs()]
    matching_runs = match_names(target, runs)
    if not matching_runs and locate(target).is_dir():
        check_weights("plan", target)
    if not matching_runs and "/" in target and is_below_local_folder(target):
        raise no_folder_error("plan", target)
    if not matching_runs:
        table_names = [f"{benchmark}/{table}" for benchmark, table, _ in plan.list_tables()]
        raise UserError(
            f"no table or run '{target}' in suite '{plan.config.name}'."
            f"{suggest_closest(target, [*table_names, *runs, *plan.config.models])} Its tables: "
            f"{format_list(table_names)}; `reprise runs` lists its runs."
        )
    return [scored for scored in plan.scored_runs() if scored.run.name in matching_runs]


def format_plan(
    plan: Plan,
    pending_jobs: PendingJobs,
    estimates: Sequence[JobEstimate],
    suite: str | None,
    width: int,
    *,
    show_all: bool,
) -> Iterator[str]:
    """Yield the lines of the command's output: pending runs by model, totals, costs, disk space and a legend."""
    n_jobs = len(pending_jobs.jobs)
    summary = f"Suite '{plan.config.name}': {n_jobs} inference job{'s' * (n_jobs != 1)} pending"
    if not (pending_jobs.jobs or pending_jobs.done_count or pending_jobs.recomputed_count):
        summary += ": its `run:` selects no model of these tables, so they only show published values"
    for status, count in (
        ("done", pending_jobs.done_count),
        ("scored again without new requests", pending_jobs.recomputed_count),
    ):
        summary += f"; {status}: {count}" if count else ""
    yield from wrap_line(f"{summary}.", width)
    if not estimates:
        return
    yield f"\n{NUMBERS_FORMAT.format('pending', 'answered', 'frames', 'tokens', 'rate', 'time')}  run"
    yield from _format_runs(plan, estimates, width, show_all=show_all)
    yield ""
    lines = (
        *format_totals(plan, estimates),
        *describe_costs(plan, estimates),
        *find_retired_models(plan, [estimate.scored_run for estimate in estimates]),
        *format_disk_space(plan, estimates),
        *_format_legend(plan, estimates, suite),
    )
    for line in lines:
        yield from wrap_line(line, width)


# --- runs ------------------------------------------------------------------------------------------------------------


def _format_runs(plan: Plan, estimates: Sequence[JobEstimate], width: int, *, show_all: bool) -> Iterator[str]:
    """Yield at most `MAX_LINES` lines of runs: models with weights first, by number of pending requests.

    Runs of the same model and with the same reasons share a heading.
    """
    ordered_estimates = sorted(estimates, key=lambda estimate: (-(estimate.request_count or 0), estimate.scored_run))
    # A group has the estimates with the same model and reasons.
    groups = group_by_key(ordered_estimates, lambda estimate: (estimate.pending_job.slug, estimate.pending_job.reasons))
    needs_by_model = {slug: _describe_needs(plan, slug) for slug, _ in groups}
    request_counts = {
        group: sum(estimate.request_count or 0 for estimate in members) for group, members in groups.items()
    }
    ordered_groups = sorted(groups, key=lambda group: (needs_by_model[group[0]] is None, -request_counts[group], group))
    blocks = []  # The lines of each run; those of a group's first run begin with the heading.
    for slug, reasons in ordered_groups:
        heading = wrap_line(f"{slug}: {'; '.join(reasons)}. {needs_by_model[slug] or 'It has no weights.'}", width)
        first_run, *other_runs = (_format_run(estimate, width) for estimate in groups[slug, reasons])
        blocks += [[*heading, *first_run], *other_runs]
    line_count = 0
    for block_index, block in enumerate(blocks):
        line_count += len(block)
        if block_index and line_count > MAX_LINES and not show_all:
            yield f"and {len(blocks) - block_index} more: --all lists them"
            return
        yield from block


def _describe_needs(plan: Plan, slug: str) -> str | None:
    """Return the GPUs and the memory that a model needs; None if it has no weights."""
    model = plan.config.models[slug]
    weights = measure_weights(model, plan.store)
    if weights is None:
        return None
    size = _describe_loaded_size(plan, slug, weights.loaded_bytes)
    if not model.gpus:
        return f"No GPU; weights: {size}."
    reserve = (
        f", plus a reserve for clips of about {format_bytes(compute_max_reserve(weights.loaded_bytes))}"
        if weights.loaded_bytes
        else ""
    )
    return f"{model.gpus} GPU{'s' * (model.gpus > 1)}; memory: weights {size}{reserve}."


def _describe_loaded_size(plan: Plan, slug: str, loaded_bytes: int | None) -> str:
    """Return the size of loaded weights; if it is not measured, about the size that the model's file implies."""
    size = None if loaded_bytes is not None else size_of_model(plan, plan.config.models[slug])
    return format_size(loaded_bytes) if size is None else format_size(size.weights.value, "about ")


def _format_run(estimate: JobEstimate, width: int) -> list[str]:
    """Return a run as a line, or as two lines if it is too wide.

    The heading above it names the run's model or, for a judged run, the judge.
    """
    pending = (
        UNKNOWN
        if estimate.request_count is None
        else f"{'≤' if estimate.is_upper_bound else ''}{estimate.request_count:,}"
    )
    rate = time = UNKNOWN
    if estimate.time is not None:
        time = f"{SOURCE_MARKS[estimate.time.source][0]}{format_duration(estimate.time.seconds)}"
        if estimate.request_count and estimate.time.seconds:
            rate = format_rate(estimate.request_count / estimate.time.seconds)
    numbers = NUMBERS_FORMAT.format(
        f"{'*' if estimate.pending_job.has_stale_inputs else ''}{pending}",
        f"{estimate.n_answered:,}",
        format_count(estimate.frame_count),
        format_count(estimate.prompt_tokens),
        rate,
        time,
    )
    name = (
        f"of {estimate.scored_run.run.name}"
        if estimate.scored_run.judge
        else estimate.scored_run.run.name.rpartition("/")[0]
    )
    return [f"{numbers}  {name}"] if len(numbers) + 2 + len(name) <= width else [numbers, f"{name:>{width}}"]


def _format_legend(plan: Plan, estimates: Sequence[JobEstimate], suite: str | None) -> Iterator[str]:
    """Yield explanations of the marks that the lines of runs contain."""
    sources = {estimate.time.source for estimate in estimates if estimate.time}
    if sources:
        yield f"Time: {'; '.join(text for source, (_, text) in SOURCE_MARKS.items() if source in sources)}."
    if any(estimate.is_upper_bound for estimate in estimates):
        yield "≤ at most; requests about missing clips are not sent."
    if any(estimate.pending_job.has_stale_inputs for estimate in estimates):
        yield "* counted in tables that are computed again first."
    yield from _explain_unknown_requests(estimates, suite)


def _explain_unknown_requests(estimates: Sequence[JobEstimate], suite: str | None) -> Iterator[str]:
    """Yield how to count the requests of runs whose number is unknown."""
    uncounted_jobs = [estimate.pending_job.job for estimate in estimates if estimate.request_count is None]
    files = sorted({job.requests_path for job in uncounted_jobs if not job.scored_run.judge})
    if files:
        call = format_snakemake_call(suite, *files[:MAX_COUNTED_FILES])
        yield f"{UNKNOWN} pending: `{call}` reads the annotations and counts the requests."
    if any(job.scored_run.judge for job in uncounted_jobs):
        yield f"{UNKNOWN} pending for a judge: known once there are answers to judge."
