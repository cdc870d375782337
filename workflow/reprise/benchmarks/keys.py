"""Keys of what is made of a release: annotations, requests, a judge's requests, metrics, numbers of the data."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.registry import has_part, module_name
from reprise.core.keyfile import Key
from reprise.reading.patterns import Pattern

LONGEST_TEXT = 200_000
FINDERS = ("reprise.benchmarks.registry", "reprise.benchmarks.contract")
"""They load a benchmark's modules, each of which counts where it is used."""


class BenchmarkKey(Key):
    """The key of a job that runs a module of the benchmark, if the benchmark has that module."""

    CARRIERS = (*Key.CARRIERS, *FINDERS)
    PART: ClassVar[str] = ""
    """name of the module in the benchmark's folder"""
    benchmark: str

    def modules(self) -> tuple[str, ...]:
        own = [module_name(self.benchmark, self.PART)] if has_part(self.benchmark, self.PART) else []
        return (self.STAGE, *own)


class AnnotationsKey(BenchmarkKey):
    """Key of the stage `annotations`."""

    STAGE = "reprise.stages.annotations"
    PART = "release"
    clips: Literal["ids", "release", "files"]
    options: dict[str, Any] = Field({})
    """options for reading the release, and the suite's subset"""
    subset_sha256: str = ""
    """digest of the file that lists the subset"""
    text_chars_max: int = LONGEST_TEXT


class StatisticsKey(BenchmarkKey):
    """Key of the stage `statistics`."""

    STAGE = "reprise.stages.data_statistics"
    PART = "data_statistics"


class RequestsKey(BenchmarkKey):
    """Key of the stage `requests`: what a protocol asks of which items."""

    STAGE = "reprise.stages.requests"
    PART = "questions"
    form: str
    ask: str
    max_tokens: int
    items: str | None = None
    prompt: Prompt
    text_chars_max: int = LONGEST_TEXT


class JudgeRequestsKey(BenchmarkKey):
    """Key of the stage `judge_requests`: what a judge is asked about the answers of a protocol."""

    STAGE = "reprise.stages.judge_requests"
    PART = "answers"
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

    STAGE = "reprise.stages.metrics"
    PART = "scores"
    form: str
    items: str | None = None
    level: float
    """of intervals"""
    ratings_sha256: str = ""
    """digest of people's ratings, against which a judge is measured"""
    rated_to: int = 3
    """highest rating by judges and by people"""

    def modules(self) -> tuple[str, ...]:
        analyses = [module_name(self.benchmark, "analyses")] if has_part(self.benchmark, "analyses") else []
        return (*super().modules(), *analyses)
