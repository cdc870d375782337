"""Extract answers and ratings: `authors` as the authors' scripts do, `robust` by the rules of `rules.py`."""

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
# Each extractor accepts one kind of imported answer that the other counts as failed. `authors` accepts contradictory
# answers to one request, because the authors' scorers keep the last of them. `robust` accepts and parses predictions
# other than Yes and No, which the authors' scorers ignore.
CONTRADICTORY, UNEXPECTED_PREDICTION = "contradictory", "other"
ACCEPTED_ERROR_BY_EXTRACTOR = {"authors": CONTRADICTORY, "robust": UNEXPECTED_PREDICTION}
# Value extracted from scores that tie or are NaN. The authors' scripts count it as wrong, `robust` as unparsed.
TIE_VALUE_BY_EXTRACTOR = {"authors": "neither", "robust": ""}
# The tags have one to three brackets: the prompt has three, the paper perhaps one (docs/benchmarks/velociti.md).
OUTPUT_BLOCK = re.compile(r"<{1,3}output>{1,3}(.*?)(?:<{1,3}/?output>{1,3}|\Z)", re.DOTALL | re.IGNORECASE)
# VLMEvalKit's matching of option letters replaces these characters by blanks, and treats these texts as refusals.
PUNCTUATION = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)


def _authors_extraction(value: str) -> Extraction:
    """Return a value as an extraction by the authors' rules; an empty value becomes `UNPARSED`."""
    return Extraction(value, "authors") if value else UNPARSED


def extract_as_velociti(text: str, options: Sequence[str]) -> Extraction:
    """Return the option that VELOCITI's scripts extract.

    The first word must be a bare letter. If the options are Yes and No, exactly one of them must be a substring.
    """
    if set(options) == {"Yes", "No"}:
        matches = [option for option in ("Yes", "No") if option in text]
        # The authors' script writes "error" where an answer contains both words.
        return _authors_extraction(matches[0] if len(matches) == 1 else "")
    word = next(iter(text.split()), "")
    return _authors_extraction(word if word in options else "")


def extract_by_exact_match(text: str, options: Sequence[str], option_texts: Sequence[str]) -> Extraction:
    """Return the option that VLMEvalKit's exact matching extracts.

    The result is the only option letter among the words, else the only option whose text is in the answer. An answer is
    unparsed if VLMEvalKit would query a language model about it. A refusal or a lone Z chooses no option.
    """
    words = text.translate(PUNCTUATION).split()
    letters = [option for option in options if option in words]
    if any(refusal in text for refusal in REFUSALS) or (not letters and "Z" in words):
        return UNPARSED
    if len(letters) == 1:
        return _authors_extraction(letters[0])
    lowercase_text = text.lower()
    matching_options = [
        option
        for option, option_text in zip(options, option_texts, strict=True)
        if option_text.lower() in lowercase_text
    ]
    return _authors_extraction(matching_options[0] if len(matching_options) == 1 else "")


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
        method: Extraction method of the protocol (`extraction:` in its benchmark's file). `robust` means that the
            authors used a judge, so both extractors are the same.
        extra_rules: Extraction rules of the protocol or the model, which `robust` tries first.
    """
    text = text or ""
    if method == "text":
        return Extraction(text, "whole text") if text.strip() else UNPARSED
    if method == "output_block":
        # The answer is inside the last `<<<output>>>` or `<output>` tags. A truncated chain of thought has no tags.
        blocks = OUTPUT_BLOCK.findall(text)
        text = blocks[-1].strip() if blocks else ""
    if extractor == "robust" or method == "robust":
        return extract_robust(text, options, option_texts, extra_rules)
    if method == "options":
        return extract_by_exact_match(text, options, option_texts)
    if method == "first_character":
        # Vinoground's and TemporalBench's scripts count a character that is no option as wrong, not as unparsed.
        return _authors_extraction(text[:1].upper())
    return extract_as_velociti(text, options)


# Ratings in a judge's reply. On the scale from 0 to 3, `authors` extracts them as the reference harness does. The scale
# from 0 to 5 has no known script, so both extractors use the rules of `rules.py` for it.
Scale = tuple[str, ...]
DEFAULT_SCALE: Scale = ("0", "1", "2", "3")
SCALE_BY_MAX_RATING = {3: DEFAULT_SCALE, 5: ("0", "1", "2", "3", "4", "5")}
"""highest rating -> all ratings of its scale"""
# Integers that both Python's grammar and int() accept, because the harness evaluates the reply and then converts it.
INTEGER = re.compile(r"[+-]?(?:0+(?:_?0)*|[1-9](?:_?[0-9])*)")


def extract_rating_by_authors(reply: str) -> int | None:
    """Return the rating that the reference harness extracts: a bare integer of any size; None for any other reply.

    Replies such as "-1", "3." and "Score: 3" give no rating. The harness itself crashes on an expression that evaluates
    to an integer, such as "2+1" or "True"; here such a reply gives no rating.
    """
    text = reply.strip(" \t\n\r\f")
    if not INTEGER.fullmatch(text):
        return None
    return int(text) if int(text) >= 0 else None


def extract_rating(reply: str | None, scale: Scale = DEFAULT_SCALE) -> Extraction:
    """Return the rating that a reply gives on a scale, and the rule that matched."""
    rules, ambiguous_patterns, ignored_patterns = _fill_scale_patterns(scale)
    text = clean_answer(reply)
    for pattern in ignored_patterns:
        text = compile_pattern(pattern).sub(" ", text)
    text = remove_sentences(text, extraction_rules.CONDITIONAL_SENTENCE)
    if any(compile_pattern(pattern).search(text) for pattern in ambiguous_patterns):
        return UNPARSED
    extraction = resolve_hits(find_hits(text, rules)) or UNPARSED
    rating = (
        str(extraction_rules.NUMERALS.index(extraction.value))
        if extraction.value in extraction_rules.NUMERALS
        else extraction.value
    )
    # The rules of full and no marks extract the words `full` and `none`.
    rating = {"full": scale[-1], "none": "0"}.get(rating, rating)
    return Extraction(rating, extraction.rule) if rating in scale else UNPARSED


@cache
def _fill_scale_patterns(scale: Scale) -> tuple[list[Rule], list[str], list[str]]:
    """Return a scale's extraction rules, the patterns of ambiguous replies, and the patterns of numbers to ignore."""

    def fill(pattern: str) -> str:
        numerals = "|".join(extraction_rules.NUMERALS[: len(scale)])
        return pattern.replace("<top>", scale[-1]).replace("<numeral>", numerals)

    rules = [rule._replace(pattern=fill(rule.pattern)) for rule in extraction_rules.RATING_RULES]
    return rules, list(map(fill, extraction_rules.AMBIGUOUS_RATING)), list(map(fill, extraction_rules.IGNORED_NUMBERS))
