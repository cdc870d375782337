"""Extractors of answers and ratings: `authors` follows the authors' scripts, `robust` the rules of `rules.py`."""

import re
from collections.abc import Sequence
from functools import cache

from reprise.extraction import rules as extraction_rules
from reprise.extraction.robust import (
    clean_answer,
    compile_pattern,
    extract_robust,
    find_hits,
    remove_sentences,
    resolve_hits,
)
from reprise.extraction.rules import UNPARSED, Extraction, Rule

EXTRACTORS = ("authors", "robust")
# Each extractor accepts one kind of imported answer that the other counts as an error. The authors' scorers keep the
# last of two answers that disagree; `robust` parses predictions other than Yes and No, which their scorers ignore.
CONTRADICTORY, UNEXPECTED_PREDICTION = "contradictory", "other"
ACCEPTED_ERRORS = {"authors": CONTRADICTORY, "robust": UNEXPECTED_PREDICTION}
# The value of a tie or a NaN score: the authors' scripts count it as wrong, `robust` as unparsed.
TIE_VALUES = {"authors": "neither", "robust": ""}
# One to three brackets: the prompt has three, the paper perhaps one (docs/benchmarks/velociti.md).
OUTPUT_BLOCK = re.compile(r"<{1,3}output>{1,3}(.*?)(?:<{1,3}/?output>{1,3}|\Z)", re.DOTALL | re.IGNORECASE)
# VLMEvalKit's matching of option letters replaces these characters by blanks, and treats these texts as refusals.
PUNCTUATION = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)


def _by_authors(value: str) -> Extraction:
    return Extraction(value, "authors") if value else UNPARSED


def extract_by_authors(text: str, options: Sequence[str]) -> Extraction:
    """Return the option that VELOCITI's scripts extract.

    The first word must be a bare letter; of Yes and No, exactly one must be a substring.
    """
    if set(options) == {"Yes", "No"}:
        matches = [option for option in ("Yes", "No") if option in text]
        # The authors' script writes "error" where an answer contains both words.
        return _by_authors(matches[0] if len(matches) == 1 else "")
    word = next(iter(text.split()), "")
    return _by_authors(word if word in options else "")


def extract_by_exact_match(text: str, options: Sequence[str], option_texts: Sequence[str]) -> Extraction:
    """Return the option that VLMEvalKit's exact matching extracts.

    It is the only option letter among the words, else the only option whose text is in the answer. Where VLMEvalKit
    would query a language model, the answer is unparsed. A refusal or a lone Z chooses no option.
    """
    words = text.translate(PUNCTUATION).split()
    letters = [option for option in options if option in words]
    if any(refusal in text for refusal in REFUSALS) or (not letters and "Z" in words):
        return UNPARSED
    if len(letters) == 1:
        return _by_authors(letters[0])
    lower = text.lower()
    restated = [
        option for option, option_text in zip(options, option_texts, strict=True) if option_text.lower() in lower
    ]
    return _by_authors(restated[0] if len(restated) == 1 else "")


def extract_answer(
    text: str | None,
    options: Sequence[str],
    option_texts: Sequence[str],
    extractor: str,
    method: str,
    extra_rules: Sequence[Rule] = (),
) -> Extraction:
    """Return the option that an extractor finds in an answer, and the rule that matched.

    Args:
        text: The answer; `None` is treated as an empty one.
        options: Names of the options, such as `A` and `B`.
        option_texts: Text of each option, if the options have texts.
        extractor: Name of the extractor, one of `EXTRACTORS`.
        method: Extraction method of the protocol; `person` if its authors used a judge.
        extra_rules: Extraction rules of the protocol or the model, which `robust` tries first.
    """
    text = text or ""
    if method == "text":
        return Extraction(text, "whole text") if text.strip() else UNPARSED
    if method == "output_block":
        # The answer is inside the last `<<<output>>>` or `<output>` tags, which a truncated chain of thought lacks.
        text = ["", *OUTPUT_BLOCK.findall(text)][-1].strip()
    if extractor == "robust" or method == "person":
        return extract_robust(text, options, option_texts, extra_rules)
    if method == "options":
        return extract_by_exact_match(text, options, option_texts)
    if method == "first_character":
        # Vinoground's and TemporalBench's scripts count any other character than an option as wrong, not as unparsed.
        return _by_authors(text[:1].upper())
    return extract_by_authors(text, options)


# Ratings in a judge's reply. On the scale from 0 to 3, `authors` extracts them as the reference harness does, and
# `robust` by the table. No authors' script is known for the other scale, so only the table extracts its ratings.
Scale = tuple[str, ...]
DEFAULT_SCALE: Scale = ("0", "1", "2", "3")
SCALES = {3: DEFAULT_SCALE, 5: ("0", "1", "2", "3", "4", "5")}
"""highest rating -> all ratings of its scale"""
# Integers for both Python's grammar and int(), because the harness evaluates the reply before it converts it.
INTEGER = re.compile(r"[+-]?(?:0+(?:_?0)*|[1-9](?:_?[0-9])*)")


def extract_rating_by_authors(reply: str) -> int | None:
    """Return the rating that the reference harness extracts: a bare integer of any size.

    A negative number counts as failed, as do "3." and "Score: 3". The harness itself crashes on an expression that
    evaluates to an integer, such as "2+1" or "True"; such a reply counts as failed here.
    """
    text = reply.strip(" \t\n\r\f")
    if not INTEGER.fullmatch(text):
        return None
    return int(text) if int(text) >= 0 else None


def extract_rating(reply: str | None, scale: Scale = DEFAULT_SCALE) -> Extraction:
    """Return the rating that a reply gives on a scale, and the rule that matched."""
    rules, ambiguous, ignored = _scale_patterns(scale)
    text = clean_answer(reply)
    for pattern in ignored:
        text = compile_pattern(pattern).sub(" ", text)
    text = remove_sentences(text, extraction_rules.CONDITIONAL_SENTENCE)
    if any(compile_pattern(pattern).search(text) for pattern in ambiguous):
        return UNPARSED
    extracted = resolve_hits(find_hits(text, rules)) or UNPARSED
    rating = (
        str(extraction_rules.NUMERALS.index(extracted.value))
        if extracted.value in extraction_rules.NUMERALS
        else extracted.value
    )
    rating = {"full": scale[-1], "none": "0"}.get(rating, rating)
    return Extraction(rating, extracted.rule) if rating in scale else UNPARSED


@cache
def _scale_patterns(scale: Scale) -> tuple[list[Rule], list[str], list[str]]:
    """Return a scale's extraction rules, the patterns that leave a reply unparsed, and those of numbers to ignore."""

    def fill(pattern: str) -> str:
        numerals = "|".join(extraction_rules.NUMERALS[: len(scale)])
        return pattern.replace("<top>", scale[-1]).replace("<numeral>", numerals)

    rules = [rule._replace(pattern=fill(rule.pattern)) for rule in extraction_rules.RATING_RULES]
    return rules, list(map(fill, extraction_rules.AMBIGUOUS_RATING)), list(map(fill, extraction_rules.IGNORED_NUMBERS))
