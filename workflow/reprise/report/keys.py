"""The key of the report: its benchmarks with their runs, tables and figures, and their labels."""

from typing import Literal

from pydantic import Field

from reprise.core.paths import Run, Scored
from reprise.core.settings import KeyPart
from reprise.tables.keys import SuiteKey


def model_page(model: str) -> str:
    return f"models/{model}.html"


class ReportedRun(KeyPart):
    """A run whose answers the report shows, as read by its readers or by one judge."""

    run: str
    judge: str = ""
    label: str
    imported: bool = False  # whether its answers were made elsewhere
    imported_ratings: bool = False  # whether its judge's ratings were made elsewhere
    reference: bool = False  # whether its model is a baseline, whose answers may look broken on purpose
    views: dict[str, str] = Field({})  # temporal ablation -> the run with that ablation, also in the report

    @property
    def scored(self) -> Scored:
        return Scored(Run.parse(self.run), self.judge)

    @property
    def page(self) -> str:
        return f"runs/{self.scored.name.replace('/', '.')}.html"

    @property
    def model_page(self) -> str:
        return model_page(self.scored.run.model)

    @property
    def made(self) -> str:
        """Return the name of the data that hold the provenance of its numbers."""
        return f"{self.scored.run.benchmark}/made/{self.scored.name.replace('/', '.')}"


class ReportedTable(KeyPart):
    name: str
    statistics: bool = False  # whether it shows numbers of the data


class Headline(KeyPart):
    """The main number of a benchmark, and the conditions of its runs."""

    metric: str
    group: str
    title: str
    decimals: int
    table: str | None  # the table with the benchmark's chance
    protocol: str
    sampling: str


class ReportedBenchmark(KeyPart):
    name: str
    title: str
    passing_on: str = ""  # what the licence of its videos says about redistributing clips
    has_clips: bool  # whether this site processes its videos
    forms: dict[str, str] = Field({})  # protocol -> form of question
    rated_to: dict[str, int] = Field({})  # protocol whose answers a judge rates -> the best rating
    headline: Headline | None = None
    runs: tuple[ReportedRun, ...] = ()
    tables: tuple[ReportedTable, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def scale(self) -> float:
        """Return the largest possible value of its headline."""
        return float(self.rated_to.get(self.headline.protocol, 100)) if self.headline else 100.0


class ReportKey(SuiteKey):
    clips: Literal["link", "copy"]
    level: float = 0.95  # confidence level of intervals
    shards: int = Field(ge=1)
    show_published: bool
    overview: bool
    time: tuple[str, ...] = ()
    site: dict[str, str] = Field({})  # digests of the fixed files and the templates, which are not code
    benchmarks: tuple[ReportedBenchmark, ...] = ()

    def browsed(self) -> list[ReportedBenchmark]:
        """Return the benchmarks with items to browse."""
        return [benchmark for benchmark in self.benchmarks if benchmark.runs]

    def runs(self) -> list[ReportedRun]:
        return [run for benchmark in self.benchmarks for run in benchmark.runs]

    def references(self) -> frozenset[str]:
        return frozenset(run.scored.run.model for run in self.runs() if run.reference)
