"""For people.smk: surveys for groups of people, and numbers of what they answered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reprise.core.errors import UserError
from reprise.core.names import one_of
from reprise.core.paths import Run
from reprise.core.settings import Key
from reprise.people.keys import Inputs, PeopleStatisticsKey, RatedKey, RatingsKey, SurveysKey
from reprise.people.settings import RatingDesign
from reprise.plan.imported import RATED, WHOLE, Group, people_file
from reprise.plan.rules import Asked
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan


class People(Asked):
    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._people = plan.imports.people
        # Wildcards' patterns: all groups, and those that rate answers.
        self.groups = one_of({group.name for group in self._people.groups})
        self.rating_groups = one_of({group.name for group in self._people.groups if group.rates})

    def keys(self, runs: RunKeys) -> Iterator[tuple[Path, Key]]:
        config = self._plan.config
        for group in self._people.groups:
            design, files = group.design, self._people.inputs(group)
            sampling = {} if group.rates else config.main.samplings[group.runs[0].sampling]
            asked = Inputs(answers={}, qualification=files.qualification)
            keys: dict[str, Key] = {
                "surveys": SurveysKey(scope=group.scope, design=design, sampling=sampling, files=asked),
                "statistics": PeopleStatisticsKey(
                    benchmark=group.benchmark,
                    title=config.benchmarks[group.benchmark].title,
                    notice=config.suite.notice,
                    scope=group.scope,
                    design=design,
                    files=files,
                ),
            }
            if isinstance(design, RatingDesign):
                rated = tuple(run.name for run in self._rated_here(group))
                keys["rated"] = RatedKey(runs=rated, questions=design.questions, seed=design.seed)
                keys["ratings"] = RatingsKey(scope=group.scope, design=design, files=files)
            for stage, key in keys.items():
                path = self._results.key("people", group.benchmark, group.name, stage)
                yield path, runs.versioned(f"people_{stage}", key)

    def pages(self) -> list[Path]:
        """The page of numbers of each group of which somebody has answered."""
        answered = [group for group in self._people.groups if self._people.inputs(group).answers]
        made = [group for group in answered if not group.rates or self._rated_here(group)]
        return [people_file(self._results, group, "statistics.md") for group in made]

    def files(self, wildcards: Any) -> list[Path]:
        return self._people.inputs(self._group(wildcards)).paths()

    def test(self, wildcards: Any) -> list[Path]:
        return [Path(name) for name in self._people.inputs(self._group(wildcards)).qualification]

    def requests(self, wildcards: Any) -> Path:
        """The questions that a group is asked, or the answers that it rates."""
        group = self._group(wildcards)
        if group.rates:
            return people_file(self._results, group, RATED)
        return self._results.requests(group.benchmark, group.runs[0].protocol)

    def answers(self, wildcards: Any) -> list[Path]:
        group = self._group(wildcards)
        runs = self._rated_here(group)
        if not runs:
            raise UserError(
                f"people.{group.name}: none of the runs that it rates is made here: "
                f"{', '.join(run.name for run in group.runs)}. "
                "Name their models in `run:` of the suite, or import their answers."
            )
        return [self._results.folder / "answers" / f"{run.name}.parquet" for run in runs]

    def frames(self, wildcards: Any) -> list[Path]:
        """Which frames a group is shown; nothing where it sees whole clips, as those who rate do."""
        group = self._group(wildcards)
        run = group.runs[0]
        is_whole = group.rates or self._plan.config.main.samplings[run.sampling]["rule"] == WHOLE
        return [] if is_whole else [self._results.frames(run.benchmark, run.sampling)]

    def _rated_here(self, group: Group) -> list[Run]:
        """The runs that a group rates and whose answers this site can have."""
        return [run for run in group.runs if run in self._plan.runs()]

    def _group(self, wildcards: Any) -> Group:
        named = (wildcards.benchmark, wildcards.group)
        return next(one for one in self._people.groups if (one.benchmark, one.name) == named)
