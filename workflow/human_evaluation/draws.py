"""Seeded orders of names."""

from collections.abc import Iterable

from reprise.core.files import text_digest


def rank(seed: int, *names: str) -> str:
    """Return a sort key that places a name in a seeded order, independent of other names."""
    return text_digest("\n".join((str(seed), *names)))


def shuffled(names: Iterable[str], seed: int) -> list[str]:
    return sorted(names, key=lambda name: rank(seed, name))
