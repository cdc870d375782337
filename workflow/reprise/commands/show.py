"""`show`: tables in the terminal, from the numbers that exist now; nothing is made."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from reprise.commands.plans import call_for, plan_of
from reprise.core.errors import UserError
from reprise.core.paths import Scored, table_file
from reprise.core.schemas import METRICS, read_table
from reprise.plan.keys import collect_keys
from reprise.plan.naming import fitting, listed, nearest
from reprise.plan.runs import Plan
from reprise.plan.states import State, States
from reprise.tables.build import Builder
from reprise.tables.keys import TableKey
from reprise.tables.problems import read_problems
from reprise.tables.published import Published, published_file
from reprise.tables.render.table import Table
from reprise.tables.render.terminal import Print, render, wrapped

TABLES = "results/tables/"


def show_tables(words: str, suite: str | None) -> None:
    """Print every table that the words fit."""
    plan = plan_of(suite)
    keys = collect_keys(plan)
    states = States(plan, keys)
    styled = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    look, width = Print(styled, styled and not os.environ.get("NO_COLOR")), shutil.get_terminal_size().columns
    for benchmark, table in chosen_tables(plan, words):
        key = keys[plan.results.key("tables", benchmark, table)]
        assert isinstance(key, TableKey)
        print(render(table_of(plan, key), width, look))
        for line in notes(plan, key, states, suite):
            print("\n".join(wrapped(line, width)), end="\n\n")


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
    typed = words.removeprefix(TABLES)
    found = fitting(typed.rpartition(".")[0] if Path(typed).suffix else typed, names)
    return [known for name, known in names.items() if name in found]


def table_of(plan: Plan, key: TableKey) -> Table:
    """The table as the workflow would write it, of those of its numbers that are there."""
    results, benchmark = plan.results, key.benchmark
    scored = plan.table_scored(benchmark, key.table)
    files = [*map(results.metrics, scored), results.statistics(benchmark)]
    metrics = [read_table(path, METRICS) for path in files if path.is_file()]
    problems = [results.import_problems(name) for one in scored for name in {one, Scored(one.run)}]
    return Builder(
        key=key,
        metrics=pl.concat(metrics) if metrics else pl.DataFrame(schema=METRICS),
        published=Published(published_file(benchmark) if key.show_published else None, key.table),
        problems=read_problems([path for path in problems if path.is_file()], results),
    ).table()


def notes(plan: Plan, key: TableKey, states: States, suite: str | None) -> Iterator[str]:
    """Which of the table's runs are not what another run would make them, and how to make them."""
    found = [states.of(one) for one in plan.table_scored(key.benchmark, key.table)]
    target = table_file(key.benchmark, key.table, "md")
    others = [state for state in found if state.name != "done"]
    if others:
        counts = ", ".join(f"{sum(one.name == name for one in others)} {name}" for name in _names(others))
        yield (
            f"Of its {len(found)} runs: {counts}, such as {others[0].scored.name}. `python -m reprise why <run>` says "
            f"why; `{call_for(target, suite)}` makes them."
        )


def _names(states: list[State]) -> list[str]:
    return sorted({state.name for state in states})
