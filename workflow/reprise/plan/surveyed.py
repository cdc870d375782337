"""What the rules ask about groups of people, and the keys of their surveys and of their numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.core.errors import UserError
from reprise.core.files import value_digest
from reprise.core.keyfile import Key
from reprise.core.names import one_of
from reprise.core.paths import Run
from reprise.people.keys import Inputs, PeopleStatisticsKey, RatedKey, RatingsKey, SurveysKey, TasksKey
from reprise.people.settings import RatingDesign
from reprise.plan.people import WHOLE, Group
from reprise.plan.runs import Plan

Wildcards = Any
PAGE, RATED, RATINGS = "statistics.md", "rated.parquet", "ratings.csv"


def group_keys(plan: Plan, group: Group) -> Iterator[tuple[Path, Key]]:
    """The key files of a group's surveys and of its numbers; without the digests of their code."""
    people, design = plan.imports.people, group.design
    files = people.inputs(group)

    def path(stage: str) -> Path:
        return plan.results.key("people", group.benchmark, group.name, stage)

    sampling = {} if group.rates else plan.config.main.samplings[group.runs[0].sampling]
    asked = Inputs(answers={}, qualification=files.qualification)
    yield path("surveys"), SurveysKey(scope=group.scope, design=design, sampling=sampling, files=asked)
    yield path("tasks"), TasksKey()
    title, notice = plan.config.benchmarks[group.benchmark].title, plan.config.suite.notice
    yield (
        path("statistics"),
        PeopleStatisticsKey(
            benchmark=group.benchmark, title=title, notice=notice, scope=group.scope, design=design, files=files
        ),
    )
    if isinstance(design, RatingDesign):
        runs = tuple(run.name for run in rated_here(plan, group))
        yield path("rated"), RatedKey(runs=runs, questions=design.questions, seed=design.seed)
        yield path("ratings"), RatingsKey(scope=group.scope, design=design, files=files)


def rated_here(plan: Plan, group: Group) -> list[Run]:
    """The runs that a group rates and whose answers this site can have."""
    return [run for run in group.runs if run in plan.runs()]


def ratings_digest(plan: Plan, benchmark: str, protocol: str) -> str:
    """The digest of people's ratings of a protocol's answers; empty where no judge rates them, or nobody has."""
    if not plan.is_judged(benchmark, protocol):
        return ""
    if files := _suite_ratings(plan, benchmark):
        return plan.store.digest(files[0])
    people = plan.imports.people
    runs = [run for run in plan.runs() if (run.benchmark, run.protocol) == (benchmark, protocol)]
    groups = {group.name: group for run in runs if (group := people.raters(run))}
    said = [
        [group.scope, group.design.model_dump(mode="json"), people.inputs(group).model_dump()]
        for group in groups.values()
    ]
    return value_digest(said) if said else ""


def _suite_ratings(plan: Plan, benchmark: str) -> list[Path]:
    """The file of ratings that the suite names, if it exists."""
    name = plan.config.suite.benchmarks[benchmark].ratings
    return [Path(name)] if name and Path(name).is_file() else []


def _run(wildcards: Wildcards) -> Run:
    return Run(wildcards.benchmark, wildcards.protocol, wildcards.sampling, wildcards.model)


class Surveyed:
    """What the rules of people's answers ask."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._people = plan.imports.people

    def groups(self) -> str:
        """The names of all groups, as a wildcard's pattern."""
        return one_of({group.name for group in self._people.groups})

    def rating_groups(self) -> str:
        """Those of the groups that rate answers."""
        return one_of({group.name for group in self._people.groups if group.rates})

    def pages(self) -> list[Path]:
        """The page of numbers of each group of which somebody has answered."""
        answered = [group for group in self._people.groups if self._people.inputs(group).answers]
        made = [group for group in answered if not group.rates or rated_here(self._plan, group)]
        return [self._folder(group) / PAGE for group in made]

    def stage(self, wildcards: Wildcards) -> str:
        """The stage that reads an imported run's files: people's, or those in the authors' formats."""
        return "people_answers" if self._plan.imports.of_people(_run(wildcards)) else "import_answers"

    def files(self, wildcards: Wildcards) -> list[Path]:
        """The files with a group's answers, and with what decides whose answers count."""
        return self._people.inputs(self._group(wildcards)).paths()

    def test(self, wildcards: Wildcards) -> list[Path]:
        """The file of a group's qualification."""
        return [Path(name) for name in self._people.inputs(self._group(wildcards)).qualification]

    def requests(self, wildcards: Wildcards) -> Path:
        """The questions that a group is asked, or the answers that it rates."""
        group = self._group(wildcards)
        if group.rates:
            return self._folder(group) / RATED
        return self._plan.results.requests(group.benchmark, group.runs[0].protocol)

    def answers(self, wildcards: Wildcards) -> list[Path]:
        """The answers of the runs that a group rates."""
        group = self._group(wildcards)
        runs = rated_here(self._plan, group)
        if not runs:
            named = ", ".join(run.name for run in group.runs)
            raise UserError(
                f"people.{group.name}: none of the runs that it rates is made here: {named}. "
                "Name their models in `run:` of the suite, or import their answers."
            )
        folder = self._plan.results.folder / "answers"
        return [folder / run.benchmark / run.protocol / run.sampling / f"{run.model}.parquet" for run in runs]

    def ratings(self, wildcards: Wildcards) -> list[Path]:
        """The file of people's ratings of a run: the suite's, or what a group comes to once somebody has rated."""
        group = self._people.raters(_run(wildcards))
        return [self._folder(group) / RATINGS] if group else _suite_ratings(self._plan, wildcards.benchmark)

    def frames(self, wildcards: Wildcards) -> list[Path]:
        """Which frames a group is shown; nothing where it sees whole clips, as those who rate do."""
        group = self._group(wildcards)
        run = group.runs[0]
        is_whole = group.rates or self._plan.config.main.samplings[run.sampling]["rule"] == WHOLE
        return [] if is_whole else [self._plan.results.frames(run.benchmark, run.sampling)]

    def ledgers(self, wildcards: Wildcards) -> list[Path]:
        """The clips of its benchmark."""
        shards = range(self._plan.config.suite.shards)
        return [self._plan.results.ledger("clips", wildcards.benchmark, shard) for shard in shards]

    def _folder(self, group: Group) -> Path:
        return self._plan.results.folder / "people" / group.benchmark / group.name

    def _group(self, wildcards: Wildcards) -> Group:
        return self._people.group(wildcards.benchmark, wildcards.group)
