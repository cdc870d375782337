"""Draws that stay the same whatever the order of the rows: by digests of a seed and a name."""

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def rank(seed: int, *names: str) -> str:
    """The place of a name in a seeded order."""
    return hashlib.sha256("\n".join((str(seed), *names)).encode()).hexdigest()


def first_of_each(rows: Iterable[T], group: Any, name: Any, count: int | None, seed: int) -> set[Hashable]:
    """The names of the rows that a seeded draw takes from each group, at most `count`; all without a number."""
    groups: dict[Hashable, list[str]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(name(row))
    return {one for names in groups.values() for one in sorted(names, key=lambda n: rank(seed, n))[:count]}


def shuffled(names: Sequence[str], seed: int) -> list[str]:
    """The names in a seeded order."""
    return sorted(names, key=lambda name: rank(seed, name))
