"""Where runs stand and why, what is missing, which cells lack a number for it, and another try of what failed."""

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.rows import grouped
from reprise.commands.shared import (
    MEANINGS,
    RETRY,
    SHOWN,
    call_for,
    failure_lines,
    is_running,
    ledger_of,
    plan_of,
    there,
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

# In the order in which they are listed.
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
    listed = ", ".join(f"{counts[name]} {name}" for name in reversed(order))
    print(f"Suite '{plan.config.name}': {len(states)} runs: {listed}.")
    if states:
        print("\n" + ROW.format("state", "asked", "failed", "unread", "missing", "run"))
    else:
        print("Its `run:` selects no model of its tables, so that they show published values only.")
    for state in sorted(states, key=lambda one: (order.index(one.name), one.scored)):
        numbers = state.counts if state.counts.asked else ("-",) * 4
        reasons = state.answers.reasons.most_common() if state.answers else []
        named = ", ".join(f"{number} {reason}" for reason, number in reasons)
        print(ROW.format(state.name, *numbers, state.scored.name) + (f"  ({named})" if named else ""))
    if counts["done"] < len(states):
        print("\nWhy a run is not done: python -m reprise why <run>")
    for one in failed_answers(plan):
        if one.job.title:
            print(f"\n{one.job.title}: {one.failed.height} of {one.asked} failed")
            print("\n".join(_failed(one)))


def explain_run(words: str, suite: str | None) -> None:
    """Print what is known of a run's state, by each of its judges or by the one that is named."""
    plan = plan_of(suite)
    states, known = States(plan, all_settings(plan)), plan.numbers()
    chosen = [one for one in known if one.name == words]
    if not chosen:
        run = plan.find_run(words)
        chosen = [one for one in known if one.run == run]
    for one in chosen:
        print(safe("\n".join(_lines(plan, states.of(one), suite))))


def _lines(plan: Plan, state: State, suite: str | None) -> Iterator[str]:
    yield f"{state.scored.name}: {WORDS[state.name]}"
    for path, words in dict(state.failures).items():
        yield f"{path} ends with:"
        yield from (f"  {line}" for line in words.splitlines())
    if state.missing and state.name != "done":
        yield f"Not there: {', '.join(state.missing)}."
        if answered := len(
            Journal(journal_path(plan.store, job_of(plan, Scored(state.scored.run), RunKeys(plan)).key))
        ):
            yield f"The response cache holds {answered} of its answers, which are not asked again."
        if is_running(Path()):
            yield "snakemake works in this folder now, or was killed here."
    for name, change in {change.name: change for _, change in state.changed if change.words}.items():
        stages = dict.fromkeys(step.stage for step, other in state.changed if other.name == name)
        yield f"Made with other settings: {', '.join(stages)} ({name}):"
        yield from (f"  {words}" for words in first_of(change.words, 8))
    if state.answers is not None:
        yield f"Failed answers: {state.answers.failed.height} of {state.answers.asked}"
        yield from _failed(state.answers)
        if state.due < state.answers.failed.height:
            yield f"  {RETRY}"
    if state.counts.asked:
        yield "Answers: {} asked, {} failed, {} unread; {} not asked, their clips are missing.".format(*state.counts)
    shown = [(b, table) for b, table, _ in plan.shown() if state.scored in plan.table_scored(b, table)]
    cards = (f"the card of time of {slug}" for slug in plan.time if state.scored in plan.time_scored([slug]))
    tables = (t if t == OVERVIEW else f"{b}/{t}" for b, t in shown)
    yield f"Shown in: {', '.join([*tables, *cards]) or 'no table'}."
    if state.name != "done":
        target = plan.results.metrics(state.scored)
        for benchmark, table in shown[:1]:
            file = overview_file("md") if table == OVERVIEW else table_file(benchmark, table, "md")
            if state.name != "missing" or not file.is_file():  # Snakemake makes no missing input of a file that exists
                target = file
        yield f"To make it: {call_for(target, suite)}"


def _failed(answers: FailedAnswers) -> Iterator[str]:
    failed = answers.failed.select(reason="error", name="request_id", message="message")
    return (f"  {line}" for line in failure_lines(failed, answers.due))


# --- missing ---------------------------------------------------------------------------------------------------------


def list_missing(suite: str | None, every: bool) -> None:
    plan = plan_of(suite)
    shown, benchmarks = None if every else SHOWN, plan.config.suite.benchmarks
    found = [line for benchmark in benchmarks for line in _missing(plan, benchmark, shown)]
    nothing = f"Nothing is missing in suite '{plan.config.name}', as far as its videos were looked for."
    print("\n".join([*found, RETRY]) if found else nothing)


def _missing(plan: Plan, benchmark: str, shown: int | None) -> Iterator[str]:
    """What is missing of one benchmark; nothing where all is there, or was not looked for yet."""
    sources = ledger_of(plan, "sources", benchmark).unique("source_id", maintain_order=True)
    clips = ledger_of(plan, "clips", benchmark).unique("clip_id", maintain_order=True)
    attempts = getattr(plan.config.suite.benchmarks[benchmark].route, "attempts", 1)
    due = sources.filter(pl.col("status") != "ok", pl.col("transient"), pl.col("attempts") < attempts)["status"]
    for what, rows, name, again in (
        ("sources", sources, "source_id", Counter(due)),
        ("clips", clips, "clip_id", Counter[str]()),
    ):
        gone = rows.filter(pl.col("status") != "ok").select(reason="status", name=name, message="message")
        if gone.height:
            yield f"{what} of {benchmark}: {gone.height} of {rows.height} missing"
            yield from (f"  {line}" for line in failure_lines(gone, again, shown))
    if plan.results.items(benchmark).is_file():
        yield from _missing_items(plan, benchmark, clips.filter(pl.col("status") != "ok")["clip_id"], shown)


def _missing_items(plan: Plan, benchmark: str, gone: pl.Series, shown: int | None) -> Iterator[str]:
    """The items that were not asked, by protocol, and the runs in which they count as missing; flawed items."""
    runs = [run for run in plan.runs() if run.benchmark == benchmark and run.model not in plan.imports.models]
    for protocol in sorted({run.protocol for run in runs}):
        requests = plan.results.requests(benchmark, protocol)
        if not requests.is_file():
            continue
        asked = read_table(requests, REQUESTS, REQUESTS.keys() - {"item_id", "clip_id"}).unique("item_id")
        missing = asked.filter(pl.col("clip_id").is_in(gone.implode())).sort("item_id")
        if missing.height:
            those = [f"{run.sampling}/{run.model}" for run in runs if run.protocol == protocol]
            yield f"items of {benchmark}/{protocol}: {missing.height} of {asked.height} not asked: no clip"
            yield f"  {', '.join(first_of([*map(plain, missing['item_id'])], shown))}"
            yield f"  they count as missing in {len(those)} runs: {', '.join(those)}"
    items = read_table(plan.results.items(benchmark), ITEMS)
    flawed = items.filter(pl.col("flaws").list.len() > 0)
    if flawed.height:
        yield f"items of {benchmark}: {flawed.height} of {items.height} come from flawed entries of the release"
        flaws = flawed["flaws"].explode().unique(maintain_order=True)
        yield from first_of([f"  {plain(flaw)}" for flaw in flaws], shown, "  and {} more")


# --- incomplete ------------------------------------------------------------------------------------------------------


class Gap(NamedTuple):
    """A cell, or a part of one, without a number."""

    table: str
    section: str
    row: str
    column: str
    metric: str
    group: str


def list_incomplete(names: Collection[str], suite: str | None) -> None:
    gaps = incomplete_cells(plan_of(suite), TABLES, names)
    rows = grouped(gaps, lambda gap: ": ".join(filter(None, (gap.table, gap.section, gap.row))))
    print("\n".join(f"{row}: {', '.join(f'{gap.column} ({gap.metric})' for gap in own)}" for row, own in rows.items()))
    print(f"{len(gaps)} numbers are missing in {len({gap.table for gap in gaps})} tables")


def incomplete_cells(plan: Plan, folder: Path, names: Collection[str] = ()) -> list[Gap]:
    """The gaps of a suite's tables, all or those named: neither measured, nor of the data, nor chance, nor published.

    Rows of one section may share their label (as for two numbers of frames): each needs a number of its own.
    """
    tables = {f"{benchmark}/{number}": spec for benchmark, number, spec in plan.tables()}
    refuse_unknown("table", names, tables, "incomplete")
    gaps = Counter[Gap]()
    for name in names or tables:
        wanted = Counter(
            Gap(name, section.title or "", row.label, column_name(column), metric, row.group or column.group or "")
            for section in tables[name].sections
            for row in section.resolved()
            for column in tables[name].columns
            for metric in tables[name].metrics_of(column)
        )
        gaps += wanted - _shown(folder / f"{name}.csv", plan.config.name)
    return list(gaps.elements())


def _shown(path: Path, suite: str) -> Counter[Gap]:
    """The numbers that a table shows, one a cell; a comparison with a published number is no cell."""
    with sealed_text(there(path, "incomplete")).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    others = {row["suite"] for row in rows} - {suite}
    if others:
        raise UserError(
            f"{path}: of suite '{others.pop()}', not of '{suite}'. Run snakemake with `--config suite={suite}` first."
        )
    counted = [row for row in rows if row["value"] and row["convention"] in ("", COUNTED[0])]
    return Counter(Gap(*(of_cell(row[name] or "") for name in Gap._fields)) for row in counted)


# --- retry -----------------------------------------------------------------------------------------------------------


def retry_failures(words: Sequence[str], suite: str | None = None) -> None:
    """Have the next run try again what failed for these reasons; with runs among the words, only their questions."""
    runs, reasons = ([word for word in words if ("/" in word) == is_run] for is_run in (True, False))
    refuse_unknown("reason", reasons, MEANINGS, "retry")
    plan = plan_of(suite)
    found = failed_answers(plan)
    if runs:
        names = [job.scored.name for job in asked_jobs(plan)]
        meant = {name for word in runs for name in _meant(plan, word, names)}
        found = [one for one in found if one.job.scored.name in meant]
    answers = sum(one.retry(reasons) for one in {id(one.failures): one.failures for one in found}.values())
    sources, clips = 0, 0
    if not runs:
        sources, clips = forget_failures(plan.store, reasons), _retry_shards(plan, list(reasons or MEANINGS))
    print(f"Failures to try again: {sources} sources, {clips} clips, {answers} answers. Run snakemake now.")


def _meant(plan: Plan, word: str, names: Sequence[str]) -> list[str]:
    """The runs that a word of `retry` means, with what judges say of them."""
    fits = [name for name in names if fnmatchcase(name, word) or fnmatchcase(name, f"{word}/*")]
    if not fits and "*" in word:
        raise UserError(
            f"retry: no run of suite '{plan.config.name}' fits '{word}'; * stands for anything in {RUN_NAME}."
        )
    run = word if fits else plan.find_run(word).name
    return fits or [name for name in names if name == run or name.startswith(f"{run}/")]


def _retry_shards(plan: Plan, reasons: list[str]) -> int:
    """Have the suite's shards repeated that hold such failures of sources or clips; returns the number of clips."""
    clips = 0
    for stage, schema in LEDGERS.items():
        for _, _, ledger in plan.results.found_ledgers(stage):
            count = int(read_table(ledger, schema)["status"].is_in(reasons).sum())
            clips += count if stage == "clips" else 0
            if count:
                ledger.unlink()  # snakemake makes it again, and what depends on it
    return clips
