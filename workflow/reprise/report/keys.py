"""The key of the report: what is in it, and how it is called."""

from typing import Literal

from pydantic import Field

from reprise.benchmarks.registry import has_part, module_name
from reprise.core.behind import Behind
from reprise.core.paths import Results, Run, Scored
from reprise.core.settings import Settings
from reprise.tables.keys import SuiteKey


class ReportedRun(Settings):
    """A run whose answers the report shows, as its readers or one judge have read them."""

    run: str
    judge: str = ""
    label: str
    """its model's name in tables"""
    reference: bool = False
    """whether its model is a baseline, which looks as it does on purpose"""
    imported: bool = False
    """whether its answers were made elsewhere"""
    imported_ratings: bool = False
    """whether its judge's ratings were"""
    weights: bool = False
    """whether its model's weights are fetched"""
    environment: str = ""
    """of the server that its model runs at"""

    @property
    def scored(self) -> Scored:
        return Scored(Run.parse(self.run), self.judge)

    def behind(self, results: Results, shards: int) -> Behind:
        """The files behind its numbers."""
        return Behind(
            results, self.scored, shards, self.imported, self.imported_ratings, self.weights, self.environment
        )

    @property
    def page(self) -> str:
        """The file of its page."""
        return f"runs/{self.scored.name.replace('/', '.')}.html"

    @property
    def made(self) -> str:
        """The name of the data that say where its numbers come from."""
        return f"{self.scored.run.benchmark}/made/{self.scored.name.replace('/', '.')}"


class ReportedTable(Settings):
    """A table."""

    name: str
    statistics: bool = False
    """whether it shows numbers of the data"""


class ReportedBenchmark(Settings):
    """A benchmark of the suite."""

    name: str
    title: str
    passing_on: str = ""
    """what the licence of its videos says about passing clips on"""
    has_clips: bool
    """whether this site works on its videos"""
    forms: dict[str, str] = Field({})
    """protocol -> form of question"""
    rated_to: dict[str, int] = Field({})
    """protocol whose answers a judge rates -> the best rating"""
    runs: tuple[ReportedRun, ...] = ()
    tables: tuple[ReportedTable, ...] = ()
    figures: tuple[str, ...] = ()


class ReportKey(SuiteKey):
    """Key of the stage `report`."""

    STAGE = "reprise.stages.report"
    clips: Literal["link", "copy"]
    shards: int = Field(ge=1)
    show_published: bool
    overview: bool
    """whether the suite has one"""
    site: dict[str, str] = Field({})
    """digests of the fixed files and of the templates of pages, which are no code"""
    benchmarks: tuple[ReportedBenchmark, ...] = ()

    def modules(self) -> tuple[str, ...]:
        parts = [(benchmark.name, part) for benchmark in self.benchmarks for part in ("scores", "analyses")]
        return (self.STAGE, *(module_name(*one) for one in parts if has_part(*one)))

    def browsed(self) -> list[ReportedBenchmark]:
        """The benchmarks with items to browse."""
        return [benchmark for benchmark in self.benchmarks if benchmark.runs]

    def runs(self) -> list[ReportedRun]:
        """The runs of all benchmarks."""
        return [run for benchmark in self.benchmarks for run in benchmark.runs]
