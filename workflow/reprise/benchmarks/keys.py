"""Define the settings of the stages `annotations`, `requests`, `judge_requests`, `metrics` and `data_statistics`."""

from operator import not_
from typing import Any, Literal

from pydantic import Field

from reprise.benchmarks.prompts import Prompt
from reprise.core.settings import Key
from reprise.extraction.keys import Pattern

DEFAULT_TEXT_CHARS_MAX = 200_000
# A field with `exclude_if=not_` is in the key only if it is set. Results that do not use it therefore keep their keys.


class BenchmarkKey(Key):
    """Settings of the stage `data_statistics`, and base class of the other settings that name a benchmark."""

    benchmark: str


class AnnotationsKey(BenchmarkKey):
    """Settings of the stage `annotations`."""

    clips: Literal["ids", "release", "files"]
    options: dict[str, Any] = Field({})
    """options for reading the release, and the suite's subset"""
    subset_sha256: str = ""
    """digest of the file that lists the subset"""
    text_chars_max: int = DEFAULT_TEXT_CHARS_MAX
    limit: int | None = Field(None, exclude_if=not_)
    """number of clusters to sample; all if null"""


class RequestsKey(BenchmarkKey):
    """Settings of the stage `requests`: the form, prompt and items of a protocol."""

    form: str
    request_type: str
    max_tokens: int
    items: str | None = None
    """group of items that the protocol queries; all items if null"""
    prompt: Prompt
    text_chars_max: int = DEFAULT_TEXT_CHARS_MAX


class JudgeRequestsKey(BenchmarkKey):
    """Settings of the stage `judge_requests`: the requests to a judge about the answers to a protocol."""

    form: str
    max_rating: int = 3
    max_tokens: int
    prompt: Prompt
    is_unparsed_only: bool = False
    """whether only the answers that `robust` leaves unparsed are sent to the judge"""
    extraction: str = "plain"
    patterns: tuple[Pattern, ...] = ()


class MetricsKey(BenchmarkKey):
    """Settings of the stage `metrics`: how the answers to a protocol are scored."""

    form: str
    items: str | None = None
    """group of items that the protocol queries; all items if null"""
    level: float
    """confidence level of the intervals"""
    is_sample: bool = Field(False, exclude_if=not_)
    """whether the run has a sample of the items, while annotators rated answers about all items"""
    ratings_sha256: str = ""
    """digest of the human ratings that a judge is compared with"""
    max_rating: int = 3
    """highest rating of judges and annotators"""
