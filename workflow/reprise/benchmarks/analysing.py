"""Groups of items that no release names: by what is counted in their texts, or measured of their clips."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from reprise.benchmarks.rows import Item, items_of

Facts: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Clip -> what was measured of it; empty where nothing was."""


class Range(NamedTuple):
    """A group of the items whose number is above `above` and at most `most`."""

    group: str
    above: float
    most: float = float("inf")


@dataclass(frozen=True)
class Analyses:
    """The groups of a benchmark's analyses."""

    groups: frozenset[str]
    of_items: Callable[[Sequence[Item], Facts], Mapping[str, Sequence[str]]] | None = None
    """items and facts -> the groups of each item by its id; None where the items' own columns say it"""
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
    if analyses.of_items is None:
        return items.drop("texts", strict=False)
    of_clips = {} if facts is None else {row["clip_id"]: row for row in facts.iter_rows(named=True)}
    found = analyses.of_items(items_of(items), of_clips)
    more = pl.Series([list(found.get(item_id, ())) for item_id in items["item_id"]], dtype=pl.List(pl.String))
    return items.drop("texts").with_columns(groups=pl.col("groups").list.concat(more))
