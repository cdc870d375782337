"""Define the settings of answer extraction, among them the `patterns:` of a protocol or a model."""

import re

from pydantic import Field, field_validator

from reprise.core.names import PHRASE
from reprise.core.settings import Key, Settings, setting_error


class Pattern(Settings):
    """An extraction rule of a protocol or a model, which `robust` tries before its own rules."""

    name: str = Field(max_length=60, pattern=PHRASE)
    """Name of the rule in the column `extracted_by`."""
    pattern: str = Field(min_length=1, max_length=500)
    """Python regular expression, matched on the cleaned answer without regard to case. Its group `option` is the chosen
    option: `I vote for (?P<option>[AB])`."""

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        try:
            compiled = re.compile(pattern, re.IGNORECASE)
        except (re.error, RecursionError, OverflowError) as error:
            raise setting_error(f"'{pattern}' is not a regular expression: {error}.") from None
        if "option" not in compiled.groupindex:
            raise setting_error(f"'{pattern}' has no group `option`. Write it as `(?P<option>[AB])`.")
        if compiled.search(""):
            raise setting_error(f"'{pattern}' matches the empty text. Write a pattern that needs some text to match.")
        return pattern


class VerdictsKey(Key):
    """Settings of the stage `verdicts`: how answers to a protocol are extracted."""

    extraction: str
    patterns: tuple[Pattern, ...] = ()
    """extraction rules of the protocol"""
    embedder: str | None = None
    """version of the package that embeds texts, if answers are compared with a reference text"""
