"""How answers are scored: the metrics of a form of question, and the groups that they are computed for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

from reprise.benchmarks.rows import is_in
from reprise.stats.measures import Measure, measure, ones

Convention: TypeAlias = Literal["fixed", "authors"]
"""What is done with answers that failed or could not be read: `fixed` counts them as wrong, `authors` does what the
benchmark's own script does."""

Groups: TypeAlias = Mapping[str, pl.Expr]
"""Group -> which items are in it."""


class Answered(NamedTuple):
    """What a model answered to a protocol's questions."""

    items: pl.DataFrame
    """those that the protocol asks about, without their texts"""
    verdicts: pl.DataFrame
    """one row per request that was asked"""
    convention: Convention = "fixed"


@dataclass(frozen=True)
class Scores:
    """How the answers to one form of question are scored."""

    metrics: frozenset[str]
    measure: Callable[[Answered, float], list[Measure]]
    """every metric of every group"""
    outcomes: Callable[[Answered], dict[str, pl.DataFrame]] = field(default=lambda answered: {})
    """metric -> one row per sample (item_id, unit, task, right), to compare two models sample by sample"""
    headline: str = ""
    """the metric of `outcomes` that the benchmark's tables lead with"""
    averaged: tuple[str, ...] = ()
    """the tasks whose mean that number is; without any it is that of all samples"""
    best: float = 100
    """the score where `right` is 1 throughout"""
    guessed: Mapping[str, float] = field(default_factory=dict)
    """metric -> what random answers to this form reach, in percent, where CHANCE is something else"""


def in_group(items: pl.DataFrame, group: str, groups: Groups) -> pl.DataFrame:
    """The items of a group; if `groups` does not define it, those items that name it."""
    return items.filter(groups.get(group, is_in(group)))


def share_right(metric: str, groups: Groups) -> Scores:
    """The share of items answered right, for a form that asks one question per item.

    Failed and unread answers are wrong by both conventions.
    """

    def rows_of(answered: Answered) -> pl.DataFrame:
        found = answered.verdicts.select("item_id", "right", "failed", "unparsed")
        return answered.items.join(found, on="item_id", how="inner", maintain_order="left")

    def measures(answered: Answered, level: float) -> list[Measure]:
        members = {group: rows_of(answered).filter(is_member) for group, is_member in groups.items()}
        return [measure(metric, group, rows, [(rows["right"], ones(rows))], level) for group, rows in members.items()]

    def outcomes(answered: Answered) -> dict[str, pl.DataFrame]:
        return {metric: rows_of(answered).select("item_id", "unit", "task", "right")}

    return Scores(frozenset({metric}), measures, outcomes, headline=metric)
