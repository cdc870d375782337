"""A part of a benchmark: as many units as are named, of every kind its share, and a larger part holds a smaller one."""

from collections import Counter
from itertools import pairwise

import polars as pl
import pytest
from reprise.benchmarks.part import units_of_part


def part(items: pl.DataFrame, count: int) -> list[str]:
    """The part of a benchmark in which each unit has one clip, and items are clustered otherwise."""
    clips = items.select("clip_id", unit=pl.col("clip_id").str.strip_suffix(".all")).unique()
    return units_of_part(items, clips, count)


def items(kinds: dict[str, int]) -> pl.DataFrame:
    """Units of a benchmark: so many of each kind, two items of a task each."""
    return pl.DataFrame(
        [
            {
                "unit": "cluster",
                "clip_id": f"{kind}{number}.all",
                "task": f"task{part}",
                "groups": [kind, *(["odd"] if part else [])],
            }
            for kind, count in kinds.items()
            for number in range(count)
            for part in (0, 1)
        ]
    )


KINDS = {"action": 60, "object": 30, "viewpoint": 10}


@pytest.mark.parametrize(
    ("count", "shares"),
    [(10, (6, 3, 1)), (20, (12, 6, 2)), (50, (30, 15, 5)), (100, (60, 30, 10)), (1000, (60, 30, 10))],
)
def test_every_kind_has_its_share(count: int, shares: tuple[int, ...]) -> None:
    found = Counter(unit.rstrip("0123456789") for unit in part(items(KINDS), count))
    for kind, share in zip(KINDS, shares, strict=True):
        assert abs(found[kind] - share) <= 1
    assert sum(found.values()) == min(count, 100)


def test_a_larger_part_holds_a_smaller_one_and_each_is_drawn_the_same_everywhere() -> None:
    table = items(KINDS)
    parts = [part(table, count) for count in range(1, 101)]
    assert [len(part) for part in parts] == list(range(1, 101))
    assert all(set(small) < set(large) for small, large in pairwise(parts))
    assert part(table.reverse(), 10) == parts[9]
    assert parts[9] != sorted(table["clip_id"].str.strip_suffix(".all").unique())[:10], "it is drawn"


def test_units_without_a_kind_in_common_are_drawn_all_the_same() -> None:
    each = pl.DataFrame({"clip_id": ["a.all", "b.all", "c.all"], "task": ["x", "y", "z"], "groups": [[], ["g"], []]})
    assert len(part(each, 2)) == 2
