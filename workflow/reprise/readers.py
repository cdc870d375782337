"""Readers of answers: `authors` does what the authors' scripts do, `robust` reads what a person would."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reprise.robust import read_robust

READERS = ("authors", "robust")
OUTPUT_BLOCK = re.compile(r"<<<output>>>(.*?)(?:<<</?output>>>|<</output>>>|\Z)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """The option that was read, empty when none was, and the score behind it if there is one."""

    value: str
    score: float | None


def read_scores(scores: Sequence[float], options: Sequence[str]) -> Reading:
    """The option above one half of the two options' mass (paper, eq. 1); a tie is no answer."""
    total = scores[0] + scores[1]
    if total <= 0:
        return Reading("", None)
    score = scores[0] / total
    return Reading(options[0] if score > 0.5 else options[1] if score < 0.5 else "", score)


def read_authors(text: str, options: Sequence[str]) -> Reading:
    """VELOCITI's scripts: a letter must stand bare; Yes and No are searched as substrings, Yes first."""
    if set(options) == {"Yes", "No"}:
        return Reading(next((option for option in ("Yes", "No") if option in text), ""), None)
    return Reading(text if text in options else "", None)


def read_first_character(text: str, options: Sequence[str]) -> Reading:
    """TemporalBench's and Vinoground's scripts: the first character and nothing else, so "A person ..." is A."""
    return Reading(next((option for option in options if text[:1].lower() == option.lower()), ""), None)


def read_like_a_person(text: str, options: Sequence[str], option_texts: Sequence[str]) -> Reading:
    """What a person would read; nothing where a person would hesitate. The texts let a restated caption count."""
    captions = dict(zip(options, option_texts, strict=True)) if option_texts else None
    return Reading(read_robust(text, options, captions), None)


def output_block(text: str) -> str:
    """What a chain of thought says inside its last `<<<output>>>` tags; empty when it never got there."""
    blocks = OUTPUT_BLOCK.findall(text)
    return blocks[-1].strip() if blocks else ""
