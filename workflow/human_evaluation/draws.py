"""Sort names in random order by a seed."""

from collections.abc import Iterable

from reprise.core.files import text_digest


def rank(seed: int, *names: str) -> str:
    """Return the sort key of a name in the random order of a seed. It does not depend on other names."""
    return text_digest("\n".join((str(seed), *names)))


def shuffled(names: Iterable[str], seed: int) -> list[str]:
    return sorted(names, key=lambda name: rank(seed, name))
