"""Readers of answers: `authors` does what the authors' scripts do, `robust` reads by the rows of `table`."""

import re
from collections.abc import Sequence

from reprise.reading.robust import read_robust
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
