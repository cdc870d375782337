"""`show`: tables in the terminal, from the numbers that exist now; nothing is made."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.commands.plans import call_for, plan_of
from reprise.core.errors import UserError
from reprise.core.paths import OVERVIEW, Scored, overview_file, table_file
from reprise.core.schemas import TIMINGS, read_table
from reprise.core.settings import Settings
from reprise.plan.keys import collect_keys
from reprise.plan.naming import fitting, listed, nearest
from reprise.plan.runs import Plan
from reprise.plan.states import State, States
from reprise.tables.build import Builder
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import Published, published_file
from reprise.tables.render.table import Table
from reprise.tables.render.terminal import Print, render, wrapped

TABLES = "results/tables/"


def show_tables(words: str, suite: str | None) -> None:
    """Print every table that the words fit."""
    plan = plan_of(suite)
    keys = collect_keys(plan)
    states = States(plan, keys)
    if typed(words) == OVERVIEW and plan.overview:
        show_overview(plan, keys, suite)
        return
    look, width = screen()
    for benchmark, table in chosen_tables(plan, words):
        key = keys[plan.results.key("tables", benchmark, table)]
        assert isinstance(key, TableKey)
        print(render(table_of(plan, key), width, look))
        for line in notes(
            plan.table_scored(key.benchmark, key.table), table_file(benchmark, table, "md"), states, suite
        ):
            print("\n".join(wrapped(line, width)), end="\n\n")


def show_overview(plan: Plan, keys: Mapping[Path, Settings], suite: str | None) -> None:
    """Print the overview of models."""
    key = keys[plan.results.key("tables", OVERVIEW)]
    assert isinstance(key, OverviewKey)
    look, width = screen()
    print(render(overview_of(plan, key), width, look))
    for line in notes(plan.overview_scored(), overview_file("md"), States(plan, keys), suite):
        print("\n".join(wrapped(line, width)), end="\n\n")


def screen() -> tuple[Print, int]:
    """How a table looks here, and how wide it may be."""
    styled = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return Print(styled, styled and not os.environ.get("NO_COLOR")), shutil.get_terminal_size().columns


def typed(words: str) -> str:
    """A table's name without its folder and its format."""
    name = words.removeprefix(TABLES)
    return name.rpartition(".")[0] if Path(name).suffix else name


def chosen_tables(plan: Plan, words: str) -> list[tuple[str, str]]:
    """Benchmark and number of the tables that are meant: `velociti/table3`, `table3` of each paper, `velociti`."""
    found = tables_named(plan, words)
    if not found:
        names = [f"{benchmark}/{table}" for benchmark, table, _ in plan.tables()]
        raise UserError(
            f"no table '{words}' in suite '{plan.config.name}'.{nearest(words, names)} A table is named "
            f"<benchmark>/table<N>. There are: {listed(names)}."
        )
    return found


def tables_named(plan: Plan, words: str) -> list[tuple[str, str]]:
    """The tables that words fit, if any."""
    names = {f"{benchmark}/{table}": (benchmark, table) for benchmark, table, _ in plan.tables()}
    found = fitting(typed(words), names)
    return [known for name, known in names.items() if name in found]


def table_of(plan: Plan, key: TableKey) -> Table:
    """The table as the workflow would write it, of those of its numbers that are there."""
    return builder_of(plan, key).table()


def builder_of(plan: Plan, key: TableKey) -> Builder:
    """What builds it."""
    results, benchmark = plan.results, key.benchmark
    scored = plan.table_scored(benchmark, key.table)
    return Builder(
        key=key,
        metrics=_metrics([*map(results.metrics, scored), results.statistics(benchmark)]),
        published=Published(published_file(benchmark) if key.show_published else None, key.table),
        problems=_problems(plan, scored),
    )


def overview_of(plan: Plan, key: OverviewKey) -> Table:
    """The overview as the workflow would write it, of those of its numbers that are there."""
    scored, results = plan.overview_scored(), plan.results
    timings = {run.name: results.timings(run) for run in plan.timed(scored)}
    shows_papers = plan.config.suite.show_published
    return OverviewBuilder(
        key,
        _metrics([results.metrics(one) for one in scored]),
        {name: Published(published_file(name) if shows_papers else None, of.table) for name, of in key.of_all.items()},
        _problems(plan, scored),
        {name: read_table(path, TIMINGS) for name, path in timings.items() if path.is_file()},
    ).table()


def _metrics(files: Sequence[Path]) -> pl.DataFrame:
    return read_metrics(path for path in files if path.is_file())


def _problems(plan: Plan, scored: Sequence[Scored]) -> dict[str, Counter[str]]:
    files = [plan.results.import_problems(name) for one in scored for name in {one, Scored(one.run)}]
    return read_problems([path for path in files if path.is_file()], plan.results)


def notes(scored: Sequence[Scored], target: Path, states: States, suite: str | None) -> Iterator[str]:
    """The runs; which of them are not what another run would make them, and how to make them."""
    found = [states.of(one) for one in scored]
    if found:
        yield f"Runs (`reprise item <run>` lists wrong answers): {listed([state.scored.name for state in found])}."
    others = [state for state in found if state.name != "done"]
    if others:
        counts = ", ".join(f"{sum(one.name == name for one in others)} {name}" for name in _names(others))
        yield (
            f"Of its {len(found)} runs: {counts}, such as {others[0].scored.name}. `python -m reprise why <run>` says "
            f"why; `{call_for(target, suite)}` makes them."
        )


def _names(states: list[State]) -> list[str]:
    return sorted({state.name for state in states})
