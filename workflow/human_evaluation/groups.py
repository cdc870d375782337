"""The groups of annotators of a suite, and the existing files of their answers."""

from pathlib import Path
from typing import NamedTuple

from reprise.config.configuration import Configuration
from reprise.core.files import glob_files
from reprise.core.paths import Results, Run
from reprise.core.store import Store

from human_evaluation.keys import AnswerFiles
from human_evaluation.settings import AnswerDesign, Design, RatingDesign

WHOLE = "all"  # the sampling rule under which annotators see the whole clip


class Group(NamedTuple):
    """A group of annotators and its name in the suite."""

    benchmark: str
    name: str
    design: Design

    @property
    def runs(self) -> list[Run]:
        """Return the run whose answers these annotators give, or the runs whose answers they rate."""
        names = [self.design.run] if isinstance(self.design, AnswerDesign) else self.design.runs
        return [Run.parse(f"{self.benchmark}/{name}") for name in names]

    @property
    def scope(self) -> str:
        """Return the prefix of task names: the group and its sampling, which the questions themselves do not state."""
        return f"{self.benchmark}/{self.name}/{WHOLE if self.rates else self.runs[0].sampling}"

    @property
    def rates(self) -> bool:
        return isinstance(self.design, RatingDesign)

    def result(self, results: Results, name: str) -> Path:
        return results.folder / "human_evaluation" / self.benchmark / self.name / name


class Groups:
    """All groups of annotators of a suite."""

    def __init__(self, config: Configuration, store: Store) -> None:
        self._store = store
        self.all = [
            Group(benchmark, name, design)
            for benchmark, entry in config.suite.benchmarks.items()
            for name, design in entry.annotators.items()
        ]
        self.answering = {group.runs[0]: group for group in self.all if not group.rates}

    def raters(self, run: Run) -> Group | None:
        """Return the group that rates a run's answers, or None as long as it has no file of ratings."""
        groups = (group for group in self.all if group.rates and run in group.runs)
        return next((group for group in groups if self.inputs(group).answers), None)

    def inputs(self, group: Group) -> AnswerFiles:
        qualification = group.design.qualification
        return AnswerFiles(
            answers=self._digests(group.design.answers),
            left_out=self._digests(group.design.left_out),
            qualification=self._digests(qualification.questions if qualification else None),
        )

    def _digests(self, pattern: str | None) -> dict[str, str]:
        return {str(path): self._store.digest(path) for path in glob_files(pattern)} if pattern else {}
