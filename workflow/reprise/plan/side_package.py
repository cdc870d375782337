"""Define what a side package (`reprise/config/side_packages.py`) adds to the plan of a suite that uses it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from reprise.core.paths import Run
from reprise.core.settings import Settings
from reprise.models.keys import RunKey
from reprise.plan.answers import ModelJob
from reprise.plan.rules import RuleInputs
from reprise.plan.run_keys import RunKeys
from reprise.plan.states import PendingJob, RunStates


class SidePackage(RuleInputs):
    """Base of the class `Package` of a side package, which also holds the input functions of its rules."""

    VERSIONS: ClassVar[Mapping[str, int]] = {}
    """Versions of the package's stages."""

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Settings]]:
        """Yield the settings of the package's stages by name."""
        yield from ()

    def pages(self) -> list[Path]:
        """Return the results that `snakemake all` produces."""
        return []

    # Models that are queried in addition to those of the suite's runs

    def jobs(self) -> Iterator[ModelJob]:
        """Yield the package's jobs that query a model."""
        yield from ()

    def pending_jobs(self, states: RunStates, benchmarks: Collection[str]) -> Iterator[PendingJob]:
        """Yield the pending inference jobs of these benchmarks, with their reasons."""
        yield from ()

    def summarize_outcome(self, targets: Sequence[str]) -> Iterator[str]:
        """Yield a line for each result that the workflow produced for these targets, or for all of them."""
        yield from ()

    # Answers and ratings from other sources

    def answer_files(self, run: Run) -> list[Path]:
        """Return the files of a run whose answers the package reads, or nothing for other runs."""
        return []

    def run_settings(self, runs: RunKeys, run: Run) -> RunKey | None:
        """Return the settings of a run whose answers the package reads, or None for other runs."""
        return None

    def rating_settings(self, runs: Sequence[Run]) -> list[Any]:
        """Return the settings that affect the package's human ratings of the answers of some runs."""
        return []

    def rating_files(self, run: Run) -> list[Path]:
        """Return the files of the package's human ratings of a run's answers."""
        return []
