"""Select a stratified part of a benchmark: whole units, with the same mix of kinds as in the full benchmark."""

from collections import defaultdict
from hashlib import sha256

import polars as pl

Kind = tuple[tuple[str, ...], tuple[str, ...]]


def units_of_part(items: pl.DataFrame, clips: pl.DataFrame, count: int) -> list[str]:
    """Return the ids of `count` units, sampled evenly over their kinds.

    A unit's kind is the set of its tasks and of the groups that all of its items share. The units of each kind get
    evenly spaced positions from 0 to 1 in a pseudo-random order, and the units with the lowest positions are selected.
    A larger part therefore contains every smaller one.
    """
    units_by_kind = defaultdict[Kind, list[str]](list)
    rows = items.select("clip_id", "task", "groups").join(clips.select("clip_id", "unit"), on="clip_id")
    for unit, tasks, groups in rows.group_by("unit", maintain_order=True).agg("task", "groups").iter_rows():
        units_by_kind[tuple(sorted(set(tasks))), tuple(sorted(set.intersection(*map(set, groups))))].append(unit)
    positions = {
        unit: ((rank + _hash_fraction(str(kind))) / len(units), unit)
        for kind, units in units_by_kind.items()
        for rank, unit in enumerate(sorted(units, key=_hash_fraction))
    }
    return sorted(sorted(positions, key=positions.__getitem__)[:count])


def _hash_fraction(name: str) -> float:
    """Return a pseudo-random number from 0 to 1 that depends on the name only, not on the machine."""
    return int(sha256(name.encode()).hexdigest()[:13], 16) / 16**13
