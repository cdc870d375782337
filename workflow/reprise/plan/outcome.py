"""What a run of the workflow ended with: where its tables are, and what became of the questions behind them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.core.paths import TABLES, Results, Scored
from reprise.plan.construction import constructed
from reprise.plan.runs import Plan
from reprise.plan.targets import COLLECTED, asked_by

MOST_TARGETS = 6
ROBUST = "robust"


class Answers(NamedTuple):
    """The answers behind some tables, as the robust reader or a judge takes them."""

    answers: int
    failed: int
    unread: int
    missing: int

    @property
    def words(self) -> str:
        return f"{self.answers} answers: {self.failed} failed, {self.unread} unread; {self.missing} questions missing"


def outcome(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    """Lines for the end of a run that made these targets, or everything."""
    answers = count_answers(plan.results, asked_by(plan, targets))
    if answers.answers or answers.missing:
        advice = " (which, and why: python -m reprise runs)" if answers.failed or answers.missing else ""
        yield f"{answers.words}{advice}"
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


def count_answers(results: Results, scored: set[Scored]) -> Answers:
    """Over these runs, as far as they are done; what has no answer although it is asked is missing."""
    counts = [_count(results, one) for one in sorted(scored)]
    return Answers(*(sum(column) for column in zip(*counts, strict=True))) if counts else Answers(0, 0, 0, 0)


def _count(results: Results, one: Scored) -> Answers:
    run = one.run
    responses, verdicts = results.responses(run), results.verdicts(run, one.judge or ROBUST)
    requests = results.requests(run.benchmark, run.protocol)
    if not (responses.is_file() and verdicts.is_file() and requests.is_file()):
        return Answers(0, 0, 0, 0)
    read = pl.read_parquet(verdicts, columns=["failed", "unparsed"]).sum()
    answers = _height(responses)
    return Answers(answers, read["failed"].item(), read["unparsed"].item(), _height(requests) - answers)


def _height(path: Path) -> int:
    """The number of rows, read from the file's footer."""
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())
