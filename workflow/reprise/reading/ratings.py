"""A judge's reply as a rating: from 0 to 3 `authors` as the reference harness reads it, `robust` by the table.

On another scale, for which no authors' script is known, a reply is read by the table alone.
"""

import re
from functools import cache

from reprise.reading import table
from reprise.reading.robust import clean, compiled, decided, hits, without_sentences
from reprise.reading.table import UNREAD, Reading, Row

Scale = tuple[str, ...]
RATINGS: Scale = ("0", "1", "2", "3")
SCALES = {3: RATINGS, 5: ("0", "1", "2", "3", "4", "5")}
"""highest rating -> all ratings of its scale"""
# What both Python's grammar and int() take for a whole number; the harness evaluates the reply before it converts it.
WHOLE = re.compile(r"[+-]?(?:0+(?:_?0)*|[1-9](?:_?[0-9])*)")


def read_rating_authors(reply: str) -> int | None:
    """A bare whole number, of any size; a negative one counts as failed, "3." and "Score: 3" as well.

    On a reply that evaluates to a whole number and is none, such as "2+1" or "True", the harness itself stops.
    """
    text = reply.strip(" \t\n\r\f")
    if not WHOLE.fullmatch(text):
        return None
    return int(text) if int(text) >= 0 else None


def read_rating(reply: str | None, scale: Scale = RATINGS) -> Reading:
    """The one rating of a scale that a reply gives, and the row that says so."""
    rows, unsure, no_rating = _of_scale(scale)
    text = clean(reply)
    for pattern in no_rating:
        text = compiled(pattern).sub(" ", text)
    text = without_sentences(text, table.NO_VERDICT)
    if any(compiled(pattern).search(text) for pattern in unsure):
        return UNREAD
    said = decided(hits(text, rows)) or UNREAD
    value = str(table.NUMERALS.index(said.value)) if said.value in table.NUMERALS else said.value
    value = {"full": scale[-1], "none": "0"}.get(value, value)
    return Reading(value, said.by) if value in scale else UNREAD


@cache
def _of_scale(scale: Scale) -> tuple[list[Row], list[str], list[str]]:
    """The rows of a scale, the patterns that leave a reply unread, and those of numbers that are no ratings."""

    def filled(pattern: str) -> str:
        return pattern.replace("<top>", scale[-1]).replace("<said>", "|".join(table.NUMERALS[: len(scale)]))

    rows = [row._replace(pattern=filled(row.pattern)) for row in table.RATING]
    return rows, list(map(filled, table.UNSURE)), list(map(filled, table.NO_RATING))
