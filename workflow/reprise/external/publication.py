"""Numbers of a model's runs as they are published elsewhere, whatever the format."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from reprise.core.paths import ScoredRun

Deployment = Literal["self_deployed", "externally_managed", "unknown"]


class PublishedNumber(NamedTuple):
    """A main number of a run, which is better if it is higher."""

    metric: str
    group: str
    title: str
    value: float
    low: float | None
    high: float | None
    scored: int


class PublishedRun(NamedTuple):
    """A run with its main numbers; the last one is the headline."""

    scored: ScoredRun
    title: str  # of the benchmark, with the suite if the data are not those of the hub
    name: str  # of the data: that of the benchmark, or also the kind of another release, such as `velociti-toyworld`
    dataset: str  # repository of the data set on the hub; empty if the data come from elsewhere
    revision: str
    hub_task: str  # task of the hub's benchmark, for its leaderboard; empty if the hub has none
    limit: int | None  # size of the sample of videos or pairs; None for the whole benchmark
    numbers: Sequence[PublishedNumber]
    max_value: float
    level: float  # of the intervals
    date: str
    key: str  # digest of the settings that shape the answers
    notes: Sequence[str]  # what a reader of the numbers must know

    @property
    def conditions(self) -> str:
        """Return the protocol, the sampling, the judge and the sample, which belong to the name of each number."""
        run = self.scored.run
        sample = f"sample of {self.limit} videos or pairs" if self.limit else ""
        judge = f"judge {self.scored.judge}" if self.scored.judge else ""
        return ", ".join(filter(None, (run.protocol, run.sampling, judge, sample)))

    @property
    def sample_name(self) -> str:
        """Return the name of the data with its sample, so that nobody takes a sample for the whole benchmark."""
        return f"{self.name}.sample{self.limit}" if self.limit else self.name

    def number_name(self, number: PublishedNumber) -> str:
        return f"{number.title} ({self.conditions})"


class Publication(NamedTuple):
    """A model with its runs."""

    slug: str
    label: str
    repo: str  # of the model on the hub; empty if it has none
    revision: str
    engine: str  # adapter, or engine of the server
    deployment: Deployment
    has_open_weights: bool
    organization: str  # that publishes the numbers; empty if unknown
    version: str  # of Reprise
    runs: Sequence[PublishedRun]

    @property
    def model_id(self) -> str:
        return self.repo or self.slug
