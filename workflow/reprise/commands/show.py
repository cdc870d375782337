"""Commands `show` and `trace`: print tables of the results that exist now, and the lineage of a cell."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from reprise.commands.output import write_lines, write_table
from reprise.commands.shared import format_choices, format_field, format_snakemake_call, load_plan
from reprise.config.tables import Column, Row
from reprise.core.errors import UserError, suggest_name
from reprise.core.notation import format_interval, format_value
from reprise.core.paths import OVERVIEW, ScoredRun, overview_file, settings_name, table_file
from reprise.core.plain import sanitize, summarize_list
from reprise.core.schemas import TIMINGS, read_table
from reprise.core.version import VERSION
from reprise.plan.name_matching import format_list, match_names, suggest_closest
from reprise.plan.runs import Plan
from reprise.plan.states import RunStates
from reprise.plan.suite import all_settings
from reprise.report.lineage import StageLineages
from reprise.tables.builder import AUTHORS_EXTRACTION, DEFAULT_EXTRACTION, TableBuilder, column_name
from reprise.tables.keys import OverviewKey, TableKey
from reprise.tables.measurements import read_metrics, read_problems
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import PublishedTable, published_path

LINEAGE_DECIMALS = 4
T = TypeVar("T")


def show_tables(query: str, suite: str | None, benchmarks: str | None = None) -> None:
    """Print the tables that a query matches, or the overview."""
    plan = load_plan(suite, benchmarks)
    settings = all_settings(plan)
    states = RunStates(plan, settings)
    is_overview = table_name(query) == OVERVIEW and bool(plan.overview_specs)
    for benchmark, name in [("", OVERVIEW)] if is_overview else select_tables(plan, query):
        key = settings[settings_name("tables", *filter(None, (benchmark, name)))]
        if isinstance(key, OverviewKey):
            table, scored = make_overview_builder(plan, key).build(), plan.overview_scored_runs()
            target = overview_file("md")
        else:
            assert isinstance(key, TableKey)
            table, scored = make_table_builder(plan, key).build(), plan.table_scored_runs(benchmark, name)
            target = table_file(benchmark, name, "md")
        write_table(table)
        for line in _format_notes(scored, target, states, suite):
            write_lines([line, ""])


def table_name(query: str) -> str:
    """Return the name of a table in a query, which may be the path of its file: `results/tables/<name>.md`."""
    name = query.removeprefix("results/tables/")
    return name.rpartition(".")[0] if Path(name).suffix else name


def select_tables(plan: Plan, query: str) -> list[tuple[str, str]]:
    """Return (benchmark, table) of each match, for queries such as `velociti/table3`, `table3` or `velociti`."""
    matches = match_tables(plan, query)
    if not matches:
        names = [f"{benchmark}/{table}" for benchmark, table, _ in plan.list_tables()]
        hint = suggest_closest(query, [OVERVIEW, *names])
        raise UserError(
            f"no table '{query}' in suite '{plan.config.name}'.{hint} A table is named "
            f"<benchmark>/table<N>. Available: {format_list(names)}."
        )
    return matches


def match_tables(plan: Plan, query: str) -> list[tuple[str, str]]:
    """Return (benchmark, table) of each match; an empty list without a match."""
    names = {f"{benchmark}/{table}": (benchmark, table) for benchmark, table, _ in plan.list_tables()}
    return [names[name] for name in match_names(table_name(query), names)]


def make_table_builder(plan: Plan, key: TableKey) -> TableBuilder:
    """Return the builder of a table from the existing results, as the workflow builds it."""
    results, benchmark = plan.results, key.benchmark
    scored = plan.table_scored_runs(benchmark, key.table)
    return TableBuilder(
        key=key,
        metrics=read_metrics(filter(Path.is_file, [*map(results.metrics, scored), results.statistics(benchmark)])),
        published=PublishedTable(published_path(benchmark) if key.show_published else None, key.table),
        problems=_read_problems(plan, scored),
    )


def make_overview_builder(plan: Plan, key: OverviewKey) -> OverviewBuilder:
    """Return the builder of the overview from the existing results, as the workflow builds it."""
    scored, results, show_published = plan.overview_scored_runs(), plan.results, plan.config.suite.show_published
    timings = {
        scored_run.run.name: results.timings(scored_run.run)
        for scored_run in scored
        if scored_run.run.model not in plan.imports.models
    }
    return OverviewBuilder(
        key,
        read_metrics(filter(Path.is_file, map(results.metrics, scored))),
        {
            name: PublishedTable(published_path(name) if show_published else None, table_key.table)
            for name, table_key in key.default_conditions.items()
        },
        _read_problems(plan, scored),
        {name: read_table(path, TIMINGS) for name, path in timings.items() if path.is_file()},
    )


def _read_problems(plan: Plan, scored: Sequence[ScoredRun]) -> dict[str, Counter[str]]:
    """Return the problems of imported predictions that scored runs use, counted by run."""
    # Both the ratings of a judged run and the run's own answers may be imported.
    files = [
        plan.results.import_problems(imported_run)
        for scored_run in scored
        for imported_run in {scored_run, ScoredRun(scored_run.run)}
    ]
    return read_problems(filter(Path.is_file, files), plan.results)


def _format_notes(scored: Sequence[ScoredRun], target: Path, states: RunStates, suite: str | None) -> Iterator[str]:
    """Yield the runs of a table, how many of them are not done, and how to compute these; `target` is its file."""
    if scored:
        yield f"Runs (`reprise item <run>` lists wrong answers): {format_list([run.name for run in scored])}."
    unfinished = [state for state in map(states.compute_state, scored) if state.name != "done"]
    if unfinished:
        counts = ", ".join(
            f"{count} {name}" for name, count in sorted(Counter(state.name for state in unfinished).items())
        )
        # Snakemake does not make a missing input of an existing file, so its call for the table would not help.
        has_no_effect = target.is_file() and any(state.name == "missing" for state in unfinished)
        call = f"; `{format_snakemake_call(suite, target)}` computes them"
        yield (
            f"Of its {len(scored)} runs: {counts}, such as {unfinished[0].scored_run.name}. `reprise why "
            f"<run>` gives the reason{' and the call that computes it' if has_no_effect else call}."
        )


# --- trace ----------------------------------------------------------------------------------------------------------


def trace_cell(query: str, row: str, column: str, suite: str | None) -> None:
    """Print the numbers of the cell in a row and a column, and their lineage."""
    plan = load_plan(suite)
    tables = select_tables(plan, query)
    if len(tables) > 1:
        options = f"--row {shlex.quote(row)} --column {shlex.quote(column)}"
        calls = [f"reprise trace {'/'.join(table)} {options}" for table in tables]
        raise UserError(f"trace: '{query}' matches {len(tables)} tables. {format_choices(calls)}")
    key = all_settings(plan)[settings_name("tables", *tables[0])]
    assert isinstance(key, TableKey)
    builder, rows = make_table_builder(plan, key), {}
    for table_row in key.spec.rows():
        scored = builder.find_scored_run(table_row, key.spec.columns[-1])
        frames = f", {table_row.frames} frames" if table_row.frames else ""
        rows[f"{table_row.label}{frames} ({scored.name if scored else 'no run'})"] = table_row
    columns = {column_name(spec): spec for spec in key.spec.columns if spec.shows == "metrics"}
    matched_row, matched_column = find_by_name("row", row, rows), find_by_name("column", column, columns)
    write_lines(map(sanitize, _format_lineage(plan, builder, matched_row, matched_column)))


def find_by_name(kind: str, query: str, entries: Mapping[str, T]) -> T:
    """Return the row or column whose name matches a query of the user.

    A name matches if it equals the query, if only frames or a run follow the query, or if it has all words of it. Case
    does not matter. The first of these criteria that any entry meets decides.

    Raises:
        UserError: No entry or several entries match.
    """
    folded_query = query.casefold()
    criteria = (
        lambda name: name == folded_query,
        lambda name: name.startswith((f"{folded_query} (", f"{folded_query}, ")),
        lambda name: all(word in name for word in folded_query.split()),
    )
    matches = next(filter(None, ([name for name in entries if is_match(name.casefold())] for is_match in criteria)), [])
    if len(matches) == 1:
        return entries[matches[0]]
    # Suggest the label of a row without its run, which follows in parentheses.
    labels = matches or [name.rpartition(" (")[0] if kind == "row" else name for name in entries]
    problem = (
        f"{kind} '{query}' matches {len(matches)}." if matches else f"no {kind} '{query}'.{suggest_name(query, labels)}"
    )
    raise UserError(f"trace: {problem} {format_choices([f'--{kind} {shlex.quote(label)}' for label in labels])}")


def _format_lineage(plan: Plan, builder: TableBuilder, row: Row, column: Column) -> Iterator[str]:
    """Yield the numbers of a cell, and then the jobs that led to them, the last one first."""
    key, scored = builder.key, builder.find_scored_run(row, column)
    yield f"{key.benchmark}/{key.table}, row '{row.label}', column '{column_name(column)}'"
    for metric in key.spec.list_metrics(column):
        for extraction in dict.fromkeys((DEFAULT_EXTRACTION, AUTHORS_EXTRACTION)):
            cell = builder.find_number(row, column, metric, extraction)
            if cell is not None:
                yield f"  {metric} ({', '.join(extraction)}): {format_cell(cell)}"
        paper = builder.find_published(row, column, metric)
        if paper is not None:
            yield f"  {metric} in the paper: {format_value(paper.value, paper.decimals)}"
    if scored is None and row.dataset:
        yield f"Computed from the data: {plan.results.statistics(key.benchmark)}"
    elif scored is None:
        yield "It has no run: it is the paper's number, or the chance level."
    elif scored.name not in key.runs:
        yield f"{scored.name} is not selected by `run:` of {plan.config.suite_file}."
    else:
        yield f"  by Reprise {VERSION}, suite {plan.config.name}"
        if not plan.results.metrics(scored).is_file():
            yield f"metrics: {plan.results.metrics(scored)} (missing)"
        # List the last stage first. `StageLineages` gives settings only at the first stage that used them.
        for step in reversed(StageLineages(plan.results).trace(plan.results.metrics(scored))):
            yield f"{step.name}: {', '.join(summarize_list(step.files, 1))}"
            yield from (f"  {detail.name} {detail.text}" for detail in step.details)
            for group in step.settings:
                yield f"  settings {group.name}"
                for setting in group.settings:
                    yield from format_field(setting.name, setting.text, "    ")


def format_cell(cell: Mapping[str, Any]) -> str:
    """Return the value of a number with its interval and counts."""
    names = ("requested", "scored", "failed", "unparsed", "missing")
    counts = ", ".join(f"{cell[name]} {name}" for name in names if cell.get(name) is not None)
    value = "none" if cell["value"] is None else format_value(cell["value"], LINEAGE_DECIMALS)
    interval = format_interval(cell["low"], cell["high"], LINEAGE_DECIMALS)
    return f"{' '.join(filter(None, (value, interval)))}; {counts}"
