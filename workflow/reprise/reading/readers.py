"""Readers of answers: `authors` does what the authors' scripts do, `robust` reads what a person would."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

READERS = ("authors", "robust")
# Errors that are none to one reader: of two answers that disagree the authors' scorers keep the last; a prediction that
# is no Yes and no No is none to them, but a person may read it.
CONTRADICTORY, OTHER = "contradictory", "other"
FORGIVEN = {"authors": CONTRADICTORY, "robust": OTHER}
# What a tie, or a score that is no number, is read as: by the authors as a wrong answer, not as none.
UNDECIDED = {"authors": "neither", "robust": ""}
BARE = re.compile(r"\s*(?:([A-F])[.)]?|\(([A-F])\))\s*")
LABEL_SIGNS = (". ", ") ", ": ")
FEW_WORDS = 3
SURELY_A_TEXT = 12  # characters; a shorter text may be a word that means something else beside a letter
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


@dataclass(frozen=True)
class Reading:
    """The option that was read, empty when none was, and the score behind it if there is one."""

    value: str
    score: float | None


def read_authors(text: str, options: Sequence[str]) -> Reading:
    """VELOCITI's scripts: the first word must be the bare letter; of Yes and No exactly one must be a substring."""
    if set(options) == YES_NO:
        named = [option for option in ("Yes", "No") if option in text]
        return Reading(named[0] if len(named) == 1 else "", None)  # with both words theirs writes "error"
    word = next(iter(text.split()), "")
    return Reading(word if word in options else "", None)


def read_first_character(text: str) -> Reading:
    """Vinoground's and TemporalBench's scripts: the first character in either case, whatever it is.

    A character that is no option is a wrong answer to them, not an unread one; only an empty text is no answer.
    """
    return Reading(text[:1].upper(), None)


def read_options(text: str, options: Sequence[str], option_texts: Sequence[str]) -> Reading:
    """VLMEvalKit's exact matching: the one letter among the words, else the one option whose text is in the answer.

    Where it needs a language model to go on, nothing is read. A refusal or a lone Z is an answer to no option.
    """
    words = text.translate(PUNCTUATION).split()
    named = [option for option in options if option in words]
    if any(refusal in text for refusal in REFUSALS) or (not named and "Z" in words):
        return Reading("", None)
    if len(named) == 1:
        return Reading(named[0], None)
    said = text.lower()
    restated = [option for option, known in zip(options, option_texts, strict=True) if known.lower() in said]
    return Reading(restated[0] if len(restated) == 1 else "", None)


def read_like_a_person(text: str, options: Sequence[str], option_texts: Sequence[str]) -> Reading:
    """What a person would read; nothing where a person would hesitate. The texts let a restated caption count."""
    if text in BARE_WORDS and set(options) == YES_NO:
        return Reading(BARE_WORDS[text], None)
    letter = bare_letter(text)
    if letter in options and all(map(begins_with_a_word, option_texts)):
        return Reading(letter, None)
    if option_texts and (letter := letter_with_text(text, options, option_texts)):
        return Reading(letter, None)
    # Its vocabulary takes longer to load than it takes to read a run of bare letters.
    from reprise.reading.robust import read_robust

    captions = dict(zip(options, option_texts, strict=True)) if option_texts else None
    return Reading(read_robust(text, options, captions), None)


def bare_letter(text: str) -> str:
    """The letter of an answer that is nothing else: `B`, `B.`, `B)`, `(B)`."""
    match = BARE.fullmatch(text)
    return (match[1] or match[2]) if match else ""


def letter_with_text(text: str, options: Sequence[str], option_texts: Sequence[str]) -> str:
    """The letter of an answer that is a letter and the text of its option: `B. The dog barks.`"""
    letter, sign, stated = text[:1], text[1:3], text[3:].strip()
    if sign not in LABEL_SIGNS or letter not in options or len(stated) < SURELY_A_TEXT:
        return ""
    return (
        letter
        if [option for option, known in zip(options, option_texts, strict=True) if known == stated] == [letter]
        else ""
    )


def begins_with_a_word(caption: str) -> bool:
    """Whether a caption is surely no letter itself, which an answer of a letter could restate."""
    starts = (len(caption) > 1 and caption[:2].isalpha()) or caption.count(" ") >= FEW_WORDS
    return starts and caption.isascii() and "<" not in caption


def output_block(text: str) -> str:
    """What a chain of thought says inside its last `<<<output>>>` or `<output>` tags; empty when it never got there."""
    blocks = OUTPUT_BLOCK.findall(text)
    return blocks[-1].strip() if blocks else ""


def read_whole(text: str) -> Reading:
    """A free answer as it is; blanks alone are none."""
    return Reading(text if text.strip() else "", None)


def read_text(text: str, options: Sequence[str], option_texts: Sequence[str], reader: str, reading: str) -> Reading:
    """What a reader makes of a text; `reading` is that of the protocol, `person` where its authors asked a judge."""
    if reading == "text":
        return read_whole(text)
    if reading == "output_block":
        text = output_block(text)
    if reader == "robust" or reading == "person":
        return read_like_a_person(text, options, option_texts)
    if reading == "options":
        return read_options(text, options, option_texts)
    return read_first_character(text) if reading == "first_character" else read_authors(text, options)
