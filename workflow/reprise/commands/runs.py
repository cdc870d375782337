"""Commands on the state of runs: states and reasons, missing data, incomplete cells, and retries of failures."""

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.rows import grouped
from reprise.commands.shared import (
    MAX_LISTED,
    MEANINGS,
    RETRY,
    call_for,
    failure_lines,
    is_running,
    ledger_of,
    plan_of,
    require_file,
)
from reprise.core.errors import UserError, refuse_unknown
from reprise.core.files import sealed_text
from reprise.core.paths import OVERVIEW, RUN_NAME, TABLES, Scored, overview_file, table_file
from reprise.core.plain import first_of, of_cell, plain, safe
from reprise.core.schemas import ITEMS, REQUESTS, read_table
from reprise.fetch.records import forget_failures
from reprise.models.asking.journal import Journal, journal_path
from reprise.plan.answers import FailedAnswers, asked_jobs, failed_answers, job_of
from reprise.plan.retries import LEDGERS
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.states import Name, State, States
from reprise.plan.suite import all_settings
from reprise.tables.build import SHOWN as COUNTED
from reprise.tables.build import column_name

# The runs are listed in this order.
WORDS: dict[Name, str] = {
    "failed": "failed",
    "missing": "missing: not made yet",
    "stale": "stale: the next run of snakemake makes it again",
    "done": "done: nothing to do",
}
ROW = "{:<8}{:>7}{:>8}{:>8}{:>9}  {}"


def list_runs(suite: str | None) -> None:
    plan = plan_of(suite)
    states = States(plan, all_settings(plan)).all()
    order = list(WORDS)
    counts = Counter(state.name for state in states)
    state_counts = ", ".join(f"{counts[name]} {name}" for name in reversed(order))
    print(f"Suite '{plan.config.name}': {len(states)} runs: {state_counts}.")
    if states:
        print("\n" + ROW.format("state", "asked", "failed", "unread", "missing", "run"))
    else:
        print("Its `run:` selects no model of its tables, so that they show published values only.")
    for state in sorted(states, key=lambda state: (order.index(state.name), state.scored)):
        numbers = state.counts if state.counts.asked else ("-",) * 4
        reasons = state.answers.reasons.most_common() if state.answers else []
        reason_counts = ", ".join(f"{number} {reason}" for reason, number in reasons)
        print(ROW.format(state.name, *numbers, state.scored.name) + (f"  ({reason_counts})" if reason_counts else ""))
    if counts["done"] < len(states):
        print("\nWhy a run is not done: python -m reprise why <run>")
    for failures in failed_answers(plan):
        if failures.job.title:
            print(f"\n{failures.job.title}: {failures.failed.height} of {failures.asked} failed")
            print("\n".join(_failed(failures)))


def explain_run(words: str, suite: str | None) -> None:
    """Print the state of a run and its reasons, for each of its judges or for the named one."""
    plan = plan_of(suite)
    states, numbers = States(plan, all_settings(plan)), plan.numbers()
    matches = [scored for scored in numbers if scored.name == words]
    if not matches:
        run = plan.find_run(words)
        matches = [scored for scored in numbers if scored.run == run]
    for scored in matches:
        print(safe("\n".join(_lines(plan, states.of(scored), suite))))


def _lines(plan: Plan, state: State, suite: str | None) -> Iterator[str]:
    yield f"{state.scored.name}: {WORDS[state.name]}"
    for path, message in dict(state.failures).items():
        yield f"{path} ends with:"
        yield from (f"  {line}" for line in message.splitlines())
    if state.missing and state.name != "done":
        yield f"Not there: {', '.join(state.missing)}."
        if cached := len(Journal(journal_path(plan.store, job_of(plan, Scored(state.scored.run), RunKeys(plan)).key))):
            yield f"The response cache holds {cached} of its answers, which are not asked again."
        if is_running(Path()):
            yield "snakemake works in this folder now, or was killed here."
    for name, change in {change.name: change for _, change in state.changed if change.words}.items():
        stages = dict.fromkeys(step.stage for step, step_change in state.changed if step_change.name == name)
        yield f"Made with other settings: {', '.join(stages)} ({name}):"
        yield from (f"  {words}" for words in first_of(change.words, 8))
    if state.answers is not None:
        yield f"Failed answers: {state.answers.failed.height} of {state.answers.asked}"
        yield from _failed(state.answers)
        if state.due < state.answers.failed.height:
            yield f"  {RETRY}"
    if state.counts.asked:
        yield "Answers: {} asked, {} failed, {} unread; {} not asked, their clips are missing.".format(*state.counts)
    targets = [
        (benchmark, table)
        for benchmark, table, _ in plan.shown()
        if state.scored in plan.table_scored(benchmark, table)
    ]
    cards = (f"the card of time of {slug}" for slug in plan.time if state.scored in plan.time_scored([slug]))
    tables = (table if table == OVERVIEW else f"{benchmark}/{table}" for benchmark, table in targets)
    yield f"Shown in: {', '.join([*tables, *cards]) or 'no table'}."
    if state.name != "done":
        target = plan.results.metrics(state.scored)
        for benchmark, table in targets[:1]:
            file = overview_file("md") if table == OVERVIEW else table_file(benchmark, table, "md")
            # Snakemake does not make a missing input if the file itself exists.
            if state.name != "missing" or not file.is_file():
                target = file
        yield f"To make it: {call_for(target, suite)}"


def _failed(answers: FailedAnswers) -> Iterator[str]:
    failed = answers.failed.select(reason="error", name="request_id", message="message")
    return (f"  {line}" for line in failure_lines(failed, answers.due))


# --- missing ---------------------------------------------------------------------------------------------------------


def list_missing(suite: str | None, every: bool) -> None:
    plan = plan_of(suite)
    limit, benchmarks = None if every else MAX_LISTED, plan.config.suite.benchmarks
    lines = [line for benchmark in benchmarks for line in _missing(plan, benchmark, limit)]
    nothing = f"Nothing is missing in suite '{plan.config.name}', as far as its videos were looked for."
    print("\n".join([*lines, RETRY]) if lines else nothing)


def _missing(plan: Plan, benchmark: str, limit: int | None) -> Iterator[str]:
    """Yield the missing sources, clips and items of a benchmark; nothing if it is complete or was not fetched yet."""
    sources = ledger_of(plan, "sources", benchmark).unique("source_id", maintain_order=True)
    clips = ledger_of(plan, "clips", benchmark).unique("clip_id", maintain_order=True)
    attempts = getattr(plan.config.suite.benchmarks[benchmark].route, "attempts", 1)
    retryable = sources.filter(pl.col("status") != "ok", pl.col("transient"), pl.col("attempts") < attempts)["status"]
    for noun, rows, name, retries in (
        ("sources", sources, "source_id", Counter(retryable)),
        ("clips", clips, "clip_id", Counter[str]()),
    ):
        missing = rows.filter(pl.col("status") != "ok").select(reason="status", name=name, message="message")
        if missing.height:
            yield f"{noun} of {benchmark}: {missing.height} of {rows.height} missing"
            yield from (f"  {line}" for line in failure_lines(missing, retries, limit))
    if plan.results.items(benchmark).is_file():
        yield from _missing_items(plan, benchmark, clips.filter(pl.col("status") != "ok")["clip_id"], limit)


def _missing_items(plan: Plan, benchmark: str, missing_clips: pl.Series, limit: int | None) -> Iterator[str]:
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
            yield f"items of {benchmark}/{protocol}: {missing.height} of {requested_items.height} not asked: no clip"
            yield f"  {', '.join(first_of([*map(plain, missing['item_id'])], limit))}"
            yield f"  they count as missing in {len(run_names)} runs: {', '.join(run_names)}"
    items = read_table(plan.results.items(benchmark), ITEMS)
    flawed = items.filter(pl.col("flaws").list.len() > 0)
    if flawed.height:
        yield f"items of {benchmark}: {flawed.height} of {items.height} come from flawed entries of the release"
        flaws = flawed["flaws"].explode().unique(maintain_order=True)
        yield from first_of([f"  {plain(flaw)}" for flaw in flaws], limit, "  and {} more")


# --- incomplete ------------------------------------------------------------------------------------------------------


class Gap(NamedTuple):
    """A table cell, or a part of one, without a number."""

    table: str
    section: str
    row: str
    column: str
    metric: str
    group: str


def list_incomplete(names: Collection[str], suite: str | None) -> None:
    gaps = incomplete_cells(plan_of(suite), TABLES, names)
    rows = grouped(gaps, lambda gap: ": ".join(filter(None, (gap.table, gap.section, gap.row))))
    print(
        "\n".join(
            f"{row}: {', '.join(f'{gap.column} ({gap.metric})' for gap in row_gaps)}" for row, row_gaps in rows.items()
        )
    )
    print(f"{len(gaps)} numbers are missing in {len({gap.table for gap in gaps})} tables")


def incomplete_cells(plan: Plan, folder: Path, names: Collection[str] = ()) -> list[Gap]:
    """Return the gaps in a suite's tables, or in the named ones.

    A gap has no measured, dataset, chance or published number. Rows of one section may share a label, for example with
    two numbers of frames; each of them needs its own number.
    """
    tables = {f"{benchmark}/{number}": spec for benchmark, number, spec in plan.tables()}
    refuse_unknown("table", names, tables, "incomplete")
    gaps = Counter[Gap]()
    for name in names or tables:
        expected = Counter(
            Gap(name, section.title or "", row.label, column_name(column), metric, row.group or column.group or "")
            for section in tables[name].sections
            for row in section.resolved()
            for column in tables[name].columns
            for metric in tables[name].metrics_of(column)
        )
        gaps += expected - _filled(folder / f"{name}.csv", plan.config.name)
    return list(gaps.elements())


def _filled(path: Path, suite: str) -> Counter[Gap]:
    """Count the cells of a table that have a number; a comparison with a published number is not a cell."""
    with sealed_text(require_file(path, "incomplete")).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    foreign_suites = {row["suite"] for row in rows} - {suite}
    if foreign_suites:
        raise UserError(
            f"{path}: of suite '{foreign_suites.pop()}', not of '{suite}'. "
            f"Run snakemake with `--config suite={suite}` first."
        )
    filled = [row for row in rows if row["value"] and row["convention"] in ("", COUNTED[0])]
    return Counter(Gap(*(of_cell(row[name] or "") for name in Gap._fields)) for row in filled)


# --- retry -----------------------------------------------------------------------------------------------------------


def retry_failures(words: Sequence[str], suite: str | None = None) -> None:
    """Mark failures for another attempt by the next run; if the words name runs, only the answers of these runs."""
    runs, reasons = ([word for word in words if ("/" in word) == is_run] for is_run in (True, False))
    refuse_unknown("reason", reasons, MEANINGS, "retry")
    plan = plan_of(suite)
    failures = failed_answers(plan)
    if runs:
        names = [job.scored.name for job in asked_jobs(plan)]
        run_names = {name for word in runs for name in _matches(plan, word, names)}
        failures = [entry for entry in failures if entry.job.scored.name in run_names]
    answers = sum(entry.retry(reasons) for entry in {id(entry.failures): entry.failures for entry in failures}.values())
    sources, clips = 0, 0
    if not runs:
        sources, clips = forget_failures(plan.store, reasons), _retry_shards(plan, list(reasons or MEANINGS))
    print(f"Failures to try again: {sources} sources, {clips} clips, {answers} answers. Run snakemake now.")


def _matches(plan: Plan, word: str, names: Sequence[str]) -> list[str]:
    """Return the names of the runs that match a word of `retry`, including their judged runs."""
    matches = [name for name in names if fnmatchcase(name, word) or fnmatchcase(name, f"{word}/*")]
    if not matches and "*" in word:
        raise UserError(
            f"retry: no run of suite '{plan.config.name}' fits '{word}'; * stands for anything in {RUN_NAME}."
        )
    run = word if matches else plan.find_run(word).name
    return matches or [name for name in names if name == run or name.startswith(f"{run}/")]


def _retry_shards(plan: Plan, reasons: list[str]) -> int:
    """Delete the manifests of shards with such failures, so that they are made again; return the number of clips."""
    clips = 0
    for stage, schema in LEDGERS.items():
        for _, _, manifest in plan.results.found_ledgers(stage):
            count = int(read_table(manifest, schema)["status"].is_in(reasons).sum())
            clips += count if stage == "clips" else 0
            if count:
                manifest.unlink()  # Snakemake makes it and its dependents again.
    return clips
