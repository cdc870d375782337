"""`status`: what failed, where and why, and what the next run tries again."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from reprise.config.load import load
from reprise.core.paths import Ledger
from reprise.core.plain import plain
from reprise.core.schemas import CLIP_LEDGER, SOURCES, read_table
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.media.errors import STATUSES
from reprise.models.reasons import REASONS
from reprise.plan.answers import failed_answers
from reprise.plan.runs import Plan

SHOWN = 3
MEANINGS = STATUSES | REASONS | TRANSIENT | PERMANENT


def show_status(suite: str | None) -> None:
    """Print the failures of a suite: sources and clips by benchmark, answers by run."""
    plan = Plan(load(Path(), {"suite": suite} if suite else None))
    found = [*_sources(plan), *_clips(plan), *_answers(plan)]
    if found:
        print("\n".join(found))
        print("To have others tried again: python -m reprise retry <run or reason>")
    else:
        print(f"Nothing has failed in suite '{plan.config.name}'.")


def _sources(plan: Plan) -> Iterator[str]:
    for benchmark, ledgers in _ledgers(plan, "sources"):
        rows = pl.concat([read_table(path, SOURCES) for path in ledgers]).unique("source_id", maintain_order=True)
        failed = rows.filter(pl.col("status") != "ok")
        attempts = getattr(plan.config.suite.benchmarks[benchmark].route, "attempts", 1)
        due = failed.filter(pl.col("transient") & (pl.col("attempts") < attempts))
        named = failed.select(reason="status", name="source_id", message="message")
        yield from _lines(f"sources of {benchmark}", rows.height, named, Counter(due["status"]))


def _clips(plan: Plan) -> Iterator[str]:
    for benchmark, ledgers in _ledgers(plan, "clips"):
        rows = pl.concat([read_table(path, CLIP_LEDGER) for path in ledgers])
        failed = rows.filter(pl.col("status") != "ok").select(reason="status", name="clip_id", message="message")
        yield from _lines(f"clips of {benchmark}", rows.height, failed, Counter())


def _ledgers(plan: Plan, stage: Ledger) -> Iterator[tuple[str, list[Path]]]:
    """The ledgers of each benchmark of the suite that exist."""
    found: dict[str, list[Path]] = {}
    for benchmark, _, path in plan.results.found_ledgers(stage):
        if benchmark in plan.config.suite.benchmarks:
            found.setdefault(benchmark, []).append(path)
    yield from found.items()


def _answers(plan: Plan) -> Iterator[str]:
    for one in failed_answers(plan):
        failed = one.failed.select(reason="error", name="request_id", message="message")
        name = one.job.scored.name
        yield from _lines(f"answers of {name}", one.asked, failed, one.due)


def _lines(what: str, count: int, failed: pl.DataFrame, due: Counter[str]) -> Iterator[str]:
    """The failures of one kind by reason, each with a few examples; nothing if there are none."""
    if failed.is_empty():
        return
    yield f"{what}: {failed.height} of {count} failed"
    for reason, number in Counter(failed["reason"]).most_common():
        again = f"; the next run tries {due[reason]} again" if due[reason] else ""
        yield f"  {number} {reason} ({MEANINGS.get(reason, reason)}){again}"
        for name, message in failed.filter(reason=reason).select("name", "message").head(SHOWN).iter_rows():
            yield f"    {plain(name)}: {plain(message)}"
        if number > SHOWN:
            yield f"    and {number - SHOWN} more"
