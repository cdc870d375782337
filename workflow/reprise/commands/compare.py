"""`compare`: what two runs were made with, how they did on the samples that both were asked, and where they differ."""

from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered
from reprise.commands.conditions import Conditions, differences
from reprise.commands.plans import plan_of
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.core.plain import plain
from reprise.core.schemas import ITEMS, VERDICTS, read_table
from reprise.plan.runs import Plan
from reprise.stats.paired import PairedComparison, compare_paired

MOST_ITEMS = 8
LEAST_P = 0.0001
Named = tuple[str, pl.DataFrame]
HEADER = (
    "| metric | test | samples | videos | difference | {percent:g} % interval | p (sign flips over videos) |\n"
    "| :-- | :-- | --: | --: | --: | --: | --: |"
)


class Compared(NamedTuple):
    """A run, of this clone or of another one."""

    name: str
    benchmark: str
    form: str
    conditions: Conditions
    outcomes: Mapping[str, pl.DataFrame]
    level: float

    @classmethod
    def of(cls, words: str, suite: str | None) -> "Compared":
        """The run that words name, `<folder>:<run>` for one of another clone."""
        folder, _, name = words.rpartition(":")
        with _inside(Path(folder)):
            plan = plan_of(suite)
            run = plan.find_run(name)
            form = plan.config.benchmarks[run.benchmark].protocols[run.protocol].form
            return cls(
                name=f"{folder}:{run.name}" if folder else run.name,
                benchmark=run.benchmark,
                form=form,
                outcomes=_outcomes(plan, run, form),
                conditions=Conditions.of(plan, run, _reader(plan, run)),
                level=plan.config.main.confidence,
            )


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a clone's folder; what it says of its own files begins with the folder."""
    if folder == Path():
        yield
        return
    if not (folder / "config" / "config.yaml").is_file():
        raise UserError(
            f"compare: '{folder}' is no clone of Reprise: it has no config/config.yaml. A run of another clone is "
            "named <folder>:<run>."
        )
    try:
        with chdir(folder):
            yield
    except UserError as error:
        raise UserError(f"in {folder}: {error}") from None


def compare_runs(first: str, second: str, suite: str | None = None) -> None:
    """Print first minus second, in percentage points."""
    one, other = (Compared.of(words, suite) for words in (first, second))
    if (one.benchmark, one.form) != (other.benchmark, other.form):
        raise UserError(
            f"compare: '{one.name}' asks {one.benchmark} {one.form}, '{other.name}' {other.benchmark} {other.form}."
        )
    print("\n".join(_conditions(one, other)), end="\n\n")
    header = HEADER.format(percent=100 * one.level)
    print(f"{one.name} minus {other.name}, percentage points, on the samples both were asked\n\n{header}")
    metrics = sorted(one.outcomes.keys() & other.outcomes.keys())
    for metric in metrics:
        for task, found in _by_task(one.outcomes[metric], other.outcomes[metric], one.level):
            print(_line(metric, task, found))
    for metric in metrics:
        named = ((run.name, run.outcomes[metric]) for run in (one, other))
        print("\n" + "\n".join(items_between(metric, *named)))
    print("\nWhat a model saw and said: python -m reprise item <run> <sample>, in the clone of the run")


def _conditions(one: Compared, other: Compared) -> Iterator[str]:
    """What the answers of two runs were made with, setting by setting, where it differs."""
    found = list(differences((one.name, other.name), one.conditions, other.conditions))
    if not found:
        yield "The answers of both were made with the same settings: prompt, frames, weights, reader, versions, clips."
        return
    yield f"What differs in the conditions: {one.name} | {other.name}"
    yield from found


def items_between(metric: str, one: Named, other: Named) -> Iterator[str]:
    """The samples on which one of two runs does better than the other, and those that only one of them has."""
    (first, ours), (second, theirs) = one, other
    if set(ours["item_id"]) != set(theirs["item_id"]):
        yield f"{metric}: {ours.height} samples of {first}, {theirs.height} of {second}"
    both = ours.join(theirs.select("item_id", other=pl.col("right")), on="item_id", how="inner")
    for name, wins in ((first, pl.col("right") > pl.col("other")), (second, pl.col("right") < pl.col("other"))):
        found = both.filter(wins)["item_id"].to_list()
        more = f" and {len(found) - MOST_ITEMS} more" if len(found) > MOST_ITEMS else ""
        listed = f": {', '.join(map(plain, found[:MOST_ITEMS]))}{more}" if found else ""
        yield f"{metric}: better by {name}: {len(found)} of {both.height}{listed}"


def _reader(plan: Plan, run: Run) -> str:
    """Who reads its answers: the suite's first judge where they are judged."""
    return plan.judge_of(run) if plan.is_judged(run.benchmark, run.protocol) else "robust"


def _outcomes(plan: Plan, run: Run, form: str) -> dict[str, pl.DataFrame]:
    path = plan.results.verdicts(run, _reader(plan, run))
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
        f"| {metric} | {plain(task)} | {found.n_items} | {found.n_clusters} "
        f"| {100 * found.difference:+.1f} | {interval} | {p_in_words(found.p)} |"
    )


def p_in_words(p: float) -> str:
    """A p-value with four decimals; never as 0, which no test can show."""
    return f"{p:.4f}" if p >= LEAST_P else f"<{LEAST_P}"
