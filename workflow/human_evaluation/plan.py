"""Plan human evaluation for rules.smk: surveys for groups of annotators, and statistics of their answers."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reprise.core.errors import UserError
from reprise.core.names import any_of_pattern
from reprise.core.paths import Run, settings_name
from reprise.core.settings import Key
from reprise.models.keys import RunKey
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.side_package import SidePackage

from human_evaluation.groups import WHOLE_CLIP, Group, Groups
from human_evaluation.keys import (
    AnnotatorAnswersKey,
    AnnotatorRunKey,
    AnswerFiles,
    HumanStatisticsKey,
    RatedKey,
    RatingsKey,
    SurveysKey,
)
from human_evaluation.settings import RatingDesign

RATED, RATINGS = "rated.parquet", "ratings.csv"  # results of a rating group: its requests, and its mean ratings
HUMAN_ANSWERS, HUMAN_TASKS = "human_answers", "human_tasks"
VERSIONS = {
    HUMAN_ANSWERS: 1,
    "human_rated": 1,
    "human_ratings": 1,
    "human_statistics": 1,
    "human_surveys": 1,
    HUMAN_TASKS: 1,
}
"""The version of each stage. Raise it if the results of the stage change on purpose, and note it in CHANGELOG.md."""


class Package(SidePackage):
    """The side package `human_evaluation`, as the plan of a suite uses it."""

    VERSIONS = VERSIONS

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._groups = Groups(plan.config, plan.store)
        # Wildcard patterns of all groups, and of the groups that rate answers.
        self.groups = any_of_pattern({group.name for group in self._groups.groups})
        self.rating_groups = any_of_pattern({group.name for group in self._groups.groups if group.is_rating})

    @property
    def answered_runs(self) -> str:
        """Return the wildcard pattern of the runs that annotators have answered."""
        return any_of_pattern({run.name for run in self._groups.group_by_run if self.answer_files(run)})

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Key]]:
        config = self._plan.config
        yield HUMAN_TASKS, run_keys.add_versions(HUMAN_TASKS, Key())
        for group in self._groups.groups:
            design, files = group.design, self._groups.find_answer_files(group)
            sampling = {} if group.is_rating else config.main.samplings[group.runs[0].sampling]
            survey_inputs = AnswerFiles(answers={}, qualification=files.qualification)
            keys: dict[str, Key] = {
                "surveys": SurveysKey(scope=group.scope, design=design, sampling=sampling, files=survey_inputs),
                "statistics": HumanStatisticsKey(
                    benchmark=group.benchmark,
                    title=config.benchmarks[group.benchmark].title,
                    notice=config.suite.notice,
                    scope=group.scope,
                    design=design,
                    files=files,
                ),
            }
            if isinstance(design, RatingDesign):
                rated_runs = tuple(run.name for run in self._list_rated_runs(group))
                keys["rated"] = RatedKey(runs=rated_runs, questions=design.questions, seed=design.seed)
                keys["ratings"] = RatingsKey(scope=group.scope, design=design, files=files)
            for stage, key in keys.items():
                path = settings_name("human_evaluation", group.benchmark, group.name, stage)
                yield path, run_keys.add_versions(f"human_{stage}", key)

    def pages(self) -> list[Path]:
        """Return the statistics page of each group that has answers."""
        groups_with_answers = [group for group in self._groups.groups if self._groups.find_answer_files(group).answers]
        complete_groups = [
            group for group in groups_with_answers if not group.is_rating or self._list_rated_runs(group)
        ]
        return [group.result_path(self._results, "statistics.md") for group in complete_groups]

    def answer_files(self, run: Run) -> list[Path]:
        """Return the files with annotators' answers to a run, or an empty list as long as there are no answers."""
        group = self._groups.group_by_run.get(run)
        files = self._groups.find_answer_files(group) if group else None
        return files.paths() if files and files.answers else []

    def run_settings(self, run_keys: RunKeys, run: Run) -> RunKey | None:
        if not self.answer_files(run):
            return None
        group, config = self._groups.group_by_run[run], self._plan.config
        answers = run_keys.add_versions(
            HUMAN_ANSWERS,
            AnnotatorAnswersKey(
                adapter=config.models[run.model].adapter,
                sampling=config.main.samplings[run.sampling],
                scope=group.scope,
                design=group.design,
                files=self._groups.find_answer_files(group),
            ),
        )
        return AnnotatorRunKey(run=run.name, key=answers.compute_digest(), answers=answers)

    def rating_settings(self, runs: Sequence[Run]) -> list[Any]:
        groups = {group.name: group for run in runs if (group := self._groups.find_rating_group(run))}
        return [
            [group.scope, group.design.model_dump(mode="json"), self._groups.find_answer_files(group).model_dump()]
            for group in groups.values()
        ]

    def rating_files(self, run: Run) -> list[Path]:
        group = self._groups.find_rating_group(run)
        return [group.result_path(self._results, RATINGS)] if group else []

    def items_of_run(self, wildcards: Any) -> Path:
        return self._results.items(Run.parse(wildcards.run).benchmark)

    def requests_of_run(self, wildcards: Any) -> Path:
        run = Run.parse(wildcards.run)
        return self._results.requests(run.benchmark, run.protocol)

    def files_of_run(self, wildcards: Any) -> list[Path]:
        return self.answer_files(Run.parse(wildcards.run))

    def files(self, wildcards: Any) -> list[Path]:
        """Return all files that decide a group's answers."""
        return self._groups.find_answer_files(self._group(wildcards)).paths()

    def qualification_files(self, wildcards: Any) -> list[Path]:
        return [Path(name) for name in self._groups.find_answer_files(self._group(wildcards)).qualification]

    def requests(self, wildcards: Any) -> Path:
        """Return the requests that a group answers: the questions of a run, or the rating requests."""
        group = self._group(wildcards)
        if group.is_rating:
            return group.result_path(self._results, RATED)
        return self._results.requests(group.benchmark, group.runs[0].protocol)

    def answers(self, wildcards: Any) -> list[Path]:
        """Return the models' answers that a group rates; raise an error if no run of the group exists here."""
        group = self._group(wildcards)
        runs = self._list_rated_runs(group)
        if not runs:
            raise UserError(
                f"annotators.{group.name}: none of its runs exists here: {', '.join(run.name for run in group.runs)}. "
                "Name their models in `run:` of the suite, or import their answers."
            )
        return [self._results.folder / "answers" / f"{run.name}.parquet" for run in runs]

    def frames(self, wildcards: Any) -> list[Path]:
        """Return the frame plan of a group's videos, or an empty list if the group sees whole clips."""
        group = self._group(wildcards)
        run = group.runs[0]
        is_whole = group.is_rating or self._plan.config.main.samplings[run.sampling]["rule"] == WHOLE_CLIP
        return [] if is_whole else [self._results.frames(run.benchmark, run.sampling)]

    def _list_rated_runs(self, group: Group) -> list[Run]:
        """Return the runs that a group rates and that this site can produce."""
        return [run for run in group.runs if run in self._plan.runs()]

    def _group(self, wildcards: Any) -> Group:
        identity = (wildcards.benchmark, wildcards.group)
        return next(group for group in self._groups.groups if (group.benchmark, group.name) == identity)
