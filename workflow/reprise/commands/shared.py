"""What several commands need: the plan of a suite, its clips, the questions of a run, failures in words."""

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

SHOWN = 3
MEANINGS = STATUSES | REASONS | TRANSIENT | PERMANENT
RETRY = "To have others tried again: python -m reprise retry <run or reason>"


def plan_of(suite: str | None) -> Plan:
    return Plan(load(Path(), {"suite": suite} if suite else None))


def call_for(target: Path, suite: str | None) -> str:
    return f"snakemake {target} --cores <N>{f' --config suite={suite}' if suite else ''}"


def is_running(folder: Path) -> bool:
    """Return whether Snakemake works in a folder, or was killed there."""
    locks = folder / ".snakemake/locks"
    return locks.is_dir() and any(locks.iterdir())


def there(path: Path, command: str) -> Path:
    """A file that a command reads; an error says how one is made that is not there."""
    if not path.is_file():
        raise UserError(f"{command}: {path} not found. Make it first: snakemake {path}")
    return path


def ledger_of(plan: Plan, stage: Ledger, benchmark: str) -> pl.DataFrame:
    found, schema = plan.results.found_ledgers(stage), LEDGERS[stage]
    tables = [read_table(path, schema) for name, _, path in found if name == benchmark]
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
    """Who reads a run's answers: the suite's first judge where they are judged."""
    return plan.judge_of(run) if plan.is_judged(run.benchmark, run.protocol) else "robust"


def outcomes_of(plan: Plan, run: Run, command: str) -> dict[str, pl.DataFrame]:
    """What each metric of a run counts as right."""
    path = there(plan.results.verdicts(run, reader_of(plan, run)), command)
    form = plan.config.benchmarks[run.benchmark].protocols[run.protocol].form
    items = read_table(plan.results.items(run.benchmark), ITEMS)
    return load_scores(run.benchmark).SCORES[form].outcomes(Answered(items, read_table(path, VERDICTS)))


def copy_one(calls: Sequence[str]) -> str:
    """The end of a message about words that fit several things."""
    return "\n  ".join(["Copy one:", *first_of(calls, 12)])


def named_text(name: str, text: str, indent: str) -> Iterator[str]:
    """A named text; one of several lines stands below its name, so that it cannot be taken for another field."""
    lines = text.splitlines() or [""]
    if len(lines) == 1:
        yield f"{indent}{name}: {lines[0]}"
    else:
        yield f"{indent}{name}:"
        yield from (f"{indent}| {line}" for line in lines)


def failure_lines(failed: pl.DataFrame, due: Counter[str], shown: int | None = SHOWN) -> Iterator[str]:
    """Failures (reason, name, message) by reason; `due` says how many of a reason the next run tries again."""
    for reason, number in Counter(failed["reason"]).most_common():
        again = f"; the next run tries {due[reason]} again" if due[reason] else ""
        yield f"{number} {reason} ({MEANINGS.get(reason, reason)}){again}"
        rows = failed.filter(reason=reason).select("name", "message").iter_rows()
        named = [f"  {plain(name)}{f': {plain(message)}' if message else ''}" for name, message in rows]
        yield from first_of(named, shown, "  and {} more")
