"""How answers are scored: the metrics of a form of question, and the groups of items that they are computed for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from reprise.benchmarks.rows import Item, is_in, items_of
from reprise.stats.measures import Measure, measure, ones

Convention: TypeAlias = Literal["fixed", "authors"]
"""What is done with answers that failed or could not be read: `fixed` counts them as wrong, `authors` does what the
benchmark's own script does."""

SAMPLE = ("item_id", "unit", "task", "right")
"""what is known of a sample, to compare two models on it"""

Groups: TypeAlias = Mapping[str, pl.Expr]
"""Group -> which items are in it."""


class Answered(NamedTuple):
    items: pl.DataFrame
    """those that the protocol asks about, without their texts"""
    verdicts: pl.DataFrame
    """one row per request that was asked"""
    convention: Convention = "fixed"

    def rows(self) -> pl.DataFrame:
        """The items that were asked about, where each gives one request, with what was made of its answer."""
        found = self.verdicts.select("item_id", "value", "score", "right", "failed", "unparsed")
        return self.items.join(found, on="item_id", how="inner", maintain_order="left")


@dataclass(frozen=True)
class Scores:
    metrics: frozenset[str]
    measure: Callable[[Answered, float], list[Measure]]
    """every metric of every group"""
    outcomes: Callable[[Answered], dict[str, pl.DataFrame]] = field(default=lambda answered: {})
    """metric -> one row (`SAMPLE`) per sample, to compare two models sample by sample"""
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

    def measures(answered: Answered, level: float) -> list[Measure]:
        members = {group: answered.rows().filter(is_member) for group, is_member in groups.items()}
        return [measure(metric, group, rows, [(rows["right"], ones(rows))], level) for group, rows in members.items()]

    return Scores(frozenset({metric}), measures, lambda answered: {metric: answered.rows().select(SAMPLE)}, metric)


# Groups that no release names: by what is counted in their items' texts, or measured of their clips.

Facts: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Clip -> what was measured of it; empty where nothing was."""


class Range(NamedTuple):
    """A group of the items whose number is above `above` and at most `most`."""

    group: str
    above: float
    most: float = float("inf")


@dataclass(frozen=True)
class Analyses:
    groups: frozenset[str]
    of_items: Callable[[Sequence[Item], Facts], Mapping[str, Sequence[str]]]
    """items and facts -> the groups of each item by its id"""
    needs_facts: bool = False


def range_of(number: float | None, ranges: Sequence[Range]) -> Iterator[str]:
    """The range that a number is in; none for an unknown number."""
    if number is not None:
        yield from (one.group for one in ranges if one.above < number <= one.most)


def groups_there(items: pl.DataFrame, groups: Sequence[str]) -> list[str]:
    """Those groups of analyses that any item is in: without facts there are none that facts make."""
    there = set(items["groups"].explode().unique())
    return [group for group in groups if group in there]


def with_analysed_groups(items: pl.DataFrame, facts: pl.DataFrame | None, analyses: Analyses) -> pl.DataFrame:
    """Items, without their texts, that also name the groups of the analyses that they are in."""
    of_clips = {} if facts is None else {row["clip_id"]: row for row in facts.iter_rows(named=True)}
    found = analyses.of_items(items_of(items), of_clips)
    more = pl.Series([list(found.get(item_id, ())) for item_id in items["item_id"]], dtype=pl.List(pl.String))
    return items.drop("texts").with_columns(groups=pl.col("groups").list.concat(more))
