"""Helpers shared by several commands: the plan of a suite, its manifests, the requests of a run, lists of failures."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.paths import Ledger, Run
from reprise.core.plain import first_of, plain
from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, ITEMS, REQUESTS, VERDICTS, read_table
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.media.errors import STATUSES
from reprise.models.adapters import ADAPTERS
from reprise.models.asking.journal import Work
from reprise.models.asking.reasons import REASONS
from reprise.plan.retries import LEDGERS
from reprise.plan.runs import Plan
from reprise.stages.works import gather_work

MAX_LISTED = 3
MEANINGS = STATUSES | REASONS | TRANSIENT | PERMANENT
RETRY = "To have others tried again: python -m reprise retry <run or reason>"


def plan_of(suite: str | None) -> Plan:
    return Plan(load(Path(), {"suite": suite} if suite else None))


def call_for(target: Path, suite: str | None) -> str:
    return f"snakemake {target} --cores <N>{f' --config suite={suite}' if suite else ''}"


def is_running(folder: Path) -> bool:
    """Return whether Snakemake is running in a folder or was killed there."""
    locks = folder / ".snakemake/locks"
    return locks.is_dir() and any(locks.iterdir())


def require_file(path: Path, command: str) -> Path:
    """Return the path of a file that a command reads.

    Raises:
        UserError: The file does not exist; the message gives the call that makes it.
    """
    if not path.is_file():
        raise UserError(f"{command}: {path} not found. Make it first: snakemake {path}")
    return path


def ledger_of(plan: Plan, stage: Ledger, benchmark: str) -> pl.DataFrame:
    manifests, schema = plan.results.found_ledgers(stage), LEDGERS[stage]
    tables = [read_table(path, schema) for name, _, path in manifests if name == benchmark]
    return pl.concat([pl.DataFrame(schema=schema), *tables])


def data_of(plan: Plan, run: Run) -> list[Path]:
    results = plan.results
    ledgers = [results.ledger("clips", run.benchmark, shard) for shard in range(plan.config.suite.shards)]
    return [results.requests(run.benchmark, run.protocol), results.frames(run.benchmark, run.sampling), *ledgers]


def works_of(plan: Plan, run: Run) -> list[Work]:
    requests, frames, *ledgers = data_of(plan, run)
    clips = pl.concat([read_table(path, CLIP_LEDGER) for path in ledgers])
    tables = read_table(requests, REQUESTS), read_table(frames, FRAME_PLAN), clips
    return gather_work(*tables, plan.store, with_labels=ADAPTERS[plan.config.models[run.model].adapter].reads_labels)


def reader_of(plan: Plan, run: Run) -> str:
    """Return the extractor of a run's answers: the suite's first judge if they are judged, else `robust`."""
    return plan.judge_of(run) if plan.is_judged(run.benchmark, run.protocol) else "robust"


def outcomes_of(plan: Plan, run: Run, command: str) -> dict[str, pl.DataFrame]:
    """Return the outcomes of a run by metric: how far each item counts as right."""
    path = require_file(plan.results.verdicts(run, reader_of(plan, run)), command)
    form = plan.config.benchmarks[run.benchmark].protocols[run.protocol].form
    items = read_table(plan.results.items(run.benchmark), ITEMS)
    return load_scores(run.benchmark).SCORES[form].outcomes(Answered(items, read_table(path, VERDICTS)))


def copy_hint(calls: Sequence[str]) -> str:
    """Return the end of a message about an ambiguous name: the calls to choose from."""
    return "\n  ".join(["Copy one:", *first_of(calls, 12)])


def named_text(name: str, text: str, indent: str) -> Iterator[str]:
    """Yield the lines of a named text.

    A text of several lines stands below its name, so that none of its lines can be mistaken for another field.
    """
    lines = text.splitlines() or [""]
    if len(lines) == 1:
        yield f"{indent}{name}: {lines[0]}"
    else:
        yield f"{indent}{name}:"
        yield from (f"{indent}| {line}" for line in lines)


def failure_lines(failed: pl.DataFrame, retries: Counter[str], limit: int | None = MAX_LISTED) -> Iterator[str]:
    """Yield the failures grouped by reason, the most frequent reason first.

    Args:
        failed: Failures with the columns `reason`, `name` and `message`.
        retries: How many failures of each reason the next run tries again.
        limit: How many failures of a reason are listed; None lists all.
    """
    for reason, number in Counter(failed["reason"]).most_common():
        retry_note = f"; the next run tries {retries[reason]} again" if retries[reason] else ""
        yield f"{number} {reason} ({MEANINGS.get(reason, reason)}){retry_note}"
        messages = failed.filter(reason=reason).select("name", "message").iter_rows()
        entries = [f"  {plain(name)}{f': {plain(message)}' if message else ''}" for name, message in messages]
        yield from first_of(entries, limit, "  and {} more")
