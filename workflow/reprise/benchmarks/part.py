"""A part of a benchmark: some of its units with all that is asked about them, the same kinds in it as in the whole."""

from collections import defaultdict
from hashlib import sha256

import polars as pl

Kind = tuple[tuple[str, ...], tuple[str, ...]]


def units_of_part(items: pl.DataFrame, clips: pl.DataFrame, count: int) -> list[str]:
    """So many units of clips, drawn evenly over their kinds; a larger part holds a smaller one.

    A kind is the tasks of a unit, and the groups that all its items belong to. The units of each kind stand in an order
    that is drawn, evenly on a line from 0 to 1, and those that stand first are taken.
    """
    kinds = defaultdict[Kind, list[str]](list)
    asked = items.select("clip_id", "task", "groups").join(clips.select("clip_id", "unit"), on="clip_id")
    for unit, tasks, groups in asked.group_by("unit", maintain_order=True).agg("task", "groups").iter_rows():
        kinds[tuple(sorted(set(tasks))), tuple(sorted(set.intersection(*map(set, groups))))].append(unit)
    places = {
        unit: ((rank + _drawn(str(kind))) / len(units), unit)
        for kind, units in kinds.items()
        for rank, unit in enumerate(sorted(units, key=_drawn))
    }
    return sorted(sorted(places, key=places.__getitem__)[:count])


def _drawn(name: str) -> float:
    """A number from 0 to 1, the same on every machine."""
    return int(sha256(name.encode()).hexdigest()[:13], 16) / 16**13
