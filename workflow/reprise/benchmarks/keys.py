"""Define the keys of the stages `annotations`, `requests`, `judge_requests`, `metrics` and `data_statistics`."""

from operator import not_
from typing import Any, Literal

from pydantic import Field

from reprise.benchmarks.prompts import Prompt
from reprise.core.settings import Key
from reprise.reading.keys import Pattern

LONGEST_TEXT = 200_000


class BenchmarkKey(Key):
    """Key of the stage `data_statistics`, and what other keys about a benchmark hold too."""

    benchmark: str


class AnnotationsKey(BenchmarkKey):
    """Key of the stage `annotations`."""

    clips: Literal["ids", "release", "files"]
    options: dict[str, Any] = Field({})
    """options for reading the release, and the suite's subset"""
    subset_sha256: str = ""
    """digest of the file that lists the subset"""
    text_chars_max: int = LONGEST_TEXT
    limit: int | None = Field(None, exclude_if=not_)
    """number of units, where only a part of them is asked about"""


class RequestsKey(BenchmarkKey):
    """Key of the stage `requests`: what a protocol asks of which items."""

    form: str
    ask: str
    max_tokens: int
    items: str | None = None
    prompt: Prompt
    text_chars_max: int = LONGEST_TEXT


class JudgeRequestsKey(BenchmarkKey):
    """Key of the stage `judge_requests`: what a judge is asked about the answers of a protocol."""

    form: str
    rated_to: int = 3
    max_tokens: int
    prompt: Prompt
    unread_only: bool = False
    """whether only what `robust` leaves unread is put to it"""
    reading: str = "plain"
    patterns: tuple[Pattern, ...] = ()


class MetricsKey(BenchmarkKey):
    """Key of the stage `metrics`: how the answers of a protocol are scored."""

    form: str
    items: str | None = None
    level: float
    """of intervals"""
    is_part: bool = Field(False, exclude_if=not_)
    """whether only some items are asked about, while people rated answers about all"""
    ratings_sha256: str = ""
    """digest of people's ratings, against which a judge is measured"""
    rated_to: int = 3
    """highest rating by judges and by people"""
