"""Build the leaderboard: the headline score of each model on each benchmark, measured here or published.

A benchmark has one column for all its items, and another one for its subset if a paper or a run uses it. Neither
baselines nor human annotators compete for the best number of a column.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from reprise.benchmarks.headline import is_above_chance
from reprise.config.benchmark import SUBSET
from reprise.core.notation import format_share
from reprise.figures.styles import ModelStyle
from reprise.report.keys import Headline, ReportedBenchmark, ReportKey, model_page
from reprise.report.leaderboard_entries import Entry, Sources, collect_entries, name_entries
from reprise.stats.beta import ALPHA
from reprise.stats.paired import PairedComparison
from reprise.tables.builder import NumberLink

HUMANS = "humans"  # slug of the human annotators
PairedComparisons = Mapping[tuple[str, str], PairedComparison]
"""Two runs -> the difference of the first and the second by the headline metric, in points."""
Kind = Literal["model", "human", "baseline"]


@dataclass
class Cell:
    """The number of a model on a benchmark."""

    value: float
    low: float | None = None
    high: float | None = None
    published: float | None = None  # the paper's number, which is the value if there is no measured one
    run: str = ""  # the run and its judge; empty for a published number
    link: str = ""  # address of the number's items
    condition: str = ""  # protocol and sampling of a run, if a reader would expect others
    samples: int | None = None  # number of samples of a measured number
    chance: float | None = None  # chance level of the number's protocol
    is_above_chance: bool | None = None  # None if it cannot be tested
    is_best_measured: bool = False
    is_best_published: bool = False
    is_tied: bool = False  # not distinguishable from the best measured number
    is_broken: bool = False  # whether the run looks broken, so that it does not compete
    rank: str = ""  # place among the models of the column, such as `3 of 40`


@dataclass
class LeaderboardRow:
    """A model, or a variant of it such as with chain of thought."""

    key: str
    label: str
    model: str  # slug; empty for a row with published numbers only
    kind: Kind
    page: str  # page of the model; empty without a run
    is_variant: bool = False  # whether the model has another row with its main numbers
    style: ModelStyle | None = None  # colour and marker of a model in figures; other rows are grey
    is_pinned: bool = False
    cells: dict[str, Cell] = field(default_factory=dict)
    """name of a column -> number"""


class LeaderboardColumn(NamedTuple):
    """The headline metric of a benchmark over all its items or over its subset."""

    name: str
    benchmark: ReportedBenchmark
    headline: Headline
    is_subset: bool
    chance: float | None
    samples: str  # number of samples; empty if it is unknown

    @property
    def title(self) -> str:
        """Return the name of the benchmark, and whether the numbers are those of its subset."""
        return f"{self.benchmark.title} subset" if self.is_subset else self.benchmark.title

    def percent(self, value: float) -> float:
        """Return the position of a value in percent of the scale."""
        return round(100 * min(1.0, max(0.0, value / self.benchmark.scale)), 2)


class Leaderboard(NamedTuple):
    """All models and benchmarks with a number."""

    columns: list[LeaderboardColumn]
    rows: list[LeaderboardRow]

    @property
    def has_measured(self) -> bool:
        """Return whether a number was measured here."""
        return any(cell.run for row in self.rows for cell in row.cells.values())


def build_leaderboard(
    key: ReportKey, sources: Iterable[Sources], link: NumberLink, comparisons: PairedComparisons
) -> Leaderboard:
    """Return the leaderboard: models of the overview that were run first, then its others, then the papers' rows."""
    rows: dict[str, LeaderboardRow] = {}
    columns = []
    for benchmark_sources in sources:
        for column in _add_columns(key, benchmark_sources, link, rows):
            _mark_best(column, rows.values(), comparisons)
            columns.append(column)
    order = {model: index for index, model in enumerate(key.overview_models)}
    for row in rows.values():
        row.is_pinned = row.key in order and row.kind == "model" and any(cell.run for cell in row.cells.values())
    ordered = sorted(rows.values(), key=lambda row: (not row.is_pinned, order.get(row.key, len(order))))
    return Leaderboard(columns, ordered)


def _add_columns(
    key: ReportKey, sources: Sources, link: NumberLink, rows: dict[str, LeaderboardRow]
) -> Iterator[LeaderboardColumn]:
    """Yield the columns of a benchmark that have numbers, and add these to the rows."""
    benchmark, headline = sources.benchmark, sources.headline
    entries = collect_entries(sources)
    for is_subset in (False, True):
        members = [entry for entry in entries if entry.is_subset == is_subset]
        if not members:
            continue
        name = f"{benchmark.name}-{SUBSET}" if is_subset else benchmark.name
        cells = []
        for subject, subject_entries in _group_by_subject(members).items():
            model_label = key.models[subject].label if subject in key.models else subject
            for label, entry in name_entries(subject_entries, model_label, benchmark):
                row_key = subject if entry is subject_entries[0] else f"{subject}/{label}"
                row = rows.setdefault(row_key, _make_row(row_key, label, entry.model, key))
                row.cells[name] = _make_cell(entry, sources, link)
                cells.append(row.cells[name])
        count = max(benchmark.sample_counts.get(entry.protocol, 0) for entry in members)
        samples = _describe_samples(cells, count, sources.sample_noun)
        yield LeaderboardColumn(name, benchmark, headline, is_subset, sources.find_chance(headline.protocol), samples)


def _group_by_subject(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return the entries of each model; a row without a model is by itself."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.model or entry.name, []).append(entry)
    return groups


def _make_row(row_key: str, label: str, model: str, key: ReportKey) -> LeaderboardRow:
    is_reference = model in key.models and key.models[model].reference
    kind: Kind = "human" if model == HUMANS else "baseline" if is_reference else "model"
    is_variant = row_key not in (model, label)
    style = key.models[model].style if kind == "model" and not is_variant and model in key.models else None
    has_page = any(run.scored.run.model == model for run in key.runs())
    return LeaderboardRow(
        row_key, label, model, kind, model_page(model) if has_page else "", is_variant=is_variant, style=style
    )


def _make_cell(entry: Entry, sources: Sources, link: NumberLink) -> Cell:
    """Return the cell of an entry: its measured number, or else its published one."""
    chance = sources.find_chance(entry.protocol or sources.headline.protocol)
    if entry.run is None:
        value = float(entry.published or 0)
        # A published number has no interval and cannot be tested, but it can be at or below chance.
        is_at_chance = chance is not None and value <= chance
        return Cell(value, published=value, chance=chance, is_above_chance=False if is_at_chance else None)
    scored = entry.run.scored
    row = sources.numbers[scored.name]
    return Cell(
        row["value"],
        row["low"],
        row["high"],
        published=entry.published,
        run=scored.name,
        link=link(scored.name, row["metric"], row["group"]),
        condition=entry.run.title if entry.needs_condition else "",
        samples=row["requested"],
        chance=chance,
        is_above_chance=is_above_chance(chance, row["low"], row["p_chance"]),
        is_broken=scored.name in sources.broken_runs,
    )


def _describe_samples(cells: Sequence[Cell], release_count: int, noun: str) -> str:
    """Return the number of samples of a column's measured numbers, and that of the release for published numbers."""
    counts = sorted({cell.samples for cell in cells if cell.samples is not None})
    range_text = " to ".join(f"{count:,}" for count in dict.fromkeys([*counts[:1], *counts[-1:]]))
    measured = [f"{range_text} {noun}".rstrip()] if counts else []
    has_published = any(not cell.run for cell in cells)
    is_new = release_count > 0 and counts != [release_count]
    return ", ".join([*measured, *([f"{release_count:,} in the release"] if has_published and is_new else [])])


def _mark_best(column: LeaderboardColumn, rows: Iterable[LeaderboardRow], comparisons: PairedComparisons) -> None:
    """Rank the models of a column; mark the best measured and published ones, and those tied with the best measured."""
    all_cells = [row.cells[column.name] for row in rows if row.kind == "model" and column.name in row.cells]
    cells = [cell for cell in all_cells if not cell.is_broken]
    highest_published = max((cell.published for cell in cells if cell.published is not None), default=None)
    for cell in cells:
        cell.is_best_published = cell.published is not None and cell.published == highest_published
        cell.rank = format_share(1 + sum(other.value > cell.value for other in cells), len(cells))
    measured = [cell for cell in cells if cell.run]
    if measured:
        best = max(measured, key=lambda cell: cell.value)
        for cell in measured:
            cell.is_best_measured = cell.value == best.value
            cell.is_tied = not cell.is_best_measured and not is_distinguishable(best, cell, comparisons)


def is_distinguishable(best: Cell, cell: Cell, comparisons: PairedComparisons) -> bool:
    """Return whether two measured numbers differ.

    Runs with the same protocol and sampling are compared sample by sample, others by their intervals.
    """
    comparison = comparisons.get((best.run, cell.run))
    if comparison is not None:
        return comparison.p < ALPHA
    interval = combine_intervals(best, cell)
    return interval is not None and interval[0] > 0


def combine_intervals(first: Cell, second: Cell) -> tuple[float, float] | None:
    """Return the interval of the difference of two numbers as if they were independent (MOVER; Zou and Donner, 2008).

    It is None if one of them has no interval.
    """
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return None
    difference = first.value - second.value
    low = difference - math.hypot(first.value - first.low, second.high - second.value)
    return low, difference + math.hypot(first.high - first.value, second.value - second.low)
