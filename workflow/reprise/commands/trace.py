"""`trace`: one cell of a table, and the chain of files, settings and sources behind its numbers."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from reprise.commands.plans import plan_of
from reprise.commands.show import builder_of, chosen_tables
from reprise.config.tables import Column, Row
from reprise.core.checksums import keys_of, sealed_text
from reprise.core.errors import UserError, choices
from reprise.core.files import read_json
from reprise.core.paths import Scored
from reprise.core.plain import plain, safe
from reprise.core.settings import Settings
from reprise.plan.changes import leaves
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.plan.states import States, Step
from reprise.tables.build import COMPARED, SHOWN, Builder
from reprise.tables.headers import column_name
from reprise.tables.keys import TableKey

LONGEST = 160
MOST_SETTINGS = 24
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
    print(safe("\n".join(_lines(plan, keys, builder, chosen_row, chosen_column))))


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
    labels = dict.fromkeys(name.partition(" (")[0] for name in named)
    raise UserError(f"trace: no {kind} '{words}'.{choices(words, list(labels))}")


def _lines(plan: Plan, keys: Mapping[Path, Settings], builder: Builder, row: Row, column: Column) -> Iterator[str]:
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
    yield from _chain(plan, keys, scored)


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
        yield f"  {metric} in the paper: {paper:g}"


def _with_interval(found: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{found[name]} {name}" for name in COUNTS if found.get(name) is not None)
    if found["value"] is None:
        return f"none; {counts}"
    ends = "" if found["low"] is None else f", interval {found['low']:.4f} to {found['high']:.4f}"
    return f"{found['value']:.4f}{ends}; {counts}"


def _chain(plan: Plan, keys: Mapping[Path, Settings], scored: Scored) -> Iterator[str]:
    """Every step behind the numbers, the last first; a key file stands with the first step that was made under it."""
    told: set[Path] = set()
    parts: list[list[str]] = []
    for name, files in _by_name(States(plan, keys).steps(scored)).items():
        new = [path for path in _keys_behind(files) if path not in told]
        told |= set(new)
        parts.append([_files(name, files), *(line for path in new for line in _key_lines(path))])
    release = plan.results.folder / "release" / scored.run.benchmark / "files.json"
    if release.is_file():
        parts[0] += [f"  {entry['path']} sha256 {entry['sha256']}" for entry in read_json(sealed_text(release))]
    yield from (line for part in reversed(parts) for line in part)


def _by_name(steps: Iterable[Step]) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for step in steps:
        found.setdefault(step.name, []).append(step)
    return found


def _files(name: str, files: Sequence[Step]) -> str:
    more = f" and {len(files) - 1} more" if files[1:] else ""
    gone = sum(not step.path.is_file() for step in files)
    return f"{name}: {files[0].path}{more}{f' ({gone} not there)' if gone else ''}"


def _keys_behind(steps: Sequence[Step]) -> list[Path]:
    """The key files that files were made under."""
    tables = [step.path for step in steps if step.path.suffix == ".parquet" and step.path.is_file()]
    named = [Path(name) for path in tables for name in keys_of(path) or {}]
    own = [step.key for step in steps if step.key]
    return [path for path in dict.fromkeys([*named, *own]) if path.is_file()]


def _key_lines(path: Path) -> list[str]:
    """What a key file says, a line a setting; nothing if it says nothing."""
    found = [f"    {name}: {_short(value)}" for name, value in leaves(read_json(path)) if value != ""]
    more = [f"    and {len(found) - MOST_SETTINGS} more"] if len(found) > MOST_SETTINGS else []
    return [f"  key {path}", *found[:MOST_SETTINGS], *more] if found else []


def _short(value: Any) -> str:
    text = plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
