"""Commands `runs`, `why`, `missing`, `incomplete` and `retry`: states of runs, missing data, and failures."""

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.annotations import group_by_key
from reprise.benchmarks.headline import HeadlineScore, read_headline_score
from reprise.commands.output import OutputColumn, write_lines, write_rows
from reprise.commands.shared import (
    MAX_LISTED,
    REASON_MEANINGS,
    RETRY_HINT,
    format_failures,
    format_snakemake_call,
    has_running_snakemake,
    load_plan,
    read_manifests,
    require_file,
)
from reprise.config.tables import TableSpec
from reprise.core.errors import UserError, reject_unknown
from reprise.core.files import verify_sealed_text
from reprise.core.notation import EN_DASH, format_chance, format_interval, format_share, format_value
from reprise.core.paths import OVERVIEW, RUN_NAME, TABLES, ScoredRun, overview_file, table_file
from reprise.core.plain import sanitize, sanitize_line, summarize_list, unescape_cell
from reprise.core.schemas import ITEMS, REQUESTS, read_table
from reprise.fetch.records import forget_failures
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path
from reprise.plan.answers import FailedAnswers, find_failed_answers, iter_suite_jobs, make_job
from reprise.plan.retries import MANIFEST_SCHEMAS
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.states import RunState, RunStates, StateName
from reprise.plan.suite import all_settings
from reprise.tables.builder import DEFAULT_EXTRACTION, column_name

# State of a run -> description. The commands list runs in this order.
STATE_LABELS: dict[StateName, str] = {
    "failed": "failed",
    "missing": "missing: not computed yet",
    "stale": "stale: the next run of snakemake computes it again",
    "done": "done: nothing to do",
}


def list_runs(suite: str | None) -> None:
    """Print the score, the state and the counts of every run of a suite."""
    plan = load_plan(suite, creates_store=False)
    states = RunStates(plan, all_settings(plan)).list_states()
    order = list(STATE_LABELS)
    counts = Counter(state.name for state in states)
    state_counts = ", ".join(f"{counts[name]} {name}" for name in reversed(order))
    write_lines([f"Suite '{plan.config.name}': {len(states)} runs: {state_counts}."])
    if states:
        print()
        _write_states(plan, sorted(states, key=lambda state: (order.index(state.name), state.scored_run)))
    else:
        write_lines(["Its `run:` selects no model of its tables, so they only show published values."])
    if counts["done"] < len(states):
        write_lines(["", "Why a run is not done: reprise why <run>"])
    for failures in find_failed_answers(plan):
        if failures.job.title:  # The job belongs to a side package, not to one of the runs above.
            shares = format_share(failures.failed_rows.height, failures.answer_count)
            write_lines(["", f"{failures.job.title}: {shares} failed", *_format_failures(failures)])


def _write_states(plan: Plan, states: Sequence[RunState]) -> None:
    """Print a row per run: its score first, then its counts and, unless all runs are done, its state."""
    has_states = any(state.name != "done" for state in states)
    headers = ("score", f"{100 * plan.config.main.confidence:g} % interval", "chance")
    columns = [*map(OutputColumn, (*headers, "requested", "failed", "unparsed", "missing"))]
    columns += [*([OutputColumn("state", "left")] if has_states else []), OutputColumn("run", "left")]
    rows = []
    for state in states:
        numbers = (*_format_score(plan, state), *map(str, state.counts if state.counts.total else (EN_DASH,) * 4))
        reasons = state.failed_answers.count_by_reason.most_common() if state.failed_answers else []
        reason_counts = ", ".join(f"{number} {reason}" for reason, number in reasons)
        name = state.scored_run.name + (f"  ({reason_counts})" if reason_counts else "")
        rows.append([*numbers, *([state.name] if has_states else []), name])
    write_rows(columns, rows)


def _format_score(plan: Plan, state: RunState) -> tuple[str, str, str]:
    """Return the texts of a run's score, its interval and its chance level."""
    score = _read_score(plan, state)
    if score is None:
        return EN_DASH, "", ""
    chance = "" if score.chance is None else format_chance(score.chance)
    return (
        format_value(score.value, score.decimals),
        format_interval(score.low, score.high, score.decimals),
        chance,
    )


def _read_score(plan: Plan, state: RunState) -> HeadlineScore | None:
    """Return the headline score of a run whose results exist and are up to date."""
    run, metrics = state.scored_run.run, plan.results.metrics(state.scored_run)
    if state.name == "stale" or not metrics.is_file():
        return None
    statistics = plan.results.statistics(run.benchmark)
    form = plan.config.benchmarks[run.benchmark].protocols[run.protocol].form
    return read_headline_score(metrics, run.benchmark, form, statistics if statistics.is_file() else None)


def explain_run(query: str, suite: str | None) -> None:
    """Print the state of a run with the reasons; if answers are judged, for each judge or for the named one."""
    plan = load_plan(suite, creates_store=False)
    states, scored_runs = RunStates(plan, all_settings(plan)), plan.scored_runs()
    matches = [scored for scored in scored_runs if scored.name == query]
    if not matches:
        run = plan.find_run(query)
        matches = [scored for scored in scored_runs if scored.run == run]
    for scored in matches:
        write_lines(map(sanitize, _format_state(plan, states.compute_state(scored), suite)))


def _format_state(plan: Plan, state: RunState, suite: str | None) -> Iterator[str]:
    """Yield the state of a run, the reasons for it, and the call that computes the run."""
    yield f"{state.scored_run.name}: {STATE_LABELS[state.name]}"
    for path, message in dict(state.job_failures).items():
        yield f"{path} ends with:"
        yield from (f"  {line}" for line in message.splitlines())
    if state.missing_results and state.name != "done":
        yield f"Missing results: {', '.join(state.missing_results)}."
        key = make_job(plan, ScoredRun(state.scored_run.run), RunKeys(plan)).cache_key
        if n_cached := len(ResponseCache(get_response_cache_path(plan.store, key))):
            yield f"The response cache holds {n_cached} of its answers; they are not requested again."
        if has_running_snakemake(Path()):
            yield "snakemake is running in this folder, or was killed here."
    # A change may affect several stages; it is printed once.
    changes = {change.name: change for _, change in state.settings_changes if change.texts}
    for name, change in changes.items():
        stages = dict.fromkeys(step.stage for step, step_change in state.settings_changes if step_change.name == name)
        yield f"Settings changed: {', '.join(stages)} ({name}):"
        yield from (f"  {text}" for text in summarize_list(change.texts, 8))
    if state.failed_answers is not None:
        yield f"Failed answers: {state.failed_answers.failed_rows.height} of {state.failed_answers.answer_count}"
        yield from _format_failures(state.failed_answers)
        if state.retry_count < state.failed_answers.failed_rows.height:
            yield f"  {RETRY_HINT}"
    if state.counts.total:
        yield "Answers: {} requested, {} failed, {} unparsed; {} requests without a clip.".format(*state.counts)
    targets = [
        (benchmark, table)
        for benchmark, table, _ in plan.list_tables_and_overview()
        if state.scored_run in plan.table_scored_runs(benchmark, table)
    ]
    profiles = (
        f"the temporal profile of {slug}"
        for slug in plan.temporal_profiles
        if state.scored_run in plan.temporal_scored_runs([slug])
    )
    tables = (table if table == OVERVIEW else f"{benchmark}/{table}" for benchmark, table in targets)
    yield f"Shown in: {', '.join([*tables, *profiles]) or 'no table'}."
    if state.name != "done":
        target = plan.results.metrics(state.scored_run)
        for benchmark, table in targets[:1]:
            file = overview_file("md") if table == OVERVIEW else table_file(benchmark, table, "md")
            # Snakemake does not make a missing input of an existing file.
            if state.name != "missing" or not file.is_file():
                target = file
        yield f"To compute it: {format_snakemake_call(suite, target)}"


def _format_failures(answers: FailedAnswers) -> Iterator[str]:
    """Return the lines about failed answers, indented."""
    failed_rows = answers.failed_rows.select(reason="error", name="request_id", message="message")
    return (f"  {line}" for line in format_failures(failed_rows, answers.retry_count_by_reason))


# --- missing ---------------------------------------------------------------------------------------------------------


def list_missing(suite: str | None, show_all: bool) -> None:
    """Print the missing sources, clips and items of a suite."""
    plan = load_plan(suite)
    limit, benchmarks = None if show_all else MAX_LISTED, plan.config.suite.benchmarks
    lines = [line for benchmark in benchmarks for line in _format_missing(plan, benchmark, limit)]
    nothing = f"Nothing is missing in suite '{plan.config.name}', as far as its videos were fetched."
    write_lines([*lines, RETRY_HINT] if lines else [nothing])


def _format_missing(plan: Plan, benchmark: str, limit: int | None) -> Iterator[str]:
    """Yield the missing sources, clips and items of a benchmark, as far as its videos were fetched."""
    sources = read_manifests(plan, "sources", benchmark).unique("source_id", maintain_order=True)
    clips = read_manifests(plan, "clips", benchmark).unique("clip_id", maintain_order=True)
    attempts = getattr(plan.config.suite.benchmarks[benchmark].route, "attempts", 1)
    retryable = sources.filter(pl.col("status") != "ok", pl.col("transient"), pl.col("attempts") < attempts)["status"]
    for noun, rows, name, retries in (
        ("sources", sources, "source_id", Counter(retryable)),
        ("clips", clips, "clip_id", Counter[str]()),
    ):
        missing_rows = rows.filter(pl.col("status") != "ok").select(reason="status", name=name, message="message")
        if missing_rows.height:
            yield f"{noun} of {benchmark}: {missing_rows.height} of {rows.height} missing"
            yield from (f"  {line}" for line in format_failures(missing_rows, retries, limit))
    if plan.results.items(benchmark).is_file():
        yield from _format_missing_items(plan, benchmark, clips.filter(pl.col("status") != "ok")["clip_id"], limit)


def _format_missing_items(plan: Plan, benchmark: str, missing_clips: pl.Series, limit: int | None) -> Iterator[str]:
    """Yield the items without a clip by protocol, with the runs that count them as missing, and the flawed items."""
    runs = [run for run in plan.runs() if run.benchmark == benchmark and run.model not in plan.imports.models]
    for protocol in sorted({run.protocol for run in runs}):
        requests = plan.results.requests(benchmark, protocol)
        if not requests.is_file():
            continue
        requested_items = read_table(requests, REQUESTS, REQUESTS.keys() - {"item_id", "clip_id"}).unique("item_id")
        missing = requested_items.filter(pl.col("clip_id").is_in(missing_clips.implode())).sort("item_id")
        if missing.height:
            run_names = [f"{run.sampling}/{run.model}" for run in runs if run.protocol == protocol]
            yield f"items of {benchmark}/{protocol}: {missing.height} of {requested_items.height} without a clip"
            yield f"  {', '.join(summarize_list([*map(sanitize_line, missing['item_id'])], limit))}"
            yield f"  they count as missing in {len(run_names)} runs: {', '.join(run_names)}"
    items = read_table(plan.results.items(benchmark), ITEMS)
    flawed = items.filter(pl.col("flaws").list.len() > 0)
    if flawed.height:
        yield f"items of {benchmark}: {flawed.height} of {items.height} from flawed entries of the release"
        flaws = flawed["flaws"].explode().unique(maintain_order=True)
        yield from summarize_list([f"  {sanitize_line(flaw)}" for flaw in flaws], limit, "  and {} more")


# --- incomplete ------------------------------------------------------------------------------------------------------


class MissingCell(NamedTuple):
    """One metric of a table cell without a number; the fields are columns of the table's csv file."""

    table: str
    section: str
    row: str
    column: str
    metric: str
    group: str


def list_incomplete(names: Collection[str], suite: str | None) -> None:
    """Print the cells without a number, by table and row."""
    missing_cells = incomplete_cells(load_plan(suite), TABLES, names)
    cells_by_row = group_by_key(
        missing_cells, lambda cell: ": ".join(filter(None, (cell.table, cell.section, cell.row)))
    )
    lines = (
        f"{row}: {', '.join(f'{cell.column} ({cell.metric})' for cell in cells)}" for row, cells in cells_by_row.items()
    )
    write_lines(lines)
    write_lines([f"{len(missing_cells)} numbers are missing in {len({cell.table for cell in missing_cells})} tables"])


def incomplete_cells(plan: Plan, folder: Path, names: Collection[str] = ()) -> list[MissingCell]:
    """Return the cells without a number in a suite's tables, or in the named ones.

    A number may be measured, of the data set, of chance or published. If several rows of a section have the same label,
    such as with two numbers of frames, each of them needs its own number.
    """
    tables = {f"{benchmark}/{number}": spec for benchmark, number, spec in plan.list_tables()}
    reject_unknown("table", names, tables, "incomplete")
    missing_cells = Counter[MissingCell]()
    for name in names or tables:
        expected_cells = Counter(_list_cells(name, tables[name]))
        missing_cells += expected_cells - _count_filled_cells(folder / f"{name}.csv", plan.config.name)
    return list(missing_cells.elements())


def _list_cells(name: str, spec: TableSpec) -> Iterator[MissingCell]:
    """Yield every cell of a table, once for each of its metrics."""
    for section in spec.sections:
        for row in section.resolve():
            for column in spec.columns:
                group = row.group or column.group or ""
                for metric in spec.list_metrics(column):
                    yield MissingCell(name, section.title or "", row.label, column_name(column), metric, group)


def _count_filled_cells(path: Path, suite: str) -> Counter[MissingCell]:
    """Count the cells with a number in the csv file of a table, by the fields of `MissingCell`.

    Numbers under the convention of the authors, which only serve comparisons with published numbers, do not count.
    """
    with verify_sealed_text(require_file(path, "incomplete")).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    foreign_suites = {row["suite"] for row in rows} - {suite}
    if foreign_suites:
        raise UserError(
            f"{path}: belongs to suite '{foreign_suites.pop()}', not to '{suite}'. "
            f"Run snakemake with `--config suite={suite}` first."
        )
    rows_with_value = [row for row in rows if row["value"] and row["convention"] in ("", DEFAULT_EXTRACTION[0])]
    return Counter(
        MissingCell(*(unescape_cell(row[name] or "") for name in MissingCell._fields)) for row in rows_with_value
    )


# --- retry -----------------------------------------------------------------------------------------------------------


def retry_failures(patterns: Sequence[str], suite: str | None = None) -> None:
    """Let the next run retry failures; patterns with a slash name runs, whose answers are retried, others name reasons.

    Without a run, failed sources and clips are retried too.
    """
    runs = [pattern for pattern in patterns if "/" in pattern]
    reasons = [pattern for pattern in patterns if "/" not in pattern]
    reject_unknown("reason", reasons, REASON_MEANINGS, "retry")
    plan = load_plan(suite)
    failures = find_failed_answers(plan)
    if runs:
        names = [job.scored_run.name for job in iter_suite_jobs(plan)]
        run_names = {name for pattern in runs for name in _find_matching_runs(plan, pattern, names)}
        failures = [failed_answers for failed_answers in failures if failed_answers.job.scored_run.name in run_names]
    # Jobs with the same key share a log of failures, which must be changed once.
    failure_logs = {id(failed_answers.failure_log): failed_answers.failure_log for failed_answers in failures}
    answer_count = sum(failure_log.retry(reasons) for failure_log in failure_logs.values())
    source_count, clip_count = 0, 0
    if not runs:
        source_count = forget_failures(plan.store, reasons)
        clip_count = _retry_shards(plan, list(reasons or REASON_MEANINGS))
    counts = f"{source_count} sources, {clip_count} clips, {answer_count} answers"
    write_lines([f"Failures to retry: {counts}. Run snakemake now."])


def _find_matching_runs(plan: Plan, pattern: str, names: Sequence[str]) -> list[str]:
    """Return the names of the runs that match a pattern of `retry`, and of the same runs with a judge."""
    matches = [name for name in names if fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}/*")]
    if not matches and "*" in pattern:
        raise UserError(
            f"retry: no run of suite '{plan.config.name}' matches '{pattern}'; * stands for anything in {RUN_NAME}."
        )
    run = pattern if matches else plan.find_run(pattern).name
    return matches or [name for name in names if name == run or name.startswith(f"{run}/")]


def _retry_shards(plan: Plan, reasons: list[str]) -> int:
    """Delete the manifests of shards with failures for these reasons, and return the number of failed clips."""
    clip_count = 0
    for stage, schema in MANIFEST_SCHEMAS.items():
        for _, _, manifest in plan.results.existing_manifests(stage):
            count = int(read_table(manifest, schema)["status"].is_in(reasons).sum())
            clip_count += count if stage == "clips" else 0
            if count:
                manifest.unlink()  # Snakemake makes the manifest and its dependents again.
    return clip_count
