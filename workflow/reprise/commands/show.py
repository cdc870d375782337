"""`show` and `trace`: tables in the terminal, from the numbers that exist now, and what is behind a cell."""

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from reprise.commands.shared import call_for, copy_one, named_text, plan_of
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
    styled = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    look, width = Print(styled, styled and not os.environ.get("NO_COLOR")), shutil.get_terminal_size().columns
    is_overview = table_name(words) == OVERVIEW and bool(plan.overview)
    for benchmark, name in [("", OVERVIEW)] if is_overview else chosen_tables(plan, words):
        key = settings[settings_name("tables", *filter(None, (benchmark, name)))]
        if isinstance(key, OverviewKey):
            table, scored, target = overview_of(plan, key).table(), plan.overview_scored(), overview_file("md")
        else:
            assert isinstance(key, TableKey)
            table, scored = builder_of(plan, key).table(), plan.table_scored(benchmark, name)
            target = table_file(benchmark, name, "md")
        print(render(table, width, look))
        for line in _notes(scored, target, states, suite):
            print("\n".join(wrapped(line, width)), end="\n\n")


def table_name(words: str) -> str:
    name = words.removeprefix("results/tables/")
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
    names = {f"{benchmark}/{table}": (benchmark, table) for benchmark, table, _ in plan.tables()}
    return [names[name] for name in fitting(table_name(words), names)]


def builder_of(plan: Plan, key: TableKey) -> Builder:
    """What builds a table as the workflow would write it, of those of its numbers that are there."""
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
    timings = {one.run.name: results.timings(one.run) for one in scored if one.run.model not in plan.imports.models}
    return OverviewBuilder(
        key,
        read_metrics(filter(Path.is_file, map(results.metrics, scored))),
        {name: Published(published_file(name) if shows_papers else None, of.table) for name, of in key.of_all.items()},
        _problems(plan, scored),
        {name: read_table(path, TIMINGS) for name, path in timings.items() if path.is_file()},
    )


def _problems(plan: Plan, scored: Sequence[Scored]) -> dict[str, Counter[str]]:
    files = [plan.results.import_problems(name) for one in scored for name in {one, Scored(one.run)}]
    return read_problems(filter(Path.is_file, files), plan.results)


def _notes(scored: Sequence[Scored], target: Path, states: States, suite: str | None) -> Iterator[str]:
    if scored:
        yield f"Runs (`reprise item <run>` lists wrong answers): {listed([one.name for one in scored])}."
    others = [state for state in map(states.of, scored) if state.name != "done"]
    if others:
        counts = ", ".join(f"{n} {name}" for name, n in sorted(Counter(state.name for state in others).items()))
        # Snakemake makes no missing input of a file that exists.
        is_kept = target.is_file() and any(state.name == "missing" for state in others)
        makes = "and what makes it." if is_kept else f"`{call_for(target, suite)}` makes them."
        yield (
            f"Of its {len(scored)} runs: {counts}, such as {others[0].scored.name}. `python -m reprise why <run>` says "
            f"why{'' if is_kept else ';'} {makes}"
        )


# --- trace ----------------------------------------------------------------------------------------------------------


def trace_cell(words: str, row: str, column: str, suite: str | None) -> None:
    """Print the numbers of a cell, and what they were made from, back to the sources."""
    plan = plan_of(suite)
    names = chosen_tables(plan, words)
    if len(names) > 1:
        said = f"--row {shlex.quote(row)} --column {shlex.quote(column)}"
        calls = [f"reprise trace {'/'.join(one)} {said}" for one in names]
        raise UserError(f"trace: '{words}' fits {len(names)} tables. {copy_one(calls)}")
    key = all_settings(plan)[settings_name("tables", *names[0])]
    assert isinstance(key, TableKey)
    builder, rows = builder_of(plan, key), {}
    for one in key.spec.rows():
        scored = builder.scored_of(one, key.spec.columns[-1])
        frames = f", {one.frames} frames" if one.frames else ""
        rows[f"{one.label}{frames} ({scored.name if scored else 'no run'})"] = one
    columns = {column_name(one): one for one in key.spec.columns if one.shows == "metrics"}
    found_row, found_column = chosen("row", row, rows), chosen("column", column, columns)
    print(safe("\n".join(_lines(plan, builder, found_row, found_column))))


def chosen(kind: str, words: str, named: Mapping[str, T]) -> T:
    """The only one whose name is these words, begins with them, or has them all."""
    folded = words.casefold()
    ways = (
        lambda name: name == folded,
        lambda name: name.startswith((f"{folded} (", f"{folded}, ")),
        lambda name: all(word in name for word in folded.split()),
    )
    found = next(filter(None, ([name for name in named if way(name.casefold())] for way in ways)), [])
    if len(found) == 1:
        return named[found[0]]
    labels = found or [name.rpartition(" (")[0] if kind == "row" else name for name in named]  # a row's run comes last
    wrong = f"{kind} '{words}' fits {len(found)}." if found else f"no {kind} '{words}'.{suggestion(words, labels)}"
    raise UserError(f"trace: {wrong} {copy_one([f'--{kind} {shlex.quote(label)}' for label in labels])}")


def _lines(plan: Plan, builder: Builder, row: Row, column: Column) -> Iterator[str]:
    key, scored = builder.key, builder.scored_of(row, column)
    yield f"{key.benchmark}/{key.table}, row '{row.label}', column '{column_name(column)}'"
    for metric in key.spec.metrics_of(column):
        for reading in dict.fromkeys((SHOWN, COMPARED)):
            found = builder.found(row, column, metric, reading)
            if found is not None:
                yield f"  {metric} ({', '.join(reading)}): {with_interval(found)}"
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
        # The last stage first; settings stand with the first stage that was made with them.
        for made in reversed(Chains(plan.results).of(plan.results.metrics(scored))):
            yield f"{made.name}: {', '.join(first_of(made.files, 1))}"
            yield from (f"  {fact.name} {fact.text}" for fact in made.facts)
            for used in made.settings:
                yield f"  settings {used.name}"
                yield from (line for fact in used.settings for line in named_text(fact.name, fact.text, "    "))


def with_interval(found: Mapping[str, Any]) -> str:
    names = ("asked", "scored", "failed", "unparsed", "missing")
    counts = ", ".join(f"{found[name]} {name}" for name in names if found.get(name) is not None)
    value = "none" if found["value"] is None else f"{found['value']:.4f}"
    ends = "" if found["low"] is None else f", interval {found['low']:.4f} to {found['high']:.4f}"
    return f"{value}{ends}; {counts}"
