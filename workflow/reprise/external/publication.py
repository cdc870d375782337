"""Data for the publication of a model's numbers, independent of the format: the model, its runs and their numbers."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from reprise.core.paths import ScoredRun

Deployment = Literal["self_deployed", "externally_managed", "unknown"]
"""Who ran the model, by the terms of Every Eval Ever: the evaluator (in a job), a vendor, or unknown."""


class PublishedNumber(NamedTuple):
    """A main number of a run; a higher number is better."""

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
    max_value: float  # highest possible number: 100 for percentages, or the highest rating
    level: float  # confidence level of the intervals
    date: str  # day of the last answer, such as 2026-12-11
    key: str  # digest of the settings that shape the answers
    notes: Sequence[str]  # what a reader of the numbers must know

    @property
    def conditions(self) -> str:
        """Return the protocol, the sampling, the judge and the sample, which belong to the name of each number."""
        run = self.scored.run
        sample = f"sample of at most {self.limit} videos or pairs" if self.limit else ""
        judge = f"judge {self.scored.judge}" if self.scored.judge else ""
        return ", ".join(filter(None, (run.protocol, run.sampling, judge, sample)))

    @property
    def sample_name(self) -> str:
        """Return the name of the data with its sample, so that nobody takes a sample for the whole benchmark."""
        return f"{self.name}.sample{self.limit}" if self.limit else self.name

    def number_name(self, number: PublishedNumber) -> str:
        """Return the name of a number with the conditions of the run."""
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
    organization: str  # the organization that publishes the numbers; empty if unknown
    version: str  # version of Reprise
    runs: Sequence[PublishedRun]

    @property
    def model_id(self) -> str:
        """Return the model's repository on the hub, or its slug if it has none."""
        return self.repo or self.slug
