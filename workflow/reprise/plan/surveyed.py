"""What the rules ask about groups of people, and the keys of their surveys and of their numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.core.keyfile import Key
from reprise.core.names import one_of
from reprise.core.paths import Run
from reprise.people.keys import Inputs, PeopleStatisticsKey, SurveysKey
from reprise.plan.people import Group
from reprise.plan.runs import Plan

Wildcards = Any
PAGE = "statistics.md"
WHOLE = "all"
"""the rule by which people see the whole clip"""


def group_keys(plan: Plan, group: Group) -> Iterator[tuple[Path, Key]]:
    """The key files of a group's surveys and of its numbers; without the digests of their code."""
    files = plan.imports.people.inputs(group.run)
    asked = Inputs(answers={}, qualification=files.qualification)
    sampling = plan.config.main.samplings[group.run.sampling]
    surveys = SurveysKey(design=group.design, sampling=sampling, files=asked)
    title, notice = plan.config.benchmarks[group.benchmark].title, plan.config.suite.notice
    yield plan.results.key("people", group.benchmark, group.name, "surveys"), surveys
    statistics = PeopleStatisticsKey(
        benchmark=group.benchmark, title=title, notice=notice, design=group.design, files=files
    )
    yield plan.results.key("people", group.benchmark, group.name, "statistics"), statistics


class Surveyed:
    """What the rules of people's answers ask."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._people = plan.imports.people

    def groups(self) -> str:
        """The names of all groups, as a wildcard's pattern."""
        return one_of({group.name for group in self._people.designs.values()})

    def pages(self) -> list[Path]:
        """The page of numbers of each group of which somebody has answered."""
        answered = [group for run, group in self._people.designs.items() if self._plan.imports.of_people(run)]
        folder = self._plan.results.folder / "people"
        return [folder / group.benchmark / group.name / PAGE for group in answered]

    def stage(self, wildcards: Wildcards) -> str:
        """The stage that reads an imported run's files: people's, or those in the authors' formats."""
        run = Run(wildcards.benchmark, wildcards.protocol, wildcards.sampling, wildcards.model)
        return "people_answers" if self._plan.imports.of_people(run) else "import_answers"

    def files(self, wildcards: Wildcards) -> list[Path]:
        """The files with a group's answers, and with what decides whose answers count."""
        return self._people.inputs(self._run(wildcards)).paths()

    def test(self, wildcards: Wildcards) -> list[Path]:
        """The file of a group's qualification."""
        return [Path(name) for name in self._people.inputs(self._run(wildcards)).qualification]

    def requests(self, wildcards: Wildcards) -> Path:
        """The questions that a group is asked."""
        run = self._run(wildcards)
        return self._plan.results.requests(run.benchmark, run.protocol)

    def frames(self, wildcards: Wildcards) -> list[Path]:
        """Which frames a group is shown; nothing where it sees whole clips."""
        run = self._run(wildcards)
        is_whole = self._plan.config.main.samplings[run.sampling]["rule"] == WHOLE
        return [] if is_whole else [self._plan.results.frames(run.benchmark, run.sampling)]

    def ledgers(self, wildcards: Wildcards) -> list[Path]:
        """The clips of its benchmark."""
        shards = range(self._plan.config.suite.shards)
        return [self._plan.results.ledger("clips", wildcards.benchmark, shard) for shard in shards]

    def _run(self, wildcards: Wildcards) -> Run:
        return self._people.group(wildcards.benchmark, wildcards.group).run
