"""Finds what a person means by a part of a name: `mc/oracle` for velociti/mc/fps1/oracle."""

from collections.abc import Callable, Iterable, Sequence
from operator import contains, eq

from reprise.core.errors import suggestion

LEVELS: tuple[Callable[[str, str], bool], ...] = (eq, str.startswith, contains)
MOST_LISTED = 10


def fitting(words: str, names: Iterable[str]) -> list[str]:
    """The name itself, else all longer names with these parts in this order: as they are, as beginnings, or anywhere.

    Words with as many parts as a name are a whole name: where they differ from it, they are a mistake, and not a part.
    """
    known = sorted(names)
    if words in known:
        return [words]
    parts = [part for part in words.split("/") if part]
    longer = [name for name in known if name.count("/") >= len(parts)]
    found = ([name for name in longer if _has_parts(name.split("/"), parts, is_part)] for is_part in LEVELS)
    return next(filter(None, found), []) if parts else []


def _has_parts(name: Sequence[str], parts: Sequence[str], is_part: Callable[[str, str], bool]) -> bool:
    rest = iter(name)
    return all(any(is_part(one, part) for one in rest) for part in parts)


def nearest(words: str, names: Iterable[str]) -> str:
    """` Did you mean 'x'?`: a whole name, or a part of one where only a part was typed."""
    known = sorted(names)
    return suggestion(words, known) or suggestion(words, {part for name in known for part in name.split("/")})


def listed(names: Sequence[str]) -> str:
    """The first of these names, and how many there are."""
    return ", ".join(names[:MOST_LISTED]) + (f", ... ({len(names)} in all)" if names[MOST_LISTED:] else "")
