"""What answers are worth: the metrics of a form of question, and the groups that they are given for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from reprise.benchmarks.rows import is_in
from reprise.stats.measures import Measure, Resampling, measure, ones

Convention: TypeAlias = Literal["fixed", "authors"]
"""What is done with answers that failed or could not be read: `fixed` counts them as wrong, `authors` does what the
benchmark's own script does."""

Groups: TypeAlias = Mapping[str, pl.Expr]
"""Group that a metric may be given for -> which items are in it."""


def no_outcomes(items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Nothing that two models could be compared by."""
    return {}


@dataclass(frozen=True)
class Scores:
    """What the answers to one form of question are worth."""

    metrics: frozenset[str]
    measure: Callable[[pl.DataFrame, pl.DataFrame, Resampling, Convention], list[Measure]]
    """items (without their texts) and verdicts, one a request that was asked -> every metric of every group"""
    outcomes: Callable[[pl.DataFrame, pl.DataFrame], dict[str, pl.DataFrame]] = no_outcomes
    """the same -> metric -> one row a sample (item_id, unit, task, right), to compare two models sample by sample"""


def in_group(items: pl.DataFrame, group: str, groups: Groups) -> pl.DataFrame:
    """The items of a group; one that only the data name has its members' word for it."""
    return items.filter(groups.get(group, is_in(group)))


def share_right(metric: str, groups: Groups) -> Scores:
    """The share of items answered right, for a form that asks one question an item.

    Failed and unread answers are wrong by both conventions.
    """

    def answered(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
        found = verdicts.select("item_id", "right", "failed", "unparsed")
        return items.join(found, on="item_id", how="inner", maintain_order="left")

    def measures(
        items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, convention: Convention
    ) -> list[Measure]:
        rows = answered(items, verdicts)
        members = {group: rows.filter(is_member) for group, is_member in groups.items()}
        return [
            measure(metric, group, inside, [(inside["right"], ones(inside))], resampling)
            for group, inside in members.items()
        ]

    def outcomes(items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
        return {metric: answered(items, verdicts).select("item_id", "unit", "task", "right")}

    return Scores(frozenset({metric}), measures, outcomes)
