"""Define the key of the report: the benchmarks, runs, tables and figures that it shows, and their labels."""

from collections.abc import Container
from typing import Literal

from pydantic import Field

from reprise.core.paths import Run, ScoredRun
from reprise.core.settings import KeyPart
from reprise.figures.styles import ModelStyle
from reprise.tables.keys import SuiteKey


def model_page(model: str) -> str:
    """Return the address of a model's page in the report."""
    return f"models/{model}.html"


class ReportedRun(KeyPart):
    """A scored run in the report."""

    run: str
    judge: str = ""
    label: str
    protocol_title: str = ""
    sampling_title: str = ""
    judge_label: str = ""
    imported: bool = False  # whether its answers are imported predictions
    imported_ratings: bool = False  # whether its judge's ratings are imported
    reference: bool = False  # whether its model is a baseline, whose health is not checked
    ablations: dict[str, str] = Field({})  # temporal ablation -> the run with this ablation

    @property
    def scored(self) -> ScoredRun:
        return ScoredRun(Run.parse(self.run), self.judge)

    @property
    def title(self) -> str:
        """Return protocol, sampling and judge in a reader's words."""
        run = self.scored.run
        parts = self.protocol_title or run.protocol, self.sampling_title or run.sampling, self.judge_title
        return ", ".join(filter(None, parts))

    @property
    def judge_title(self) -> str:
        """Return the judge without the remark in its label; empty without a judge."""
        return f"judged by {self.judge_label.partition(' (')[0] or self.judge}" if self.judge else ""

    @property
    def setting(self) -> str:
        """Return protocol, sampling and judge as the configuration names them."""
        run = self.scored.run
        return ", ".join(filter(None, (run.protocol, run.sampling, self.judge)))

    @property
    def page(self) -> str:
        return f"runs/{self.scored.name.replace('/', '.')}.html"

    @property
    def model_page(self) -> str:
        return model_page(self.scored.run.model)

    @property
    def provenance(self) -> str:
        """Return the name of the data file with the provenance of the run's numbers."""
        return f"{self.scored.run.benchmark}/provenance/{self.scored.name.replace('/', '.')}"


class ReportedModel(KeyPart):
    """A model of the leaderboard, which may have published numbers only."""

    label: str
    reference: bool = False  # whether it is a baseline or human annotators, which are never the best model
    style: ModelStyle | None = None  # its colour and marker in figures


class ReportedTable(KeyPart):
    """A table in the report."""

    name: str
    statistics: bool = False  # whether it shows statistics of the data


class Headline(KeyPart):
    """Main metric of a benchmark, and the protocol and sampling of the runs that are compared by it."""

    metric: str
    group: str
    title: str
    decimals: int
    table: str | None  # the paper's main table
    protocol: str
    sampling: str


class ReportedBenchmark(KeyPart):
    """A benchmark in the report, with its runs, tables and figures."""

    name: str
    title: str
    redistribution: str = ""  # what the licence of its videos says about redistribution
    has_clips: bool  # whether its videos are processed here
    forms: dict[str, str] = Field({})  # protocol -> question form
    protocol_titles: dict[str, str] = Field({})  # protocol -> its name for readers
    sampling_titles: dict[str, str] = Field({})  # sampling of the main table's rows -> what a model sees
    items: dict[str, str] = Field({})  # protocol -> group of items that it queries, unless it queries all items
    sample_counts: dict[str, int] = Field({})  # protocol -> number of the release's samples in the headline
    max_rating: dict[str, int] = Field({})  # protocol with a judge -> the best rating
    headline: Headline | None = None
    runs: tuple[ReportedRun, ...] = ()
    tables: tuple[ReportedTable, ...] = ()
    figures: tuple[str, ...] = ()

    def without_runs(self, names: Container[str]) -> "ReportedBenchmark":
        """Return the benchmark without some runs, also as ablations of others."""
        runs = []
        for run in self.runs:
            if run.scored.name not in names:
                ablations = {name: ablation for name, ablation in run.ablations.items() if ablation not in names}
                runs.append(run.model_copy(update={"ablations": ablations}))
        return self.model_copy(update={"runs": tuple(runs)})

    @property
    def scale(self) -> float:
        """Return the largest possible value of the headline metric."""
        return float(self.max_rating.get(self.headline.protocol, 100)) if self.headline else 100.0


class ReportKey(SuiteKey):
    """Key of the stage `report`."""

    clips: Literal["link", "copy"]  # whether pages link to the store's clips, or the report has copies
    level: float = 0.95  # confidence level of intervals
    shards: int = Field(ge=1)
    show_published: bool
    overview: bool
    overview_models: tuple[str, ...] = ()  # models of the overview, in its order
    models: dict[str, ReportedModel] = Field({})  # models of runs, of the main tables and of the overview
    temporal: tuple[str, ...] = ()
    site: dict[str, str] = Field({})  # name -> digest of the fixed files and the templates
    benchmarks: tuple[ReportedBenchmark, ...] = ()

    def browsable_benchmarks(self) -> list[ReportedBenchmark]:
        """Return the benchmarks whose items can be browsed, because they have runs."""
        return [benchmark for benchmark in self.benchmarks if benchmark.runs]

    def runs(self) -> list[ReportedRun]:
        return [run for benchmark in self.benchmarks for run in benchmark.runs]

    def reference_models(self) -> frozenset[str]:
        return frozenset(run.scored.run.model for run in self.runs() if run.reference)
