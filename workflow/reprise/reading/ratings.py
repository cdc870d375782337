"""A judge's reply as a rating from 0 to 3: `authors` as the reference harness reads it, `robust` as a person would."""

import re
from collections.abc import Callable

# What both Python's grammar and int() take for a whole number; the harness evaluates the reply before it converts it.
WHOLE = re.compile(r"[+-]?(?:0+(?:_?0)*|[1-9](?:_?[0-9])*)")
RATINGS = ("0", "1", "2", "3")
WORDS = {"zero": "0", "one": "1", "two": "2", "three": "3"}
SCALE = re.compile(
    r"(?:(?<=\d)\s*/|\bout of\b|(?<=\d) of)\s*3(?:\.0+)?\b(?!\.\d)"
    r"|\b(?:from |of )?0\s*(?:-|–|to)\s*3\b"
    r"|\b(?:from |of )?0,\s*1,\s*2,?\s*(?:or|and|to)?\s*3\b",
    re.IGNORECASE,
)
LABEL = re.compile(
    r"\b(?:rating|score|response|grade|assessment|judge?ment)\b\s*(?:is|of|:|=|would be|should be|to be)*\s*"
    r"(-?\d+(?:\.\d+)?|zero|one|two|three)\b(?!\s*[-+*/]\s*\d)",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w)")
SUM = re.compile(r"\d\s*[-+*/]\s*\d")


def read_rating_authors(reply: str) -> int | None:
    """A bare whole number, of any size; a negative one counts as failed, "3." and "Score: 3" as well.

    On a reply that evaluates to a whole number and is none, such as "2+1" or "True", the harness itself stops.
    """
    text = reply.strip(" \t\n\r\f")
    if not WHOLE.fullmatch(text):
        return None
    return int(text) if int(text) >= 0 else None


def read_rating(reply: str) -> int | None:
    """The one rating that a person would read; none where there is no rating or there are two."""
    text = SCALE.sub(" ", re.sub(r"[*_`\"“”#]|\\boxed|[{}()\[\]]", " ", reply)).strip()
    if text.lower().rstrip(".!") in WORDS:
        return int(WORDS[text.lower().rstrip(".!")])
    if SUM.search(text):
        return None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    alone = [line.rstrip(".") for line in (lines[:1] + lines[-1:]) if NUMBER.fullmatch(line.rstrip("."))]
    found = LABEL.findall(text) + alone or NUMBER.findall(text)
    return _agreed(found) if found else None


def _agreed(found: list[str]) -> int | None:
    values = {float(WORDS.get(text.lower(), text)) for text in found}
    value = values.pop()
    return int(value) if not values and value in (0, 1, 2, 3) else None


RATING_READERS: dict[str, Callable[[str], int | None]] = {"authors": read_rating_authors, "robust": read_rating}
