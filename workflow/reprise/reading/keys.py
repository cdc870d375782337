"""The key of the extracted answers, and `patterns:`, rules of a protocol or a model that `robust` tries first."""

import re

from pydantic import Field, field_validator

from reprise.core.names import PHRASE
from reprise.core.settings import Key, Settings, mistake


class Pattern(Settings):
    """A phrasing of one protocol or model."""

    name: str = Field(max_length=60, pattern=PHRASE)
    """What the row is called where a verdict says how it was read."""
    pattern: str = Field(min_length=1, max_length=500)
    """A regular expression of Python, case ignored, tried on the cleaned answer; its group `option` holds the option:
    `I vote for (?P<option>[AB])`."""

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        try:
            compiled = re.compile(pattern, re.IGNORECASE)
        except (re.error, RecursionError, OverflowError) as error:
            raise mistake(f"'{pattern}' is no regular expression: {error}.") from None
        if "option" not in compiled.groupindex:
            raise mistake(f"'{pattern}' has no group for the option. Write it as `(?P<option>[AB])`.")
        if compiled.search(""):
            raise mistake(f"'{pattern}' fits every text, an empty one too. Say what must stand there.")
        return pattern


class VerdictsKey(Key):
    """Key of the stage `verdicts`: how the answers of a protocol are read."""

    reading: str
    patterns: tuple[Pattern, ...] = ()
    """rows of the protocol's own"""
    embedder: str | None = None
    """version of the package that embeds texts, where answers are compared with what is expected"""
