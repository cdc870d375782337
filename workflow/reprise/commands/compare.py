"""`compare`: what two runs were made with, how they did on the samples that both were asked, and where they differ."""

from collections.abc import Iterator

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered
from reprise.commands.plans import plan_of
from reprise.core.errors import UserError
from reprise.core.files import read_json
from reprise.core.paths import Run
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.plan.changes import changes_between
from reprise.plan.runs import Plan
from reprise.stats.paired import PairedComparison, compare_paired

MOST_ITEMS = 8
Named = tuple[str, pl.DataFrame]
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
    ours, theirs = _outcomes(plan, one, form), _outcomes(plan, other, form)
    print("\n".join(_conditions(plan, one, other)), end="\n\n")
    print(f"{first} minus {second}, percentage points, on the samples both were asked\n\n{header}")
    metrics = sorted(ours.keys() & theirs.keys())
    for metric in metrics:
        for task, found in _by_task(ours[metric], theirs[metric], level):
            print(_line(metric, task, found))
    for metric in metrics:
        print("\n" + "\n".join(items_between(metric, (first, ours[metric]), (second, theirs[metric]))))
    print(f"\nWhat a model saw and said: python -m reprise item {first} <sample>")


def _conditions(plan: Plan, one: Run, other: Run) -> Iterator[str]:
    """What the answers of two runs were made with, setting by setting, where it differs."""
    before, after = (read_json(plan.results.run_key(run))["answers"] for run in (one, other))
    changes = list(changes_between(before, after))
    if not changes:
        yield "The answers of both were made with the same settings, prompt, frames, weights and versions."
        return
    yield f"What differs in the conditions: {one.name} | {other.name}"
    yield from (f"- {change.name}: {change.before} | {change.after}" for change in changes)


def items_between(metric: str, one: Named, other: Named) -> Iterator[str]:
    """The samples on which one of two runs does better than the other, and those that only one of them has."""
    (first, ours), (second, theirs) = one, other
    if set(ours["item_id"]) != set(theirs["item_id"]):
        yield f"{metric}: {ours.height} samples of {first}, {theirs.height} of {second}"
    both = ours.join(theirs.select("item_id", other=pl.col("right")), on="item_id", how="inner")
    for name, wins in ((first, pl.col("right") > pl.col("other")), (second, pl.col("right") < pl.col("other"))):
        found = both.filter(wins)["item_id"].to_list()
        more = f" and {len(found) - MOST_ITEMS} more" if len(found) > MOST_ITEMS else ""
        listed = f": {', '.join(found[:MOST_ITEMS])}{more}" if found else ""
        yield f"{metric}: better by {name}: {len(found)} of {both.height}{listed}"


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
