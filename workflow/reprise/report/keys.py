"""The key of the report: what is in it, and how it is called."""

from typing import Literal

from pydantic import Field

from reprise.benchmarks.keys import FINDERS
from reprise.benchmarks.registry import module_name
from reprise.core.keyfile import Key
from reprise.core.paths import Run, Scored
from reprise.core.settings import Settings


class ReportedRun(Settings):
    """A run whose answers the report shows, as its readers or one judge have read them."""

    run: str
    judge: str = ""
    label: str
    """its model's name in tables"""
    imported: bool = False
    """whether its answers were made elsewhere"""
    imported_ratings: bool = False
    """whether its judge's ratings were"""

    @property
    def scored(self) -> Scored:
        return Scored(Run.parse(self.run), self.judge)

    @property
    def page(self) -> str:
        """The file of its page."""
        return f"runs/{self.scored.name.replace('/', '.')}.html"


class ReportedBenchmark(Settings):
    """A benchmark with runs."""

    title: str
    passing_on: str = ""
    """why its clips must not be passed on; empty where nothing forbids it"""
    has_clips: bool
    """whether this site works on its videos"""
    forms: dict[str, str] = Field({})
    """protocol -> form of question"""
    runs: tuple[ReportedRun, ...] = ()


class ReportKey(Key):
    """Key of the stage `report`."""

    STAGE = "reprise.stages.report"
    CARRIERS = (*Key.CARRIERS, *FINDERS)
    suite: str
    suite_title: str
    notice: str = ""
    store: str
    clips: Literal["link", "copy"] = "link"
    shards: int = Field(ge=1)
    benchmarks: dict[str, ReportedBenchmark] = Field({})

    def modules(self) -> tuple[str, ...]:
        return (self.STAGE, *(module_name(benchmark, "scores") for benchmark in self.benchmarks))
