"""`missing`, `incomplete` and `retry`: what is not there, which numbers lack for it, and another try of what failed."""

import csv
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.commands.shared import MEANINGS, RETRY, SHOWN, failure_lines, ledger_of, plan_of
from reprise.core.errors import UserError, unknown
from reprise.core.files import canonical_json, file_digest, sealed_text, write_text
from reprise.core.paths import RUN_NAME, TABLES
from reprise.core.plain import first_of, of_cell, plain
from reprise.core.schemas import ITEMS, REQUESTS, read_table
from reprise.fetch.records import forget_failures
from reprise.plan.answers import asked_jobs, failed_answers
from reprise.plan.runs import Plan
from reprise.plan.upkeep import LEDGERS
from reprise.tables.build import SHOWN as COUNTED
from reprise.tables.build import column_name

# --- missing ---------------------------------------------------------------------------------------------------------


def list_missing(suite: str | None, every: bool) -> None:
    """Print which videos, clips and items of a suite are missing, why, and in which runs they count as missing."""
    plan = plan_of(suite)
    shown = None if every else SHOWN
    found = [line for benchmark in plan.config.suite.benchmarks for line in _missing(plan, benchmark, shown)]
    if found:
        print("\n".join([*found, RETRY]))
    else:
        print(f"Nothing is missing in suite '{plan.config.name}', as far as its videos were looked for.")


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
    """Print the cells of a suite's tables that show no number, a line a row."""
    gaps = incomplete_cells(plan_of(suite), TABLES, names)
    rows: dict[str, list[str]] = defaultdict(list)
    for gap in gaps:
        section = f"{gap.section}: " if gap.section else ""
        rows[f"{gap.table}: {section}{gap.row}"].append(f"{gap.column} ({gap.metric})")
    for row, cells in rows.items():
        print(f"{row}: {', '.join(cells)}")
    print(f"{len(gaps)} numbers are missing in {len({gap.table for gap in gaps})} tables")


def incomplete_cells(plan: Plan, folder: Path, names: Collection[str] = ()) -> list[Gap]:
    """The gaps of a suite's tables, all or those named: neither measured, nor of the data, nor chance, nor published.

    Rows of one section may share their label (as for two numbers of frames): each needs a number of its own.
    """
    tables = {f"{benchmark}/{number}": spec for benchmark, number, spec in plan.tables()}
    for name in names:
        if name not in tables:
            raise unknown("table", name, tables, "incomplete")
    gaps = []
    for name, spec in tables.items():
        if names and name not in names:
            continue
        shown = _shown(folder / f"{name}.csv", plan.config.name)
        for section in spec.sections:
            for row in section.resolved():
                for column in spec.columns:
                    for metric in spec.metrics_of(column):
                        group = row.group or column.group or ""
                        cell = Gap(name, section.title or "", row.label, column_name(column), metric, group)
                        if shown[cell]:
                            shown[cell] -= 1
                        else:
                            gaps.append(cell)
    return gaps


def _shown(path: Path, suite: str) -> Counter[Gap]:
    """The numbers that a table shows, one a cell; a comparison with a published number is no cell."""
    try:
        with sealed_text(path).open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such table yet. Run snakemake with `--config suite={suite}` first.") from error
    others = sorted({row["suite"] for row in rows} - {suite})
    if others:
        raise UserError(
            f"{path}: of suite '{others[0]}', not of '{suite}'. Run snakemake with `--config suite={suite}` first."
        )
    counted = [row for row in rows if row["value"] and row["convention"] in ("", COUNTED[0])]
    return Counter(Gap(*(of_cell(row[name] or "") for name in Gap._fields)) for row in counted)


# --- retry -----------------------------------------------------------------------------------------------------------


def retry_failures(words: Sequence[str], suite: str | None = None) -> None:
    """Have the next run try again what failed for these reasons; with runs among the words, only their questions."""
    runs, reasons = ([word for word in words if ("/" in word) == is_run] for is_run in (True, False))
    for reason in reasons:
        if reason not in MEANINGS:
            raise unknown("reason", reason, MEANINGS, "retry")
    plan = plan_of(suite)
    parts = [f"{_retry_answers(plan, runs, reasons)} answers"]
    if not runs:
        clips = _retry_shards(plan, set(reasons or MEANINGS))
        parts = [f"{forget_failures(plan.store, reasons)} sources", f"{clips} clips", *parts]
    print(f"Failures to try again: {', '.join(parts)}. Run snakemake now: it tries these again, and only these.")


def _retry_shards(plan: Plan, reasons: Collection[str]) -> int:
    """Have the suite's shards repeated that hold such failures of sources or clips; returns the number of clips."""
    clips = 0
    for stage, schema in LEDGERS.items():
        for benchmark, shard, ledger in plan.results.found_ledgers(stage):
            count = int(read_table(ledger, schema)["status"].is_in(list(reasons)).sum())
            clips += count if stage == "clips" else 0
            if count:
                # An input of the shard's sources; newer than their ledger, it has them and the clips made again.
                path = plan.results.retry_key(benchmark, shard)
                write_text(path, canonical_json({"on_request": file_digest(ledger)}) + "\n")
    return clips


def _retry_answers(plan: Plan, runs: Sequence[str], reasons: Sequence[str]) -> int:
    """Have questions of these runs, or of all, asked again; returns their number."""

    def is_meant(name: str, pattern: str) -> bool:
        return fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}/*")  # a judge's ratings of the run too

    names = [job.scored.name for job in asked_jobs(plan)]
    patterns = []
    for word in runs:
        if any(is_meant(name, word) for name in names):
            patterns.append(word)
        elif "*" in word:
            raise UserError(
                f"retry: no run of suite '{plan.config.name}' fits '{word}'; * stands for anything in {RUN_NAME}."
            )
        else:
            patterns.append(plan.find_run(word).name)
    found = [one for one in failed_answers(plan) if not runs or any(is_meant(one.job.scored.name, p) for p in patterns)]
    return sum(failures.retry(reasons) for failures in {id(one.failures): one.failures for one in found}.values())
