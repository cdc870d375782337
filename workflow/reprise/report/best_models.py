"""Summarize the leaderboard for the first page: the best models of each benchmark, by how much, and how sure."""

from collections.abc import Sequence
from typing import NamedTuple

from reprise.core.notation import NO_BREAK, describe_p, format_interval, format_value
from reprise.report.leaderboard import (
    Cell,
    Leaderboard,
    LeaderboardColumn,
    LeaderboardRow,
    PairedComparisons,
    combine_intervals,
    is_distinguishable,
)

MAX_ENTRIES = 6  # models in a chart; the leaderboard has all models
MAX_NAMES = 3  # models in a sentence
Numbers = list[tuple[LeaderboardRow, Cell]]
"""Models with their numbers in one column, the best first."""


class BestModel(NamedTuple):
    """The best measured or the best published model of a benchmark."""

    row: LeaderboardRow
    cell: Cell
    value: float
    lead: str  # a sentence about its lead over the second


class Ranking(NamedTuple):
    """The best models of a benchmark, and the models of its chart."""

    column: LeaderboardColumn
    measured: BestModel | None
    published: BestModel | None
    entries: Numbers
    model_count: int  # number of models, variants and baselines in the leaderboard
    subset: "Ranking | None" = None  # the same for the subset

    @property
    def has_model(self) -> bool:
        """Return whether a model has a number, not only baselines."""
        return self.measured is not None or self.published is not None


def build_rankings(leaderboard: Leaderboard, comparisons: PairedComparisons) -> list[Ranking]:
    """Return a ranking for each benchmark of the leaderboard.

    It is about all items if a model has such a number, and otherwise about the subset.
    """
    rankings: dict[str, Ranking] = {}
    for column in leaderboard.columns:
        ranking = _rank_models(column, leaderboard.rows, comparisons)
        full_ranking = rankings.get(column.benchmark.name)
        if full_ranking is not None and (full_ranking.has_model or not ranking.has_model):
            ranking = full_ranking._replace(subset=ranking)
        rankings[column.benchmark.name] = ranking
    return list(rankings.values())


def _rank_models(column: LeaderboardColumn, rows: Sequence[LeaderboardRow], comparisons: PairedComparisons) -> Ranking:
    numbers = [(row, row.cells[column.name]) for row in rows if column.name in row.cells]
    numbers.sort(key=lambda number: -number[1].value)
    models = [number for number in numbers if number[0].kind == "model" and not number[1].is_broken]
    published = [number for number in models if number[1].published is not None]
    published.sort(key=lambda number: -(number[1].published or 0))
    measured = [number for number in models if number[1].run]
    return Ranking(
        column,
        _describe_best_measured(measured, column, comparisons) if measured else None,
        _describe_best_published(published, column) if published else None,
        _select_entries(numbers, _drop_variants(measured), _drop_variants(published)),
        len(numbers),
    )


def _select_entries(numbers: Numbers, measured: Numbers, published: Numbers) -> Numbers:
    """Return the models of a chart, the best first.

    It always has the models that the text compares, a pinned model, and the best human result. Other models, variants
    and then baselines fill places that are left.
    """
    humans = [number for number in numbers if number[0].kind == "human"][:1]
    pinned = [number for number in numbers if number[0].is_pinned][:1]
    compared = [*measured[:2], *published[:2], *pinned]
    by_kind = sorted(numbers, key=lambda number: (number[0].kind != "model", number[0].is_variant))
    candidates = [*compared, *humans, *(number for number in by_kind if number[0].kind != "human")]
    keys = list(dict.fromkeys(row.key for row, _ in candidates))[:MAX_ENTRIES]
    return [number for number in numbers if number[0].key in keys]


def _drop_variants(models: Numbers) -> Numbers:
    """Return the numbers without variants of the first model, such as with chain of thought."""
    first_model = models[0][0].model if models else ""
    return [*models[:1], *(number for number in models[1:] if not first_model or number[0].model != first_model)]


def _describe_best_measured(measured: Numbers, column: LeaderboardColumn, comparisons: PairedComparisons) -> BestModel:
    """Return the best measured model with its lead over the second model, and whether the lead is significant."""
    (row, cell), *others = _drop_variants(measured)
    if not others:
        return BestModel(row, cell, cell.value, "No other model has a usable number here.")
    second_row, second = others[0]
    decimals = column.headline.decimals
    comparison = comparisons.get((cell.run, second.run))
    if comparison is not None:
        test = f", {describe_p(comparison.p).replace(' ', NO_BREAK)}"
        difference, low, high = comparison.difference, comparison.low, comparison.high
    else:  # The runs have different protocols or samplings.
        test = ", by the intervals of both"
        difference, (low, high) = cell.value - second.value, combine_intervals(cell, second) or (None, None)
    interval = f" {format_interval(low, high, decimals)}".rstrip()
    lead = f"{format_value(difference, decimals)}{interval} above {_name_second(measured, second_row)}{test}"
    tied = [other_row.label for other_row, other in others[1:] if other.is_tied]
    if is_distinguishable(cell, second, comparisons):
        verdict = f"a significant lead over it, but not over {_join_names(tied)}" if tied else "a significant lead"
    else:
        verdict = f"no significant lead over {_join_names(['it', *tied])}" if tied else "no significant lead"
    tied_variants = [other.label for other, number in measured if number.is_tied and other.model == row.model]
    variants = f" Tied with {_join_names(tied_variants)}, the same model." if row.model and tied_variants else ""
    guessing = " Not significantly above chance." if cell.is_above_chance is False else ""
    return BestModel(row, cell, cell.value, f"{lead}: {verdict}.{variants}{guessing}")


def _name_second(models: Numbers, second: LeaderboardRow) -> str:
    """Return the name of the second model; say that it is one if variants of the best model come before it."""
    return second.label if models[1][0] is second else f"{second.label}, the best other model"


def _join_names(names: Sequence[str]) -> str:
    """Return names for a sentence, such as `A, B and 2 more`."""
    *first, last = [*names[:MAX_NAMES], f"{len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else names
    return f"{', '.join(first)} and {last}" if first else last


def _describe_best_published(published: Numbers, column: LeaderboardColumn) -> BestModel:
    """Return the best published model with its lead over the second model."""
    (row, cell), *others = _drop_variants(published)
    value = cell.published or 0.0
    if not others:
        return BestModel(row, cell, value, "The only published model.")
    second_row, second = others[0]
    difference = value - (second.published or 0.0)
    name = _name_second(published, second_row)
    lead = f"{format_value(difference, column.headline.decimals)} above {name}, untested."
    return BestModel(row, cell, value, lead)
