"""Extractors of answers and ratings: `authors` follows the authors' scripts, `robust` the rules of `table`."""

import re
from collections.abc import Sequence
from functools import cache

from reprise.reading import table
from reprise.reading.robust import clean, compile_pattern, decide, find_hits, read_robust, without_sentences
from reprise.reading.table import UNREAD, Reading, Row

READERS = ("authors", "robust")
# Each extractor accepts one kind of imported answer that the other counts as an error. The authors' scorers keep the
# last of two answers that disagree; `robust` reads a prediction that is neither Yes nor No, which their scorers ignore.
CONTRADICTORY, OTHER = "contradictory", "other"
FORGIVEN = {"authors": CONTRADICTORY, "robust": OTHER}
# The value of a tie, or of a score that is no number: the authors' scripts count it as wrong, `robust` as unparsed.
UNDECIDED = {"authors": "neither", "robust": ""}
# One to three brackets: the prompt has three, the paper perhaps one (docs/benchmarks/velociti.md).
OUTPUT_BLOCK = re.compile(r"<{1,3}output>{1,3}(.*?)(?:<{1,3}/?output>{1,3}|\Z)", re.DOTALL | re.IGNORECASE)
# VLMEvalKit's matching of option letters replaces these characters by blanks, and takes these texts for refusals.
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
    """Return the option that VELOCITI's scripts extract.

    The first word must be a bare letter; of Yes and No, exactly one must be a substring.
    """
    if set(options) == {"Yes", "No"}:
        matches = [option for option in ("Yes", "No") if option in text]
        # The authors' script writes "error" where an answer contains both words.
        return _by_authors(matches[0] if len(matches) == 1 else "")
    word = next(iter(text.split()), "")
    return _by_authors(word if word in options else "")


def read_options(text: str, options: Sequence[str], option_texts: Sequence[str]) -> Reading:
    """Return the option that VLMEvalKit's exact matching extracts.

    It is the only option letter among the words, else the only option whose text is in the answer. Where VLMEvalKit
    would query a language model, the answer is unparsed. A refusal or a lone Z chooses no option.
    """
    words = text.translate(PUNCTUATION).split()
    letters = [option for option in options if option in words]
    if any(refusal in text for refusal in REFUSALS) or (not letters and "Z" in words):
        return UNREAD
    if len(letters) == 1:
        return _by_authors(letters[0])
    lower = text.lower()
    restated = [
        option for option, option_text in zip(options, option_texts, strict=True) if option_text.lower() in lower
    ]
    return _by_authors(restated[0] if len(restated) == 1 else "")


def read_text(
    text: str | None,
    options: Sequence[str],
    option_texts: Sequence[str],
    reader: str,
    reading: str,
    extra_rows: Sequence[Row] = (),
) -> Reading:
    """Return what an extractor reads in an answer.

    Args:
        reader: Name of the extractor, one of `READERS`.
        reading: Extraction method of the protocol; `person` where its authors queried a judge.
        extra_rows: Extraction rules of the protocol or the model, which `robust` tries first.
    """
    text = text or ""
    if reading == "text":
        return Reading(text, "whole text") if text.strip() else UNREAD
    if reading == "output_block":
        # The answer is inside the last `<<<output>>>` or `<output>` tags, which a truncated chain of thought lacks.
        text = ["", *OUTPUT_BLOCK.findall(text)][-1].strip()
    if reader == "robust" or reading == "person":
        return read_robust(text, options, option_texts, extra_rows)
    if reading == "options":
        return read_options(text, options, option_texts)
    if reading == "first_character":
        # Vinoground's and TemporalBench's scripts count a character that is no option as wrong, not as unparsed.
        return _by_authors(text[:1].upper())
    return read_authors(text, options)


# Ratings in a judge's reply. On the scale from 0 to 3, `authors` extracts them as the reference harness does, and
# `robust` by the table. No authors' script is known for the other scale, so only the table extracts its ratings.
Scale = tuple[str, ...]
RATINGS: Scale = ("0", "1", "2", "3")
SCALES = {3: RATINGS, 5: ("0", "1", "2", "3", "4", "5")}
"""highest rating -> all ratings of its scale"""
# Integers for both Python's grammar and int(), because the harness evaluates the reply before it converts it.
WHOLE = re.compile(r"[+-]?(?:0+(?:_?0)*|[1-9](?:_?[0-9])*)")


def read_rating_authors(reply: str) -> int | None:
    """Return the rating that the reference harness extracts: a bare integer of any size.

    A negative number counts as failed, as do "3." and "Score: 3". The harness itself crashes on an expression that
    evaluates to an integer, such as "2+1" or "True"; such a reply counts as failed here.
    """
    text = reply.strip(" \t\n\r\f")
    if not WHOLE.fullmatch(text):
        return None
    return int(text) if int(text) >= 0 else None


def read_rating(reply: str | None, scale: Scale = RATINGS) -> Reading:
    """Return the rating on a scale that a reply gives and the rule that matched."""
    rows, unsure, no_rating = _scale_patterns(scale)
    text = clean(reply)
    for pattern in no_rating:
        text = compile_pattern(pattern).sub(" ", text)
    text = without_sentences(text, table.NO_VERDICT)
    if any(compile_pattern(pattern).search(text) for pattern in unsure):
        return UNREAD
    extracted = decide(find_hits(text, rows)) or UNREAD
    rating = str(table.NUMERALS.index(extracted.value)) if extracted.value in table.NUMERALS else extracted.value
    rating = {"full": scale[-1], "none": "0"}.get(rating, rating)
    return Reading(rating, extracted.by) if rating in scale else UNREAD


@cache
def _scale_patterns(scale: Scale) -> tuple[list[Row], list[str], list[str]]:
    """Return a scale's extraction rules, the patterns that leave a reply unparsed, and those of numbers to ignore."""

    def fill(pattern: str) -> str:
        return pattern.replace("<top>", scale[-1]).replace("<said>", "|".join(table.NUMERALS[: len(scale)]))

    rows = [row._replace(pattern=fill(row.pattern)) for row in table.RATING]
    return rows, list(map(fill, table.UNSURE)), list(map(fill, table.NO_RATING))
