"""`compare`: two models on the samples that both were asked, test by test, as a Markdown table."""

from collections.abc import Iterator

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered
from reprise.commands.plans import plan_of
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.plan.runs import Plan
from reprise.stats.paired import PairedComparison, compare_paired

HEADER = (
    "| metric | test | samples | videos | difference | {percent:g} % interval | p (sign flips over videos) |\n"
    "| :-- | :-- | --: | --: | --: | --: | --: |"
)


def compare_runs(first: str, second: str, suite: str | None = None) -> None:
    """Print first minus second, in percentage points."""
    plan = plan_of(suite)
    one, other = plan.find_run(first), plan.find_run(second)
    first, second = one.name, other.name
    form, other_form = (_form(plan, run) for run in (one, other))
    if (one.benchmark, form) != (other.benchmark, other_form):
        raise UserError(f"compare: '{first}' asks {one.benchmark} {form}, '{second}' {other.benchmark} {other_form}.")
    level = plan.config.main.confidence
    header = HEADER.format(percent=100 * level)
    print(f"{first} minus {second}, percentage points, on the samples both were asked\n\n{header}")
    ours, theirs = _outcomes(plan, one, form), _outcomes(plan, other, form)
    for metric in sorted(ours.keys() & theirs.keys()):
        for task, found in _by_task(ours[metric], theirs[metric], level):
            print(_line(metric, task, found))


def _form(plan: Plan, run: Run) -> str:
    return plan.config.benchmarks[run.benchmark].protocols[run.protocol].form


def _outcomes(plan: Plan, run: Run, form: str) -> dict[str, pl.DataFrame]:
    reader = plan.judge_of(run) if plan.is_judged(run.benchmark, run.protocol) else "robust"
    path = plan.results.verdicts(run, reader)
    if not path.is_file():
        raise UserError(f"compare: {path} not found. Run snakemake for a table with this run first.")
    items = read_table(plan.results.items(run.benchmark), ITEMS)
    return load_scores(run.benchmark).SCORES[form].outcomes(Answered(items, read_table(path, VERDICTS)))


def _by_task(ours: pl.DataFrame, theirs: pl.DataFrame, level: float) -> Iterator[tuple[str, PairedComparison]]:
    for task in ours["task"].unique(maintain_order=True):
        mine, others = (frame.filter(pl.col("task") == task) for frame in (ours, theirs))
        found = compare_paired(
            dict(mine.select("item_id", pl.col("right").cast(pl.Float64)).iter_rows()),
            dict(others.select("item_id", pl.col("right").cast(pl.Float64)).iter_rows()),
            dict(mine.select("item_id", "unit").iter_rows()),
            level=level,
        )
        if found is not None:
            yield task, found


def _line(metric: str, task: str, found: PairedComparison) -> str:
    interval = "–" if found.low is None or found.high is None else f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    return (
        f"| {metric} | {task} | {found.n_items} | {found.n_clusters} | {100 * found.difference:+.1f} | {interval} "
        f"| {found.p:.4f} |"
    )
