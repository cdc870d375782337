"""A judge's reply as a rating from 0 to 3: `authors` as the reference harness reads it, `robust` as a person would."""

import re
from collections.abc import Callable

from reprise.reading.clauses import clauses, sentences
from reprise.reading.languages import in_english
from reprise.reading.normalise import normalise
from reprise.reading.rating_claims import OTHER, canonical, mark_numbers, rating_claims
from reprise.reading.rating_claims import RATINGS as RATINGS
from reprise.reading.settle import settle

SCALES = {3: RATINGS, 5: ("0", "1", "2", "3", "4", "5")}
"""highest rating -> all ratings of its scale; replies on another scale than 0 to 3 are read by `scaled.py`"""
ALONE = {
    form: int(rating)
    for rating in RATINGS
    for form in (rating, f"{rating}.", f" {rating}", f"{rating}\n", f"**{rating}**")
}
# What both Python's grammar and int() take for a whole number; the harness evaluates the reply before it converts it.
WHOLE = re.compile(r"[+-]?(?:0+(?:_?0)*|[1-9](?:_?[0-9])*)")
UNITS = r"(?:points?|marks?|stars?|pts?)"
OVER = r"\s{0,2}(?:/|\bout of\b|\bof\b)\s{0,2}"
OVER_THREE = re.compile(
    rf"(?<![\w.,-])(\d+(?:\.\d+)?|zero|one|two|three)\s{{0,2}}{UNITS}?{OVER}"
    r"(?:the )?(?:possible )?(?:3(?:\.0+)?|three)\b"
    rf"(?!\s?\.\d)(\s{{0,2}}{UNITS})?",
    re.I,
)
# "2 of 3 points" is a rating, "2 of 3 dogs" is none: what may follow where no unit does.
COUNTS = re.compile(
    r"\s+(?!(?:or|points|marks|because|since|as|for|on|in|and|but|so|here|overall|due|given|is|with|not|would|from|at|to"
    r"|if|the|i|it|seems|rather|feels|now|instead)\b)[a-z]"
)
OTHER_SCALE = re.compile(rf"(?<![\w.])\d+(?:\.\d+)?{OVER}\d+(?:\.\d+)?", re.I)
SCALE = re.compile(
    r"\(?(?:\b(?:on|in|from|of|using|with|the|a|scale|range|ranging|rated|rating)\b[ :]{0,2}){0,5}"
    r"\b0\s?(?:-|to|through|and|until|\.\.)\s?3\b\)?"
    r"|\(?(?:from |of )?0, ?1, ?2,? ?(?:or|and|to|/)? ?3\b\)?|\b0/1/2/3\b"
    r"|\b(?:out of|of a possible) (?:a maximum of )?(?:3|three)\b"
    r"|\bmax\.? ?3\b|\b(?:max(?:imum)?|highest|top|best possible|full)(?: possible)?"
    r"(?: (?:score|rating|mark|value|points?|one))?\s?(?:is|being|of|:|=|,)\s?(?:a )?3\b",
    re.I,
)
RANGE = re.compile(r"(?<![\w.,-])[0-9]\s?(?:-|to|~|/)\s?[0-9](?![\w.,]{0,9}\d)(?!\s?=)")
SUM = re.compile(r"\d\s?(?:[-+*]|minus|plus)\s?\d")
RESULT = re.compile(r"\w\s?[=:]\s?(\d)(?![\w.]{0,9}\d)\W*$")
CHANGED = re.compile(
    r"\bfrom (?:an? )?(?:\d(?:/3)?|«\d\+»)(?: down| up)? to (?:an? )?(?=\W{0,2}\d)", re.I
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
GLOSSES = tuple(
    (rating, re.compile(rf"(?<!not )\b{words}\b", re.I))
    for rating, words in (
        ("3", f"{WHOLLY} {RIGHT}"),
        ("2", f"{LARGELY} {RIGHT}"),
        ("1", f"{LARGELY} {WRONG}"),
        ("0", f"{WHOLLY} {WRONG}"),
        ("3", rf"(?:full|top|maximum|highest|perfect) {CREDIT}\b(?! (?:is|are|would|requires?|means?))"),
        ("0", "(?:no|zero) (?:marks?|points?|credit)"),
        *((rating, rf"{degree}(?: semantic)? similarity") for rating, degree in SIMILARITIES),
    )
)


UNSURE = re.compile(r"\?|(?<!\d)[0-3](?!\d)")  # a number that is no rating makes it unsure what the words rate


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
    if reply in ALONE:
        return ALONE[reply]
    text = _without_scales(in_english(normalise(ABOUT.sub(" about ", reply))))
    if SUM.search(text):
        result = RESULT.search(text)
        return int(result[1]) if result and result[1] in RATINGS else None
    found = clauses(sentences(text, mark_numbers, bullets=False))
    claims = list(rating_claims(found))
    reading = settle(claims, found, ()) if claims else _glossed(text)
    return int(reading) if reading in RATINGS else None


def _without_scales(text: str) -> str:
    """The text with its ratings over 3 marked, and without the scale, other scales, ranges and list numbers."""
    text = OVER_THREE.sub(_over_three, text)
    if len({match[1] for match in LISTED.finditer(text)}) > 1:
        text = LISTED.sub("", text)
    return RANGE.sub(OTHER, CHANGED.sub(" → ", SCALE.sub(" ", OTHER_SCALE.sub(OTHER, text))))


def _over_three(match: re.Match[str]) -> str:
    """A number over 3 as a rating, unless it counts things."""
    counts = not match[2] and "/" not in match[0] and COUNTS.match(match.string, match.end())
    return OTHER if counts else f" «{canonical(match[1].lower())}+» "


def _glossed(text: str) -> str:
    """The one rating that a text without numbers gives in words."""
    found = {rating for rating, pattern in GLOSSES if pattern.search(text)}
    return found.pop() if len(found) == 1 and not UNSURE.search(text) else ""


RATING_READERS: dict[str, Callable[[str], int | None]] = {"authors": read_rating_authors, "robust": read_rating}
