"""Readers of answers and of ratings: `authors` does what the authors' scripts do, `robust` reads by rows of `table`."""

import re
from collections.abc import Sequence
from functools import cache

from reprise.reading import table
from reprise.reading.robust import clean, compiled, decided, hits, read_robust, without_sentences
from reprise.reading.table import UNREAD, Reading, Row

READERS = ("authors", "robust")
# Errors that are none to one reader: of two answers that disagree the authors' scorers keep the last; a prediction that
# is no Yes and no No is none to them, but a person may read it.
CONTRADICTORY, OTHER = "contradictory", "other"
FORGIVEN = {"authors": CONTRADICTORY, "robust": OTHER}
# What a tie, or a score that is no number, is read as: by the authors as a wrong answer, not as none.
UNDECIDED = {"authors": "neither", "robust": ""}
# One to three brackets: the prompt has three, the paper perhaps one (docs/benchmarks/velociti.md).
OUTPUT_BLOCK = re.compile(r"<{1,3}output>{1,3}(.*?)(?:<{1,3}/?output>{1,3}|\Z)", re.DOTALL | re.IGNORECASE)
# What VLMEvalKit's matching of option letters takes for blanks, and for a refusal.
PUNCTUATION = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)


def _by_authors(value: str) -> Reading:
    return Reading(value, "authors") if value else UNREAD


def read_authors(text: str, options: Sequence[str]) -> Reading:
    """VELOCITI's scripts: the first word must be the bare letter; of Yes and No exactly one must be a substring."""
    if set(options) == {"Yes", "No"}:
        named = [option for option in ("Yes", "No") if option in text]
        return _by_authors(named[0] if len(named) == 1 else "")  # with both words theirs writes "error"
    word = next(iter(text.split()), "")
    return _by_authors(word if word in options else "")


def read_options(text: str, options: Sequence[str], option_texts: Sequence[str]) -> Reading:
    """VLMEvalKit's exact matching: the one letter among the words, else the one option whose text is in the answer.

    Where it needs a language model to go on, nothing is read. A refusal or a lone Z is an answer to no option.
    """
    words = text.translate(PUNCTUATION).split()
    named = [option for option in options if option in words]
    if any(refusal in text for refusal in REFUSALS) or (not named and "Z" in words):
        return UNREAD
    if len(named) == 1:
        return _by_authors(named[0])
    said = text.lower()
    restated = [option for option, known in zip(options, option_texts, strict=True) if known.lower() in said]
    return _by_authors(restated[0] if len(restated) == 1 else "")


def read_text(
    text: str | None,
    options: Sequence[str],
    option_texts: Sequence[str],
    reader: str,
    reading: str,
    own: Sequence[Row] = (),
) -> Reading:
    """What a reader makes of a text; `reading` is that of the protocol, `person` where its authors asked a judge."""
    text = text or ""
    if reading == "text":
        return Reading(text, "whole text") if text.strip() else UNREAD
    if reading == "output_block":
        # What a chain of thought says inside its last `<<<output>>>` or `<output>` tags; it may never get there.
        text = ["", *OUTPUT_BLOCK.findall(text)][-1].strip()
    if reader == "robust" or reading == "person":
        return read_robust(text, options, option_texts, own)
    if reading == "options":
        return read_options(text, options, option_texts)
    if reading == "first_character":
        # Vinoground's and TemporalBench's scripts: a character that is no option is a wrong answer, not an unread one.
        return _by_authors(text[:1].upper())
    return read_authors(text, options)


# A judge's reply as a rating: from 0 to 3 `authors` as the reference harness reads it, `robust` by the table. On
# another scale, for which no authors' script is known, a reply is read by the table alone.
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
