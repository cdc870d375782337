"""Find the groups of annotators of a suite, and the files with their answers."""

from pathlib import Path
from typing import NamedTuple

from reprise.config.configuration import Configuration
from reprise.core.files import glob_files
from reprise.core.paths import Results, Run
from reprise.core.store import Store

from human_evaluation.keys import AnswerFiles
from human_evaluation.settings import AnswerDesign, Design, RatingDesign

WHOLE_CLIP = "all"  # sampling rule with which annotators see the whole clip


class Group(NamedTuple):
    """A group of annotators."""

    benchmark: str
    name: str
    design: Design

    @property
    def runs(self) -> list[Run]:
        """Return the run that the group answers, or the runs that it rates."""
        names = [self.design.run] if isinstance(self.design, AnswerDesign) else self.design.runs
        return [Run.parse(f"{self.benchmark}/{name}") for name in names]

    @property
    def scope(self) -> str:
        """Return the prefix of the names of tasks: the group and its sampling.

        The name of a task must depend on the sampling, because annotators see other frames with another sampling.
        """
        return f"{self.benchmark}/{self.name}/{WHOLE_CLIP if self.is_rating else self.runs[0].sampling}"

    @property
    def is_rating(self) -> bool:
        return isinstance(self.design, RatingDesign)

    def result_path(self, results: Results, name: str) -> Path:
        """Return the path of a result of the group's stages."""
        return results.folder / "human_evaluation" / self.benchmark / self.name / name


class Groups:
    """Groups of annotators of a suite."""

    def __init__(self, config: Configuration, store: Store) -> None:
        self._store = store
        self.groups = [
            Group(benchmark, name, design)
            for benchmark, settings in config.suite.benchmarks.items()
            for name, design in settings.annotators.items()
        ]
        # A group that answers questions has exactly one run; groups that rate answers are not in this mapping.
        self.group_by_run = {group.runs[0]: group for group in self.groups if not group.is_rating}

    def find_rating_group(self, run: Run) -> Group | None:
        """Return the first group that rates a run and has files with ratings, or None."""
        groups = (group for group in self.groups if group.is_rating and run in group.runs)
        return next((group for group in groups if self.find_answer_files(group).answers), None)

    def find_answer_files(self, group: Group) -> AnswerFiles:
        """Return the files that exist for a group, with their digests."""
        qualification = group.design.qualification
        return AnswerFiles(
            answers=self._digests(group.design.answers),
            excluded_annotators=self._digests(group.design.excluded_annotators),
            qualification=self._digests(qualification.questions if qualification else None),
        )

    def _digests(self, pattern: str | None) -> dict[str, str]:
        return {str(path): self._store.digest(path) for path in glob_files(pattern)} if pattern else {}
