"""A judge's reply as a rating: from 0 to 3 `authors` as the reference harness reads it, `robust` as a person would.

On another scale, for which no authors' script is known, a reply is read as a person would.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from reprise.reading.clauses import clauses, sentences
from reprise.reading.languages import in_english
from reprise.reading.normalise import normalise
from reprise.reading.rating_claims import NUMBERS, OTHER, Scale, canonical, mark_numbers, rating_claims
from reprise.reading.rating_claims import RATINGS as RATINGS
from reprise.reading.settle import settle

SCALES = {3: RATINGS, 5: ("0", "1", "2", "3", "4", "5")}
"""highest rating -> all ratings of its scale"""
# What both Python's grammar and int() take for a whole number; the harness evaluates the reply before it converts it.
WHOLE = re.compile(r"[+-]?(?:0+(?:_?0)*|[1-9](?:_?[0-9])*)")
UNITS = r"(?:points?|marks?|stars?|pts?)"
OVER = r"\s{0,2}(?:/|\bout of\b|\bof\b)\s{0,2}"
# "2 of 3 points" is a rating, "2 of 3 dogs" is none: what may follow where no unit does.
COUNTS = re.compile(
    r"\s+(?!(?:or|points|marks|because|since|as|for|on|in|and|but|so|here|overall|due|given|is|with|not|would|from|at|to"
    r"|if|the|i|it|seems|rather|feels|now|instead)\b)[a-z]"
)
OTHER_SCALE = re.compile(rf"(?<![\w.])\d+(?:\.\d+)?{OVER}\d+(?:\.\d+)?", re.I)
RANGE = re.compile(r"(?<![\w.,-])[0-9]\s?(?:-|to|~|/)\s?[0-9](?![\w.,]{0,9}\d)(?!\s?=)")
SUM = re.compile(r"\d\s?(?:[-+*]|minus|plus)\s?\d")
RESULT = re.compile(r"\w\s?[=:]\s?(\d)(?![\w.]{0,9}\d)\W*$")
CHANGED = re.compile(
    r"\bfrom (?:an? )?(?:\d(?:/[35])?|«\d\+»)(?: down| up)? to (?:an? )?(?=\W{0,2}\d)", re.I
)  # "lower it from 3 to 2"
ABOUT = re.compile(r"[~≈](?=\s?\d)")
LISTED = re.compile(r"^[ \t]*(\d)[.)]\s{1,3}(?=\S)", re.M)
WHOLLY = "(?:entirely|completely|fully|totally|perfectly|wholly|absolutely|100 ?%)"
LARGELY, RIGHT, WRONG = (
    "(?:largely|mostly|mainly)",
    "(?:correct|right|accurate)",
    "(?:incorrect|wrong|inaccurate|false)",
)
SIMILARITIES = (("3", "complete"), ("2", "high"), ("1", "low"), ("0", "no"))
CREDIT = "(?:marks?|points?|scores?|ratings?|credit)"
# The scale in words, as the prompt of the judge has it, and what else says the same.
GLOSSES = (
    ("3", f"{WHOLLY} {RIGHT}"),
    ("2", f"{LARGELY} {RIGHT}"),
    ("1", f"{LARGELY} {WRONG}"),
    ("0", f"{WHOLLY} {WRONG}"),
    *((rating, rf"{degree}(?: semantic)? similarity") for rating, degree in SIMILARITIES),
)
HIGHEST = rf"(?:full|top|maximum|highest|perfect) {CREDIT}\b(?! (?:is|are|would|requires?|means?))"
LOWEST = "(?:no|zero) (?:marks?|points?|credit)"


class Patterns(NamedTuple):
    """What depends on the scale."""

    alone: dict[str, str]
    """a reply that is nothing but a rating -> the rating"""
    over: re.Pattern[str]
    """a number over the highest"""
    scale: re.Pattern[str]
    """the scale itself"""
    glosses: tuple[tuple[str, re.Pattern[str]], ...]
    """rating -> words for it"""
    unsure: re.Pattern[str]
    """a number that is no rating makes it unsure what the words rate"""


@cache
def patterns(scale: Scale) -> Patterns:
    """The patterns of a scale."""
    top, said = scale[-1], NUMBERS[: len(scale)]
    glosses = (*(GLOSSES if scale == RATINGS else ()), (top, HIGHEST), ("0", LOWEST))
    return Patterns(
        {form: one for one in scale for form in (one, f"{one}.", f" {one}", f"{one}\n", f"**{one}**")},
        re.compile(
            rf"(?<![\w.,-])(\d+(?:\.\d+)?|{'|'.join(said)})\s{{0,2}}{UNITS}?{OVER}"
            rf"(?:the )?(?:possible )?(?:{top}(?:\.0+)?|{said[-1]})\b"
            rf"(?!\s?\.\d)(\s{{0,2}}{UNITS})?",
            re.I,
        ),
        re.compile(
            r"\(?(?:\b(?:on|in|from|of|using|with|the|a|scale|range|ranging|rated|rating)\b[ :]{0,2}){0,5}"
            rf"\b0\s?(?:-|to|through|and|until|\.\.)\s?{top}\b\)?"
            rf"|\(?(?:from |of )?{', ?'.join(scale[:-1])},? ?(?:or|and|to|/)? ?{top}\b\)?|\b{'/'.join(scale)}\b"
            rf"|\b(?:out of|of a possible) (?:a maximum of )?(?:{top}|{said[-1]})\b"
            rf"|\bmax\.? ?{top}\b|\b(?:max(?:imum)?|highest|top|best possible|full)(?: possible)?"
            rf"(?: (?:score|rating|mark|value|points?|one))?\s?(?:is|being|of|:|=|,)\s?(?:a )?{top}\b",
            re.I,
        ),
        tuple((rating, re.compile(rf"(?<!not )\b{words}\b", re.I)) for rating, words in glosses),
        re.compile(rf"\?|(?<!\d)[0-{top}](?!\d)"),
    )


def read_rating_authors(reply: str) -> int | None:
    """A bare whole number, of any size; a negative one counts as failed, "3." and "Score: 3" as well.

    On a reply that evaluates to a whole number and is none, such as "2+1" or "True", the harness itself stops.
    """
    text = reply.strip(" \t\n\r\f")
    if not WHOLE.fullmatch(text):
        return None
    return int(text) if int(text) >= 0 else None


def read_rating(reply: str) -> int | None:
    """The one rating from 0 to 3 that a person would read; none where there is no rating or there are two."""
    found = read_scaled(reply, RATINGS)
    return int(found) if found else None


def read_scaled(reply: str, scale: Scale) -> str:
    """The same on a scale, as the scale has it; empty where there is none."""
    if reply in patterns(scale).alone:
        return patterns(scale).alone[reply]
    text = _without_scales(in_english(normalise(ABOUT.sub(" about ", reply))), scale)
    if SUM.search(text):
        result = RESULT.search(text)
        return result[1] if result and result[1] in scale else ""
    found = clauses(sentences(text, partial(mark_numbers, scale=scale), bullets=False))
    claims = list(rating_claims(found))
    reading = settle(claims, found, ()) if claims else _glossed(text, scale)
    return reading if reading in scale else ""


def _without_scales(text: str, scale: Scale) -> str:
    """The text with its ratings over the highest marked, and without the scale, others, ranges and list numbers."""

    def over(match: re.Match[str]) -> str:
        """A number over the highest as a rating, unless it counts things."""
        counts = not match[2] and "/" not in match[0] and COUNTS.match(match.string, match.end())
        return OTHER if counts else f" «{canonical(match[1].lower(), scale)}+» "

    text = patterns(scale).over.sub(over, text)
    if len({match[1] for match in LISTED.finditer(text)}) > 1:
        text = LISTED.sub("", text)
    return RANGE.sub(OTHER, CHANGED.sub(" → ", patterns(scale).scale.sub(" ", OTHER_SCALE.sub(OTHER, text))))


def _glossed(text: str, scale: Scale) -> str:
    """The one rating that a text without numbers gives in words."""
    found = {rating for rating, pattern in patterns(scale).glosses if pattern.search(text)}
    return found.pop() if len(found) == 1 and not patterns(scale).unsure.search(text) else ""


RATING_READERS: dict[str, Callable[[str], int | None]] = {"authors": read_rating_authors, "robust": read_rating}
