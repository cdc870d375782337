"""Readers of answers: `authors` does what the authors' scripts do, `robust` reads by the rows of `table`."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reprise.reading.table import Row

READERS = ("authors", "robust")
# Errors that are none to one reader: of two answers that disagree the authors' scorers keep the last; a prediction that
# is no Yes and no No is none to them, but a person may read it.
CONTRADICTORY, OTHER = "contradictory", "other"
FORGIVEN = {"authors": CONTRADICTORY, "robust": OTHER}
# What a tie, or a score that is no number, is read as: by the authors as a wrong answer, not as none.
UNDECIDED = {"authors": "neither", "robust": ""}
BARE = re.compile(r"\s*(?:([A-F])[.)]?|\(([A-F])\))\s*")
YES_NO = {"Yes", "No"}
BARE_WORDS = {
    form: word
    for word in YES_NO
    for said in (word, word.lower(), word.upper())
    for form in (said, f"{said}.", f" {said}")
}
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


class Reading(NamedTuple):
    """What was read, empty where nothing was, and how."""

    value: str
    by: str = ""


UNREAD = Reading("")
AUTHORS = "authors"


def _by_authors(value: str) -> Reading:
    return Reading(value, AUTHORS) if value else UNREAD


def read_authors(text: str, options: Sequence[str]) -> Reading:
    """VELOCITI's scripts: the first word must be the bare letter; of Yes and No exactly one must be a substring."""
    if set(options) == YES_NO:
        named = [option for option in ("Yes", "No") if option in text]
        return _by_authors(named[0] if len(named) == 1 else "")  # with both words theirs writes "error"
    word = next(iter(text.split()), "")
    return _by_authors(word if word in options else "")


def read_first_character(text: str) -> Reading:
    """Vinoground's and TemporalBench's scripts: the first character in either case, whatever it is.

    A character that is no option is a wrong answer to them, not an unread one; only an empty text is no answer.
    """
    return _by_authors(text[:1].upper())


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


def read_by_table(
    text: str | None, options: Sequence[str], option_texts: Sequence[str], own: Sequence["Row"] = ()
) -> Reading:
    """The option that the first fitting rows of the table read, those of a protocol or a model before its own."""
    if text is not None and not own:
        if text in BARE_WORDS and set(options) == YES_NO:
            return Reading(BARE_WORDS[text], "leading word")
        letter = bare_letter(text)
        if letter in options and len(options[0]) == 1:
            return Reading(letter, "leading label")
    # Loading the table takes longer than reading a run of bare letters.
    from reprise.reading.robust import read_robust

    return read_robust(text, options, option_texts, own)


def bare_letter(text: str) -> str:
    """The letter of an answer that is nothing else: `B`, `B.`, `B)`, `(B)`."""
    match = BARE.fullmatch(text)
    return (match[1] or match[2]) if match else ""


def output_block(text: str) -> str:
    """What a chain of thought says inside its last `<<<output>>>` or `<output>` tags; empty when it never got there."""
    blocks = OUTPUT_BLOCK.findall(text)
    return blocks[-1].strip() if blocks else ""


def read_text(
    text: str | None,
    options: Sequence[str],
    option_texts: Sequence[str],
    reader: str,
    reading: str,
    own: Sequence["Row"] = (),
) -> Reading:
    """What a reader makes of a text; `reading` is that of the protocol, `person` where its authors asked a judge."""
    text = text or ""
    if reading == "text":
        return Reading(text, "whole text") if text.strip() else UNREAD
    if reading == "output_block":
        text = output_block(text)
    if reader == "robust" or reading == "person":
        return read_by_table(text, options, option_texts, own)
    if reading == "options":
        return read_options(text, options, option_texts)
    return read_first_character(text) if reading == "first_character" else read_authors(text, options)
