"""Sort names in random order by a seed."""

from collections.abc import Iterable

from reprise.core.files import text_digest


def seeded_digest(seed: int, *names: str) -> str:
    """Return a digest of a seed and names. As a sort key of a row, it depends on no other row."""
    return text_digest("\n".join((str(seed), *names)))


def shuffled(names: Iterable[str], seed: int) -> list[str]:
    return sorted(names, key=lambda name: seeded_digest(seed, name))
