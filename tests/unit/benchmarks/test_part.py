"""A part of a benchmark: as many units as are named, of every kind its share, and a larger part holds a smaller one."""

from collections import Counter
from itertools import pairwise

import polars as pl
from reprise.benchmarks.part import units_of_part

KINDS = {"action": 60, "object": 30, "viewpoint": 10}
# A unit has one clip and two items, of a task each; what its kind is, all its items say.
ITEMS = pl.DataFrame(
    [
        {"clip_id": f"{kind}{number}.all", "task": f"task{part}", "groups": [kind, *(["odd"] if part else [])]}
        for kind, count in KINDS.items()
        for number in range(count)
        for part in (0, 1)
    ]
)


def part(items: pl.DataFrame, count: int) -> list[str]:
    clips = items.select("clip_id", unit=pl.col("clip_id").str.strip_suffix(".all")).unique()
    return units_of_part(items, clips, count)


def test_every_kind_has_its_share_and_a_larger_part_holds_a_smaller_one() -> None:
    parts = [part(ITEMS, count) for count in range(1, 101)]
    assert [len(units) for units in parts] == list(range(1, 101))
    for count in (10, 20, 50, 100):
        found = Counter(unit.rstrip("0123456789") for unit in parts[count - 1])
        assert all(abs(found[kind] - share * count / 100) <= 1 for kind, share in KINDS.items())
    assert all(set(small) < set(large) for small, large in pairwise(parts))
    assert part(ITEMS, 1000) == parts[99]
    assert part(ITEMS.reverse(), 10) == parts[9] != sorted(parts[99])[:10], "it is drawn, the same everywhere"


def test_units_without_a_kind_in_common_are_drawn_all_the_same() -> None:
    each = pl.DataFrame({"clip_id": ["a.all", "b.all", "c.all"], "task": ["x", "y", "z"], "groups": [[], ["g"], []]})
    assert len(part(each, 2)) == 2
