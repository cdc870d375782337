"""`retry`: make the next run try again what failed: sources, clips and questions."""

from collections import Counter
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

from reprise.commands.plans import plan_of
from reprise.core.errors import UserError, unknown
from reprise.core.files import canonical_json, file_digest, write_text
from reprise.core.paths import RUN_NAME, Ledger
from reprise.core.schemas import read_table
from reprise.fetch.outcome import PERMANENT, TRANSIENT
from reprise.fetch.records import forget_failures
from reprise.media.errors import STATUSES
from reprise.models.asking.reasons import REASONS
from reprise.plan.answers import asked_jobs, failed_answers
from reprise.plan.runs import Plan
from reprise.plan.upkeep import LEDGERS


def retry_failures(words: Sequence[str], suite: str | None = None) -> None:
    """Try again what failed for these reasons; with runs among the words, only their questions."""
    runs = [word for word in words if "/" in word]
    reasons = [word for word in words if "/" not in word]
    known = PERMANENT | TRANSIENT | STATUSES | REASONS
    for reason in reasons:
        if reason not in known:
            raise unknown("reason", reason, known, "retry")
    plan = plan_of(suite)
    counts = {"answers": _retry_answers(plan, runs, reasons)}
    if not runs:
        chosen = set(reasons or known)
        counts |= {"clips": _retry_shards(plan, chosen), "sources": forget_failures(plan.store, reasons)}
    listed = ", ".join(f"{count} {what}" for what, count in reversed(counts.items()))
    print(f"Failures to try again: {listed}. Run snakemake now: it tries these again, and only these.")


def _retry_shards(plan: Plan, reasons: Collection[str]) -> int:
    """Have the suite's shards repeated that hold such failures of sources or clips; returns the number of clips."""
    counts = Counter[Ledger]()
    for stage, schema in LEDGERS.items():
        for benchmark, shard, ledger in plan.results.found_ledgers(stage):
            if found := _count(ledger, schema, reasons):
                counts[stage] += found
                # An input of the shard's sources; newer than their ledger, it has them and the clips made again.
                path = plan.results.retry_key(benchmark, shard)
                write_text(path, canonical_json({"on_request": file_digest(ledger)}) + "\n")
    return counts["clips"]


def _count(ledger: Path, schema: pl.Schema, reasons: Collection[str]) -> int:
    return int(read_table(ledger, schema)["status"].is_in(list(reasons)).sum())


def _retry_answers(plan: Plan, runs: Sequence[str], reasons: Sequence[str]) -> int:
    """Have questions of these runs, or of all, asked again; returns their number."""
    names = [job.scored.name for job in asked_jobs(plan)]
    patterns = [word if any(_is_meant(name, [word]) for name in names) else _pattern(plan, word) for word in runs]
    found = [one for one in failed_answers(plan) if not runs or _is_meant(one.job.scored.name, patterns)]
    return sum(failures.retry(reasons) for failures in {id(one.failures): one.failures for one in found}.values())


def _pattern(plan: Plan, word: str) -> str:
    """The name of the one run that these words fit; a pattern that fits none is a mistake."""
    if "*" in word:
        raise UserError(
            f"retry: no run of suite '{plan.config.name}' fits '{word}'; * stands for anything in {RUN_NAME}."
        )
    return plan.find_run(word).name


def _is_meant(name: str, runs: Sequence[str]) -> bool:
    """Whether a run, or a judge's ratings of it, is one of these or fits one of these patterns."""
    return any(fnmatchcase(name, run) or fnmatchcase(name, f"{run}/*") for run in runs)
