"""What a run of the workflow ended with: where its tables are, and what became of the questions behind them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.core.paths import TABLES, Results, Scored
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.plan.construction import constructed
from reprise.plan.runs import Plan
from reprise.plan.targets import COLLECTED, asked_by

MOST_TARGETS = 6
ROBUST = "robust"


class Counts(NamedTuple):
    """What became of a run's questions, as the robust reader or a judge takes its answers."""

    asked: int = 0
    failed: int = 0
    unread: int = 0
    missing: int = 0
    """not asked, because their clip is missing"""


def outcome(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    """Lines for the end of a run that made these targets, or everything."""
    done = [
        one for one in sorted(asked_by(plan, targets)) if plan.results.verdicts(one.run, one.judge or ROBUST).is_file()
    ]
    counts = [Counts(), *(count(plan.results, one) for one in done)]
    asked, failed, unread, missing = (sum(column) for column in zip(*counts, strict=True))
    if asked or missing:
        advice = " (which, and why: python -m reprise runs)" if failed or missing else ""
        yield f"{asked} answers: {failed} failed, {unread} unread; {missing} questions missing{advice}"
    yield from _constructions(plan, targets)
    made = [target for target in targets if Path(target).is_file()]
    if made:
        more = [f"and {len(made) - MOST_TARGETS} more"] if len(made) > MOST_TARGETS else []
        yield f"Results: {' '.join([*made[:MOST_TARGETS], *more])}"
    elif not targets:
        numbers = [name.removeprefix("table") for name in plan.benchmarks_by_table()]
        listed = numbers[0] if len(numbers) == 1 else f"{{{','.join(numbers)}}}"
        yield f"Tables: {TABLES}/table{listed}.{{{','.join(COLLECTED)}}}; each paper's own in {TABLES}/<benchmark>/"


def _constructions(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    """What each benchmark that these targets make is made of, and what was dropped before anything was written."""
    for benchmark in constructed(plan):
        folder, pool = plan.results.construction(benchmark, ""), plan.results.construction(benchmark, "pool.parquet")
        if not pool.is_file() or (targets and not any(Path(target).is_relative_to(folder) for target in targets)):
            continue
        filters = Counter(pl.read_parquet(pool, columns=["filter"])["filter"])
        kept, rows = filters.pop("", 0), filters.total()
        dropped = f" ({', '.join(f'{count} {name}' for name, count in filters.most_common())})" if filters else ""
        yield f"Construction of {benchmark}: {kept} of {kept + rows} kept before the writing{dropped}"


def count(results: Results, one: Scored) -> Counts:
    """What became of the questions of a run whose answers are read."""
    counted = ("failed", "unparsed")
    read = read_table(results.verdicts(one.run, one.judge or ROBUST), VERDICTS, VERDICTS.keys() - set(counted))
    failed, unread = (int(read[name].sum()) for name in counted)
    answers, questions = results.responses(one.run), results.requests(one.run.benchmark, one.run.protocol)
    if not (answers.is_file() and questions.is_file()):  # nothing needs them any more
        return Counts(read.height, failed, unread)
    asked = read_table(answers, RESPONSES, RESPONSES.keys() - {"item_id"}).height
    return Counts(asked, failed, unread, read_table(questions, REQUESTS, REQUESTS.keys() - {"item_id"}).height - asked)
