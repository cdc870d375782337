"""A judge's rating on another scale than 0 to 3: the one whole number that stands as a rating.

It stands as one alone on a line, after a label ("Score: 4"), or over the highest ("4/5"). Two different ones, one that
the scale lacks, a bound and a denial leave a reply unread. No authors' script for such ratings is known.
"""

import re
from collections.abc import Sequence

NUMBER = r"(?<![\w.,-])([-+]?\d{1,4}(?:\.\d{1,3})?)(?![\w%]|[.,]\d)"
ALONE = re.compile(rf"^[^\w\n+-]*{NUMBER}[^\w\n]*$", re.MULTILINE)
LABELLED = re.compile(
    rf"\b(?:score|rating|grade|mark)s?\b[^\w\n+-]{{0,6}}(?:(?:is|of|would be|as|it)\b[^\w\n+-]{{0,4}}){{0,2}}{NUMBER}"
    r"(?!\s?(?:or|to|/|[-–])\s?\d)",
    re.IGNORECASE,
)
REFUSED = re.compile(
    r"\b(?:not|n['’]t|never|at (?:most|least)|(?:less|more|lower|higher) than|up to|below|above|under|over|between)\s+"
    r"(?:an?\s+)?(?:(?:score|rating)\s+of\s+)?[-+]?\d",
    re.IGNORECASE,
)


def read_scaled(reply: str, scale: Sequence[str]) -> str:
    """The rating of a reply, as its scale has it; empty where there is none or are several."""
    highest = scale[-1]
    text = re.sub(rf"\b{scale[0]}\s?(?:-|–|to|through|\.\.)\s?{highest}\b", " ", reply)
    text = re.sub(rf"\b{scale[0]}(?:, ?\d)+,? (?:or|and) {highest}\b", " ", text)
    text = re.sub(rf"{NUMBER}\s?(?:/|\bout of\b)\s?{highest}\b(?!\.?\d)", r" score: \1 ", text)
    if REFUSED.search(text):
        return ""
    found = {_whole(number) for number in (*ALONE.findall(text), *LABELLED.findall(text))}
    rating = found.pop() if len(found) == 1 else ""
    return rating if rating in scale else ""


def _whole(number: str) -> str:
    """`4` of `4.0`; other fractions stay, which no scale has."""
    return re.sub(r"^\+?(\d+)\.0+$", r"\1", number)
