"""The key of the report: what is in it, and how it is called."""

from typing import Literal

from pydantic import Field

from reprise.core.paths import Run, Scored
from reprise.core.settings import KeyPart
from reprise.tables.keys import SuiteKey


def model_page(model: str) -> str:
    return f"models/{model}.html"


class ReportedRun(KeyPart):
    """A run whose answers the report shows, as its readers or one judge have read them."""

    run: str
    judge: str = ""
    label: str
    imported: bool = False  # whether its answers were made elsewhere
    imported_ratings: bool = False  # whether its judge's ratings were
    reference: bool = False  # whether its model is a baseline, which looks as it does on purpose
    views: dict[str, str] = Field({})  # view of time -> the run that is shown its frames so, whose numbers are here too

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
        """The name of the data that say where its numbers come from."""
        return f"{self.scored.run.benchmark}/made/{self.scored.name.replace('/', '.')}"


class ReportedTable(KeyPart):
    name: str
    statistics: bool = False  # whether it shows numbers of the data


class Headline(KeyPart):
    """The number that a benchmark leads with, and of which runs it is."""

    metric: str
    group: str
    title: str
    decimals: int
    table: str | None  # where the benchmark's chance stands
    protocol: str
    sampling: str


class ReportedBenchmark(KeyPart):
    name: str
    title: str
    passing_on: str = ""  # what the licence of its videos says about passing clips on
    has_clips: bool  # whether this site works on its videos
    forms: dict[str, str] = Field({})  # protocol -> form of question
    rated_to: dict[str, int] = Field({})  # protocol whose answers a judge rates -> the best rating
    headline: Headline | None = None
    runs: tuple[ReportedRun, ...] = ()
    tables: tuple[ReportedTable, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def scale(self) -> float:
        """The largest value of its headline."""
        return float(self.rated_to.get(self.headline.protocol, 100)) if self.headline else 100.0


class ReportKey(SuiteKey):
    clips: Literal["link", "copy"]
    level: float = 0.95  # of intervals
    shards: int = Field(ge=1)
    show_published: bool
    overview: bool
    time: tuple[str, ...] = ()
    site: dict[str, str] = Field({})  # digests of the fixed files and of the templates of pages, which are no code
    benchmarks: tuple[ReportedBenchmark, ...] = ()

    def browsed(self) -> list[ReportedBenchmark]:
        """The benchmarks with items to browse."""
        return [benchmark for benchmark in self.benchmarks if benchmark.runs]

    def runs(self) -> list[ReportedRun]:
        return [run for benchmark in self.benchmarks for run in benchmark.runs]

    def references(self) -> frozenset[str]:
        return frozenset(run.scored.run.model for run in self.runs() if run.reference)
