"""`trace`: one cell of a table, and the chain of files, settings and sources behind its numbers."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from reprise import __version__
from reprise.commands.plans import plan_of
from reprise.commands.show import builder_of, chosen_tables
from reprise.config.tables import Column, Row
from reprise.core.errors import UserError, choices
from reprise.core.paths import Scored
from reprise.core.plain import safe
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.report.chain import Chains, Fact, Made
from reprise.tables.build import COMPARED, SHOWN, Builder, column_name
from reprise.tables.keys import TableKey

COUNTS = ("asked", "scored", "failed", "unparsed", "missing")
T = TypeVar("T")


def trace_cell(words: str, row: str, column: str, suite: str | None) -> None:
    """Print the numbers of a cell, and what they were made from, back to the sources."""
    plan = plan_of(suite)
    keys = collect_keys(plan)
    names = chosen_tables(plan, words)
    if len(names) > 1:
        raise UserError(f"trace: '{words}' fits several tables: {', '.join('/'.join(one) for one in names)}. Name one.")
    key = keys[plan.results.key("tables", *names[0])]
    assert isinstance(key, TableKey)
    builder = builder_of(plan, key)
    rows = {_row_name(builder, one): one for one in key.spec.rows()}
    columns = {column_name(one): one for one in key.spec.columns if one.shows == "metrics"}
    chosen_row, chosen_column = _chosen("row", row, rows), _chosen("column", column, columns)
    print(safe("\n".join(_lines(plan, builder, chosen_row, chosen_column))))


def _row_name(builder: Builder, row: Row) -> str:
    """A row's label with what tells it from rows of the same label."""
    scored = builder.scored_of(row, builder.spec.columns[-1])
    frames = f", {row.frames} frames" if row.frames else ""
    return f"{row.label}{frames} ({scored.name if scored else 'no run'})"


def _chosen(kind: str, words: str, named: Mapping[str, T]) -> T:
    """The only one whose name is these words, begins with them, or has them all."""
    folded = words.casefold()
    ways = (
        lambda name: name == folded,
        lambda name: name.startswith(f"{folded} (") or name.startswith(f"{folded}, "),
        lambda name: all(word in name for word in folded.split()),
    )
    for way in ways:
        found = [name for name in named if way(name.casefold())]
        if len(found) == 1:
            return named[found[0]]
        if found:
            raise UserError(f"trace: {kind} '{words}' fits {len(found)}: {'; '.join(found)}. Add a word.")
    labels = [name.rpartition(" (")[0] for name in named] if kind == "row" else list(named)  # a row's run comes last
    raise UserError(f"trace: no {kind} '{words}'.{choices(words, labels)}")


def _lines(plan: Plan, builder: Builder, row: Row, column: Column) -> Iterator[str]:
    key, scored = builder.key, builder.scored_of(row, column)
    yield f"{key.benchmark}/{key.table}, row '{row.label}', column '{column_name(column)}'"
    for metric in key.spec.metrics_of(column):
        yield from _numbers(builder, row, column, metric)
    if scored is None:
        yield _without_run(plan, key.benchmark, row)
        return
    if scored.name not in key.runs:
        yield f"{scored.name} does not run: `run:` of config/suites/{key.suite}.yaml says what does."
        return
    yield from _chain(plan, scored)


def _without_run(plan: Plan, benchmark: str, row: Row) -> str:
    if row.dataset:
        return f"Counted from the data: {plan.results.statistics(benchmark)}"
    return "The score of random guessing." if row.chance else "No run is behind it: the paper's number alone is shown."


def _numbers(builder: Builder, row: Row, column: Column, metric: str) -> Iterator[str]:
    """A metric by both readings, and the paper's number."""
    for reading in dict.fromkeys((SHOWN, COMPARED)):
        found = builder.found(row, column, metric, reading)
        if found is not None:
            yield f"  {metric} ({', '.join(reading)}): {_with_interval(found)}"
    paper = builder.paper_value(row, column, metric)
    if paper is not None:
        yield f"  {metric} in the paper: {paper.value:.{paper.decimals}f}"


def _with_interval(found: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{found[name]} {name}" for name in COUNTS if found.get(name) is not None)
    if found["value"] is None:
        return f"none; {counts}"
    ends = "" if found["low"] is None else f", interval {found['low']:.4f} to {found['high']:.4f}"
    return f"{found['value']:.4f}{ends}; {counts}"


def _chain(plan: Plan, scored: Scored) -> Iterator[str]:
    """Every step behind the numbers, the last first; a key file stands with the first step that was made under it."""
    yield f"  by Reprise {__version__}, suite {plan.config.name}"
    for made in reversed(Chains(plan.results).of(plan.behind(scored))):
        yield _files(made)
        yield from (f"  {fact.name} {fact.text}" for fact in made.facts)
        for key in made.keys:
            yield f"  key {key.path}{' (it says something else by now than when this was made)' if key.changed else ''}"
            yield from (line for fact in key.settings for line in _setting(fact))


def _files(made: Made) -> str:
    more = f" and {len(made.files) - 1} more" if made.files[1:] else ""
    return f"{made.name}: {made.files[0]}{more}{f' ({made.gone} not there)' if made.gone else ''}"


def _setting(fact: Fact) -> Iterator[str]:
    """A setting whole; a text of several lines stands below its name."""
    lines = fact.text.splitlines() or [""]
    if len(lines) == 1:
        yield f"    {fact.name}: {lines[0]}"
    else:
        yield f"    {fact.name}:"
        yield from (f"    | {line}" for line in lines)
