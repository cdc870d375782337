"""`trace`: one cell of a table, and the chain of files, settings and sources behind its numbers."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from reprise import __version__
from reprise.commands.shared import plan_of
from reprise.commands.show import builder_of, chosen_tables
from reprise.config.tables import Column, Row
from reprise.core.errors import UserError, choices
from reprise.core.plain import safe
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.report.chain import Chains
from reprise.tables.build import COMPARED, SHOWN, Builder
from reprise.tables.headers import column_name
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
        for reading in dict.fromkeys((SHOWN, COMPARED)):
            found = builder.found(row, column, metric, reading)
            if found is not None:
                yield f"  {metric} ({', '.join(reading)}): {with_interval(found)}"
        paper = builder.paper_value(row, column, metric)
        if paper is not None:
            yield f"  {metric} in the paper: {paper.value:.{paper.decimals}f}"
    if scored is None and row.dataset:
        yield f"Counted from the data: {plan.results.statistics(key.benchmark)}"
    elif scored is None and row.chance:
        yield "The score of random guessing."
    elif scored is None:
        yield "No run is behind it: the paper's number alone is shown."
    elif scored.name not in key.runs:
        yield f"{scored.name} does not run: `run:` of config/suites/{key.suite}.yaml says what does."
    else:
        yield f"  by Reprise {__version__}, suite {plan.config.name}"
        # The last step first; a key file stands with the first step that was made under it.
        for made in reversed(Chains(plan.results).of(plan.behind(scored))):
            more = f" and {len(made.files) - 1} more" if made.files[1:] else ""
            yield f"{made.name}: {made.files[0]}{more}{f' ({made.gone} not there)' if made.gone else ''}"
            yield from (f"  {fact.name} {fact.text}" for fact in made.facts)
            for used in made.keys:
                changed = " (it says something else by now than when this was made)" if used.changed else ""
                yield f"  key {used.path}{changed}"
                yield from (line for fact in used.settings for line in _setting(fact.name, fact.text))


def with_interval(found: Mapping[str, Any]) -> str:
    """A number, its interval, and what it was counted from."""
    counts = ", ".join(f"{found[name]} {name}" for name in COUNTS if found.get(name) is not None)
    if found["value"] is None:
        return f"none; {counts}"
    ends = "" if found["low"] is None else f", interval {found['low']:.4f} to {found['high']:.4f}"
    return f"{found['value']:.4f}{ends}; {counts}"


def _setting(name: str, text: str) -> Iterator[str]:
    """A setting whole; a text of several lines stands below its name."""
    lines = text.splitlines() or [""]
    if len(lines) == 1:
        yield f"    {name}: {lines[0]}"
    else:
        yield f"    {name}:"
        yield from (f"    | {line}" for line in lines)
