"""The groups of people that a suite asks: which runs their answers are, and which files hold them."""

from pathlib import Path
from typing import NamedTuple

from reprise.config.configuration import Configuration
from reprise.core.files import fitting_files
from reprise.core.paths import Results, Run
from reprise.core.store import Store
from reprise.people.keys import Inputs
from reprise.people.settings import AnswerDesign, Design, RatingDesign

WHOLE = "all"
"""the rule by which people see the whole clip"""
RATED, RATINGS = "rated.parquet", "ratings.csv"


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


def people_file(results: Results, group: Group, name: str) -> Path:
    """A file that is made of what a group of people is asked or says."""
    return results.folder / "people" / group.benchmark / group.name / name


class People:
    """The groups of a suite, and their files."""

    def __init__(self, config: Configuration) -> None:
        self._store = Store(Path(config.main.store))
        entries = config.suite.benchmarks.items()
        self.groups = [
            Group(benchmark, name, one) for benchmark, entry in entries for name, one in entry.people.items()
        ]
        self.answering = {group.runs[0]: group for group in self.groups if not group.rates}
        """the groups whose answers are a run, by that"""

    def of(self, benchmark: str) -> list[Group]:
        """Those who are asked about a benchmark."""
        return [group for group in self.groups if group.benchmark == benchmark]

    def group(self, benchmark: str, name: str) -> Group:
        """A group by its names."""
        return next(one for one in self.groups if (one.benchmark, one.name) == (benchmark, name))

    def raters(self, run: Run) -> Group | None:
        """The group that rates a run's answers, once somebody has."""
        groups = (group for group in self.groups if group.rates and run in group.runs)
        return next((group for group in groups if self.inputs(group).answers), None)

    def inputs(self, group: Group) -> Inputs:
        """The files of a group, by content."""
        design = group.design
        questions = [Path(design.qualification.questions)] if design.qualification else []
        return Inputs(
            answers=self._digests(fitting_files(design.answers)),
            left_out=self._digests(fitting_files(design.left_out) if design.left_out else []),
            qualification=self._digests([path for path in questions if path.is_file()]),
        )

    def _digests(self, paths: list[Path]) -> dict[str, str]:
        return {str(path): self._store.digest(path) for path in paths}
