"""Define the interface of side packages (`reprise/config/side_packages.py`) to the plan of a suite."""

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
    """Base of the class `Package` of a side package. The class also has the input functions of the package's rules."""

    VERSIONS: ClassVar[Mapping[str, int]] = {}
    """Versions of the package's stages."""

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Settings]]:
        """Yield the key of each stage of the package, with its name."""
        yield from ()

    def pages(self) -> list[Path]:
        """Return the results that `snakemake all` produces."""
        return []

    # Requests to models in addition to those of the suite's runs

    def model_jobs(self) -> Iterator[ModelJob]:
        """Yield the package's jobs that query a model."""
        yield from ()

    def pending_jobs(self, states: RunStates, benchmarks: Collection[str]) -> Iterator[PendingJob]:
        """Yield the pending inference jobs of these benchmarks, with their reasons."""
        yield from ()

    def summarize_outcome(self, targets: Sequence[str]) -> Iterator[str]:
        """Yield a summary line for each result of these targets; without targets, for each result of the package."""
        yield from ()

    # Answers and ratings that the package imports

    def answer_files(self, run: Run) -> list[Path]:
        """Return the files with a run's answers, if the package imports them."""
        return []

    def run_settings(self, run_keys: RunKeys, run: Run) -> RunKey | None:
        """Return the key of a run whose answers the package imports, or None for other runs."""
        return None

    def rating_settings(self, runs: Sequence[Run]) -> list[Any]:
        """Return the settings that affect the package's human ratings of these runs."""
        return []

    def rating_files(self, run: Run) -> list[Path]:
        """Return the files with the package's human ratings of a run."""
        return []
