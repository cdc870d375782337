"""Commands `show` and `trace`: render tables from the current numbers, and print the lineage of a cell."""

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from reprise.commands.shared import call_for, copy_hint, named_text, plan_of
from reprise.config.tables import Column, Row
from reprise.core.errors import UserError, suggestion
from reprise.core.paths import OVERVIEW, Scored, overview_file, settings_name, table_file
from reprise.core.plain import first_of, safe
from reprise.core.schemas import TIMINGS, read_table
from reprise.core.version import VERSION
from reprise.plan.naming import fitting, listed, nearest
from reprise.plan.runs import Plan
from reprise.plan.states import States
from reprise.plan.suite import all_settings
from reprise.report.chain import Chains
from reprise.tables.build import COMPARED, SHOWN, Builder, column_name
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.measured import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import Published, published_file
from reprise.tables.render.terminal import Print, render, wrapped

T = TypeVar("T")


def show_tables(words: str, suite: str | None) -> None:
    plan = plan_of(suite)
    settings = all_settings(plan)
    states = States(plan, settings)
    is_styled = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    style, width = Print(is_styled, is_styled and not os.environ.get("NO_COLOR")), shutil.get_terminal_size().columns
    is_overview = table_name(words) == OVERVIEW and bool(plan.overview)
    for benchmark, name in [("", OVERVIEW)] if is_overview else chosen_tables(plan, words):
        key = settings[settings_name("tables", *filter(None, (benchmark, name)))]
        if isinstance(key, OverviewKey):
            table, scored, target = overview_of(plan, key).table(), plan.overview_scored(), overview_file("md")
        else:
            assert isinstance(key, TableKey)
            table, scored = builder_of(plan, key).table(), plan.table_scored(benchmark, name)
            target = table_file(benchmark, name, "md")
        print(render(table, width, style))
        for line in _notes(scored, target, states, suite):
            print("\n".join(wrapped(line, width)), end="\n\n")


def table_name(words: str) -> str:
    name = words.removeprefix("results/tables/")
    return name.rpartition(".")[0] if Path(name).suffix else name


def chosen_tables(plan: Plan, words: str) -> list[tuple[str, str]]:
    """Return (benchmark, table) of each match, for words such as `velociti/table3`, `table3` or `velociti`."""
    matches = tables_named(plan, words)
    if not matches:
        names = [f"{benchmark}/{table}" for benchmark, table, _ in plan.tables()]
        raise UserError(
            f"no table '{words}' in suite '{plan.config.name}'.{nearest(words, names)} A table is named "
            f"<benchmark>/table<N>. There are: {listed(names)}."
        )
    return matches


def tables_named(plan: Plan, words: str) -> list[tuple[str, str]]:
    names = {f"{benchmark}/{table}": (benchmark, table) for benchmark, table, _ in plan.tables()}
    return [names[name] for name in fitting(table_name(words), names)]


def builder_of(plan: Plan, key: TableKey) -> Builder:
    """Return the builder that makes a table as the workflow does, from the numbers that exist."""
    results, benchmark = plan.results, key.benchmark
    scored = plan.table_scored(benchmark, key.table)
    return Builder(
        key=key,
        metrics=read_metrics(filter(Path.is_file, [*map(results.metrics, scored), results.statistics(benchmark)])),
        published=Published(published_file(benchmark) if key.show_published else None, key.table),
        problems=_problems(plan, scored),
    )


def overview_of(plan: Plan, key: OverviewKey) -> OverviewBuilder:
    scored, results, shows_papers = plan.overview_scored(), plan.results, plan.config.suite.show_published
    timings = {
        scored_run.run.name: results.timings(scored_run.run)
        for scored_run in scored
        if scored_run.run.model not in plan.imports.models
    }
    return OverviewBuilder(
        key,
        read_metrics(filter(Path.is_file, map(results.metrics, scored))),
        {
            name: Published(published_file(name) if shows_papers else None, table_key.table)
            for name, table_key in key.of_all.items()
        },
        _problems(plan, scored),
        {name: read_table(path, TIMINGS) for name, path in timings.items() if path.is_file()},
    )


def _problems(plan: Plan, scored: Sequence[Scored]) -> dict[str, Counter[str]]:
    files = [
        plan.results.import_problems(name) for scored_run in scored for name in {scored_run, Scored(scored_run.run)}
    ]
    return read_problems(filter(Path.is_file, files), plan.results)


def _notes(scored: Sequence[Scored], target: Path, states: States, suite: str | None) -> Iterator[str]:
    if scored:
        yield f"Runs (`reprise item <run>` lists wrong answers): {listed([run.name for run in scored])}."
    unfinished = [state for state in map(states.of, scored) if state.name != "done"]
    if unfinished:
        counts = ", ".join(
            f"{count} {name}" for name, count in sorted(Counter(state.name for state in unfinished).items())
        )
        # Snakemake does not make a missing input if the file itself exists.
        is_kept = target.is_file() and any(state.name == "missing" for state in unfinished)
        instruction = "and what makes it." if is_kept else f"`{call_for(target, suite)}` makes them."
        yield (
            f"Of its {len(scored)} runs: {counts}, such as {unfinished[0].scored.name}. `python -m reprise why <run>` "
            f"says why{'' if is_kept else ';'} {instruction}"
        )


# --- trace ----------------------------------------------------------------------------------------------------------


def trace_cell(words: str, row: str, column: str, suite: str | None) -> None:
    """Print the numbers of a cell and their lineage back to the sources."""
    plan = plan_of(suite)
    tables = chosen_tables(plan, words)
    if len(tables) > 1:
        options = f"--row {shlex.quote(row)} --column {shlex.quote(column)}"
        calls = [f"reprise trace {'/'.join(table)} {options}" for table in tables]
        raise UserError(f"trace: '{words}' fits {len(tables)} tables. {copy_hint(calls)}")
    key = all_settings(plan)[settings_name("tables", *tables[0])]
    assert isinstance(key, TableKey)
    builder, rows = builder_of(plan, key), {}
    for table_row in key.spec.rows():
        scored = builder.scored_of(table_row, key.spec.columns[-1])
        frames = f", {table_row.frames} frames" if table_row.frames else ""
        rows[f"{table_row.label}{frames} ({scored.name if scored else 'no run'})"] = table_row
    columns = {column_name(spec): spec for spec in key.spec.columns if spec.shows == "metrics"}
    matched_row, matched_column = find_by_name("row", row, rows), find_by_name("column", column, columns)
    print(safe("\n".join(_lines(plan, builder, matched_row, matched_column))))


def find_by_name(kind: str, words: str, entries: Mapping[str, T]) -> T:
    """Return the only entry whose name equals the words, begins with them, or contains all of them."""
    folded = words.casefold()
    criteria = (
        lambda name: name == folded,
        lambda name: name.startswith((f"{folded} (", f"{folded}, ")),
        lambda name: all(word in name for word in folded.split()),
    )
    matches = next(filter(None, ([name for name in entries if is_match(name.casefold())] for is_match in criteria)), [])
    if len(matches) == 1:
        return entries[matches[0]]
    # The name of a row ends with its run in parentheses, which the suggestion leaves out.
    labels = matches or [name.rpartition(" (")[0] if kind == "row" else name for name in entries]
    problem = (
        f"{kind} '{words}' fits {len(matches)}." if matches else f"no {kind} '{words}'.{suggestion(words, labels)}"
    )
    raise UserError(f"trace: {problem} {copy_hint([f'--{kind} {shlex.quote(label)}' for label in labels])}")


def _lines(plan: Plan, builder: Builder, row: Row, column: Column) -> Iterator[str]:
    key, scored = builder.key, builder.scored_of(row, column)
    yield f"{key.benchmark}/{key.table}, row '{row.label}', column '{column_name(column)}'"
    for metric in key.spec.metrics_of(column):
        for extraction in dict.fromkeys((SHOWN, COMPARED)):
            cell = builder.found(row, column, metric, extraction)
            if cell is not None:
                yield f"  {metric} ({', '.join(extraction)}): {with_interval(cell)}"
        paper = builder.paper_value(row, column, metric)
        if paper is not None:
            yield f"  {metric} in the paper: {paper.value:.{paper.decimals}f}"
    if scored is None and row.dataset:
        yield f"Counted from the data: {plan.results.statistics(key.benchmark)}"
    elif scored is None:
        yield "No run is behind it: it is the paper's number, or that of random guessing."
    elif scored.name not in key.runs:
        yield f"{scored.name} does not run: `run:` of {plan.config.file} says what does."
    else:
        yield f"  by Reprise {VERSION}, suite {plan.config.name}"
        if not plan.results.metrics(scored).is_file():
            yield f"metrics: {plan.results.metrics(scored)} (not there)"
        # List the last stage first. `Chains` attaches settings to the first stage that used them.
        for step in reversed(Chains(plan.results).of(plan.results.metrics(scored))):
            yield f"{step.name}: {', '.join(first_of(step.files, 1))}"
            yield from (f"  {fact.name} {fact.text}" for fact in step.facts)
            for entry in step.settings:
                yield f"  settings {entry.name}"
                yield from (line for fact in entry.settings for line in named_text(fact.name, fact.text, "    "))


def with_interval(cell: Mapping[str, Any]) -> str:
    names = ("asked", "scored", "failed", "unparsed", "missing")
    counts = ", ".join(f"{cell[name]} {name}" for name in names if cell.get(name) is not None)
    value = "none" if cell["value"] is None else f"{cell['value']:.4f}"
    interval = "" if cell["low"] is None else f", interval {cell['low']:.4f} to {cell['high']:.4f}"
    return f"{value}{interval}; {counts}"
