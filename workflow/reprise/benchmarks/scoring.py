"""Define how answers are scored: the metrics of a form of question, and the groups of items they are computed for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from reprise.benchmarks.rows import Item, is_in, items_of
from reprise.stats.measures import Measure, measure, ones

Convention: TypeAlias = Literal["fixed", "authors"]
"""How failed and unparsed answers count: `fixed` counts them as wrong, `authors` does what the benchmark's own script
does."""

SAMPLE = ("item_id", "unit", "task", "right")
"""columns of a sample's outcome, for comparing two models sample by sample"""

Groups: TypeAlias = Mapping[str, pl.Expr]
"""Group -> expression that selects its items."""


class Answered(NamedTuple):
    """The answers of one run to a protocol, ready for scoring."""

    items: pl.DataFrame
    """items that the protocol queries, without their texts"""
    verdicts: pl.DataFrame
    """one row per request that was queried"""
    convention: Convention = "fixed"

    def rows(self) -> pl.DataFrame:
        """Return the queried items joined with their verdicts, for forms with one request per item."""
        verdict_columns = self.verdicts.select("item_id", "value", "score", "right", "failed", "unparsed")
        return self.items.join(verdict_columns, on="item_id", how="inner", maintain_order="left")


@dataclass(frozen=True)
class Scores:
    """How the answers to one form of question are scored."""

    metrics: frozenset[str]
    measure: Callable[[Answered, float], list[Measure]]
    """answers and confidence level -> every metric of every group"""
    outcomes: Callable[[Answered], dict[str, pl.DataFrame]] = field(default=lambda answered: {})
    """metric -> one row (`SAMPLE`) per sample, to compare two models sample by sample"""
    headline: str = ""
    """the metric of `outcomes` that the benchmark's tables lead with"""
    averaged: tuple[str, ...] = ()
    """tasks whose mean the headline number is; if empty, it is the mean of all samples"""
    best: float = 100
    """score if `right` is 1 for every sample"""
    guessed: Mapping[str, float] = field(default_factory=dict)
    """metric -> score of random answers to this form, in percent, if it differs from CHANCE"""


def in_group(items: pl.DataFrame, group: str, groups: Groups) -> pl.DataFrame:
    """Return the items of a group: by its expression in `groups`, else those that name the group themselves."""
    return items.filter(groups.get(group, is_in(group)))


def share_right(metric: str, groups: Groups) -> Scores:
    """Return the scoring for a form with one question per item: the share of items answered right.

    Failed and unparsed answers are wrong under both conventions.
    """

    def compute_measures(answered: Answered, level: float) -> list[Measure]:
        members = {group: answered.rows().filter(is_member) for group, is_member in groups.items()}
        return [measure(metric, group, rows, [(rows["right"], ones(rows))], level) for group, rows in members.items()]

    return Scores(
        frozenset({metric}), compute_measures, lambda answered: {metric: answered.rows().select(SAMPLE)}, metric
    )


# Groups that no release names are derived from items' texts or from measurements of their clips.

Facts: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Clip -> its measured metadata; empty if nothing was measured."""


class Range(NamedTuple):
    """A group of the items whose number is above `above` and at most `most`."""

    group: str
    above: float
    most: float = float("inf")


@dataclass(frozen=True)
class Analyses:
    """The groups that a benchmark's analyses add to those of its release."""

    groups: frozenset[str]
    of_items: Callable[[Sequence[Item], Facts], Mapping[str, Sequence[str]]]
    """items and clip metadata -> item id -> groups of the item"""
    needs_facts: bool = False


def range_of(number: float | None, ranges: Sequence[Range]) -> Iterator[str]:
    """Yield the group of the range that contains a number; nothing for an unknown number."""
    if number is not None:
        yield from (range_.group for range_ in ranges if range_.above < number <= range_.most)


def groups_there(items: pl.DataFrame, groups: Sequence[str]) -> list[str]:
    """Return those groups that contain any item; without clip metadata, groups that depend on it are empty."""
    present_groups = set(items["groups"].explode().unique())
    return [group for group in groups if group in present_groups]


def with_analysed_groups(items: pl.DataFrame, facts: pl.DataFrame | None, analyses: Analyses) -> pl.DataFrame:
    """Drop the items' texts and add the groups of the analyses that each item belongs to."""
    facts_by_clip = {} if facts is None else {row["clip_id"]: row for row in facts.iter_rows(named=True)}
    groups_by_item = analyses.of_items(items_of(items), facts_by_clip)
    added_groups = pl.Series(
        [list(groups_by_item.get(item_id, ())) for item_id in items["item_id"]], dtype=pl.List(pl.String)
    )
    return items.drop("texts").with_columns(groups=pl.col("groups").list.concat(added_groups))
