"""The groups of people of a suite, and which files of their answers exist."""

from pathlib import Path
from typing import NamedTuple

from reprise.config.configuration import Configuration
from reprise.core.files import fitting_files
from reprise.core.paths import Results, Run
from reprise.core.store import Store

from human_evaluation.keys import Inputs
from human_evaluation.settings import AnswerDesign, Design, RatingDesign

WHOLE = "all"  # the rule by which people see the whole clip


class Group(NamedTuple):
    """A group of people, by the name that the suite gives it."""

    benchmark: str
    name: str
    design: Design

    @property
    def runs(self) -> list[Run]:
        """The run whose answers these people give, or the runs whose answers they rate."""
        names = [self.design.run] if isinstance(self.design, AnswerDesign) else self.design.runs
        return [Run.parse(f"{self.benchmark}/{name}") for name in names]

    @property
    def scope(self) -> str:
        """Whom an answer is from and what they saw, as far as the questions do not say it: tasks are named by it."""
        return f"{self.benchmark}/{self.name}/{WHOLE if self.rates else self.runs[0].sampling}"

    @property
    def rates(self) -> bool:
        return isinstance(self.design, RatingDesign)

    def result(self, results: Results, name: str) -> Path:
        return results.folder / "people" / self.benchmark / self.name / name


class Groups:
    """All groups of a suite."""

    def __init__(self, config: Configuration, store: Store) -> None:
        self._store = store
        self.all = [
            Group(benchmark, name, one)
            for benchmark, entry in config.suite.benchmarks.items()
            for name, one in entry.people.items()
        ]
        self.answering = {group.runs[0]: group for group in self.all if not group.rates}

    def raters(self, run: Run) -> Group | None:
        """The group that rates a run's answers, once somebody has."""
        groups = (group for group in self.all if group.rates and run in group.runs)
        return next((group for group in groups if self.inputs(group).answers), None)

    def inputs(self, group: Group) -> Inputs:
        test = group.design.qualification
        return Inputs(
            answers=self._digests(group.design.answers),
            left_out=self._digests(group.design.left_out),
            qualification=self._digests(test.questions if test else None),
        )

    def _digests(self, pattern: str | None) -> dict[str, str]:
        return {str(path): self._store.digest(path) for path in fitting_files(pattern)} if pattern else {}
