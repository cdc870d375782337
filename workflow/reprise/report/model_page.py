"""Collect the content of a model's page: its numbers in the leaderboard, and its runs in the order of their weight."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reprise.report.keys import ReportedRun
from reprise.report.leaderboard import Cell, Leaderboard, LeaderboardColumn, LeaderboardRow


class LeadingScore(NamedTuple):
    """The number of a model in a column of the leaderboard, which one of its runs measured."""

    row: LeaderboardRow
    column: LeaderboardColumn
    cell: Cell


def list_scores(leaderboard: Leaderboard, model: str) -> list[LeadingScore]:
    """Return the measured numbers in the model's row of the leaderboard; rows of its variants do not count."""
    return [
        LeadingScore(row, column, row.cells[column.name])
        for row in leaderboard.rows
        for column in leaderboard.columns
        if row.key == model and column.name in row.cells and row.cells[column.name].run
    ]


def describe_places(leaderboard: Leaderboard) -> dict[str, str]:
    """Return where the leaderboard shows each run. For each model, the runs of its own row come first."""
    title_by_column = {
        column.name: "in the leaderboard, subset" if column.is_subset else "in the leaderboard"
        for column in leaderboard.columns
    }
    places: dict[str, str] = {}
    for row in sorted(leaderboard.rows, key=lambda row: row.is_variant):
        variant = f" as {row.label}" if row.is_variant else ""
        for column, title in title_by_column.items():
            if column in row.cells and (run := row.cells[column].run):
                places.setdefault(run, f"{title}{variant}")
    return places


def order_runs(runs: Iterable[ReportedRun], places: Mapping[str, str]) -> list[ReportedRun]:
    """Return the runs that the leaderboard shows first, in the order of `places`, then the others."""
    order = {name: index for index, name in enumerate(places)}
    return sorted(runs, key=lambda run: order.get(run.scored.name, len(order)))
