"""What a side package (`reprise/config/side_packages.py`) adds to the plan of a suite that has one of its keys."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from reprise.core.paths import Run
from reprise.core.settings import Settings
from reprise.models.keys import RunKey
from reprise.plan.answers import Job
from reprise.plan.rules import Asked
from reprise.plan.run_keys import RunKeys
from reprise.plan.states import Asking, States


class SidePackage(Asked):
    """Base of the class `Package` of a side package, which also has the input functions of its rules."""

    VERSIONS: ClassVar[Mapping[str, int]] = {}
    """The versions of its stages."""

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Settings]]:
        """Yield the settings of its stages by name."""
        yield from ()

    def pages(self) -> list[Path]:
        """Return what `snakemake all` makes of it."""
        return []

    # Models that are queried besides those of the suite's runs

    def jobs(self) -> Iterator[Job]:
        """Yield its jobs that query a model."""
        yield from ()

    def askings(self, states: States, benchmarks: Collection[str]) -> Iterator[Asking]:
        """Yield those of them that a run of snakemake would start for these benchmarks, and why."""
        yield from ()

    def outcome(self, targets: Sequence[str]) -> Iterator[str]:
        """Yield a line for each thing that a run of snakemake made for these targets, or for all of them."""
        yield from ()

    # Answers and ratings that come from elsewhere

    def answer_files(self, run: Run) -> list[Path]:
        """Return the files of a run whose answers it reads; none where it reads none."""
        return []

    def run_settings(self, runs: RunKeys, run: Run) -> RunKey | None:
        """Return the settings of such a run."""
        return None

    def rating_settings(self, runs: Sequence[Run]) -> list[Any]:
        """Return what shapes the human ratings that it has of the answers of some runs."""
        return []

    def rating_files(self, run: Run) -> list[Path]:
        """Return the file of the human ratings that it has of a run's answers."""
        return []
