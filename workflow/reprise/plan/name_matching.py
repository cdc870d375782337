"""Match an abbreviated name such as `mc/oracle` to full names such as `velociti/mc/fps1/oracle`."""

from collections.abc import Callable, Iterable, Sequence
from operator import contains, eq

from reprise.core.errors import suggest_name

# How a part of a query may match a part of a name; a later way is tried only if no name matches by the earlier ones.
MATCH_LEVELS: tuple[Callable[[str, str], bool], ...] = (eq, str.startswith, contains)
MAX_LISTED = 10  # names in a message


def match_names(query: str, names: Iterable[str]) -> list[str]:
    """Return the names that a query matches.

    Names have parts separated by `/`. If a name equals the query, it is the only match. Otherwise, a name with more
    parts than the query matches if it contains the query's parts in the same order. Parts are compared for equality. If
    no name matches, a part of the query may be a prefix of a part of the name, and at last a substring.
    """
    sorted_names = sorted(names)
    if query in sorted_names:
        return [query]
    parts = [part for part in query.split("/") if part]
    if not parts:
        return []
    longer_names = [name for name in sorted_names if name.count("/") >= len(parts)]
    for is_match in MATCH_LEVELS:
        if matches := [name for name in longer_names if _has_parts(name.split("/"), parts, is_match)]:
            return matches
    return []


def _has_parts(name_parts: Sequence[str], query_parts: Sequence[str], is_match: Callable[[str, str], bool]) -> bool:
    """Return whether a name has parts that match the query's parts in the same order."""
    # `any` consumes the iterator up to the first match, so the next query part must match a later part of the name.
    unmatched_parts = iter(name_parts)
    return all(any(is_match(name_part, query_part) for name_part in unmatched_parts) for query_part in query_parts)


def suggest_closest(query: str, names: Iterable[str]) -> str:
    """Return a hint such as ` Did you mean 'x'?` with the closest name, or else the closest part of a name."""
    sorted_names = sorted(names)
    return suggest_name(query, sorted_names) or suggest_name(
        query, {part for name in sorted_names for part in name.split("/")}
    )


def format_list(names: Sequence[str]) -> str:
    """Return the first names joined by commas, followed by the total if the list is truncated."""
    return ", ".join(names[:MAX_LISTED]) + (f", ... ({len(names)} in all)" if names[MAX_LISTED:] else "")
