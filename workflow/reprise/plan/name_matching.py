"""Match an abbreviated name such as `mc/oracle` to full names such as `velociti/mc/fps1/oracle`."""

from collections.abc import Callable, Iterable, Sequence
from operator import contains, eq

from reprise.core.errors import suggest_name

MATCH_LEVELS: tuple[Callable[[str, str], bool], ...] = (eq, str.startswith, contains)
MAX_LISTED = 10


def match_names(query: str, names: Iterable[str]) -> list[str]:
    """Return the names that a query matches.

    An exact match comes first. Otherwise a longer name matches if it has the query's parts in the same order: as equal
    parts, else as prefixes, else as substrings. A query with as many parts as a name must equal that name.
    """
    sorted_names = sorted(names)
    if query in sorted_names:
        return [query]
    parts = [part for part in query.split("/") if part]
    longer = [name for name in sorted_names if name.count("/") >= len(parts)]
    matches = ([name for name in longer if _has_parts(name.split("/"), parts, is_part)] for is_part in MATCH_LEVELS)
    return next(filter(None, matches), []) if parts else []


def _has_parts(name_parts: Sequence[str], parts: Sequence[str], is_part: Callable[[str, str], bool]) -> bool:
    remaining = iter(name_parts)
    return all(any(is_part(name_part, part) for name_part in remaining) for part in parts)


def suggest_closest(query: str, names: Iterable[str]) -> str:
    """Return a hint such as ` Did you mean 'x'?` with the closest full name, or else the closest part of a name."""
    sorted_names = sorted(names)
    return suggest_name(query, sorted_names) or suggest_name(
        query, {part for name in sorted_names for part in name.split("/")}
    )


def format_list(names: Sequence[str]) -> str:
    """Return the first names joined by commas, followed by the total if the list is cut."""
    return ", ".join(names[:MAX_LISTED]) + (f", ... ({len(names)} in all)" if names[MAX_LISTED:] else "")
