"""What the Snakemake rules call: a suite that is ready to be run. Wildcards go in, paths and resources come out."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.core.errors import UserError, faults_in_words
from reprise.core.files import canonical_json
from reprise.core.log import log
from reprise.core.names import FIGURE, one_of
from reprise.core.paths import RESULTS, WORKFLOW, settings_name
from reprise.core.settings import Key, Settings
from reprise.core.settings_text import settings_text
from reprise.models.asking.pieces import NAME
from reprise.models.keys import RunKey
from reprise.plan.answers import failed_answers, summary
from reprise.plan.builds import check_gpus
from reprise.plan.rules.annotations import Annotations
from reprise.plan.rules.inference import Inference
from reprise.plan.rules.media import Media
from reprise.plan.rules.report import Report
from reprise.plan.rules.scores import Scores
from reprise.plan.rules.tables import Figures, Tables
from reprise.plan.rules.time import Time
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.site import Site, check_models, site_of
from reprise.plan.states import outcome
from reprise.plan.targets import check_profile, check_targets, targets_of, warn_of_models
from reprise.plan.unrecorded import check_results

WITHOUT_SETTINGS = (
    "collected_table", "health", "join_pieces", "judgements", "preview", "serve_environment", "weights",
)  # fmt: skip
"""Stages without settings of their own: their version is a param beside the settings of runs or frames."""


class Rules:
    """An object for each file of rules: the settings of its stages, and what the rules ask."""

    def __init__(self, plan: Plan, site: Site | None = None) -> None:
        self.annotations = Annotations(plan)
        self.media = Media(plan)
        self.inference = Inference(plan, site)
        self.scores = Scores(plan)
        self.tables = Tables(plan)
        self.figures = Figures(plan)
        self.time = Time(plan)
        self.report = Report(plan)
        self.packages = plan.packages

    def settings_by_name(self, plan: Plan) -> Iterator[tuple[str, Settings]]:
        runs = RunKeys(plan)
        for stage in WITHOUT_SETTINGS:
            yield stage, runs.versioned(stage, Key())
        with_settings = (self.annotations, self.media, self.inference, self.scores)
        of_rules = (rules.keys(runs) for rules in (*with_settings, self.tables, self.figures, self.time, self.report))
        of_packages = (package.keys(runs) for package in self.packages.values())
        for name, settings in chain(*of_rules, *of_packages):
            yield name, settings
            if isinstance(settings, RunKey):  # what the stages after the answers know of them
                yield settings_name("runs", name), RunKey.model_validate(settings.model_dump())


def all_settings(plan: Plan) -> dict[str, Settings]:
    """Return the settings of every job of a suite by name, such as `frames/velociti/fps1`."""
    return dict(Rules(plan).settings_by_name(plan))


def settings_of(config: Mapping[str, Any], name: str) -> Settings:
    """Return the settings of one job, read from the configuration by that job itself."""
    plan = Plan(load(Path(), dict(config)))
    return next(settings for found, settings in Rules(plan).settings_by_name(plan) if found == name)


def load_suite(
    told: dict[str, Any], arguments: Sequence[str] = (), *, within: str | None = None, rules_in: str = ""
) -> "Suite":
    """Read the configuration; report its problems, and those of targets and results, before jobs are planned.

    `within` is the workflow's name where another one has it as a module, and may have targets of its own; `rules_in`
    is the folder of the rules that call.
    """
    with faults_in_words():
        _check_places(Path(rules_in).resolve())
        where = "--config" if within is None else f"`config:` of module '{within}'"
        plan = Plan(load(Path(), told, where), is_read_only=True)
        if within is not None:
            taken = [name for name in _MODULES if name != within]
            if taken:
                raise UserError(
                    f"modules '{taken[0]}' and '{within}' are both Reprise, and what people read in {RESULTS}/ belongs "
                    "to one suite. Keep one of them here; run the other from its own Snakefile in another working "
                    "directory (snakemake -d)."
                )
            _MODULES.append(within)
        if "--target-jobs" in arguments:  # Snakemake itself calls, for a job of this workflow
            return Suite(plan, told)
        check_profile(arguments)
        targets = targets_of(arguments)
        if within is None:
            check_targets(plan, targets)
        if site := site_of(arguments):
            check_models(plan, site, targets)
        check_gpus(plan, targets, arguments)
        warn_of_models(plan, targets)
        plan.imports.warn_of_unused(plan.models)
        if "--unlock" not in arguments:
            check_results(plan, all_settings(plan), arguments)
        if failed := failed_answers(plan):
            log.warning(summary(failed))
        return Suite(plan, told, targets, site)


def _check_places(rules: Path) -> None:
    """Stop where rules of one clone would run the library of another, and where nothing can be written."""
    if not os.access(Path(), os.W_OK):
        raise UserError(
            f"{Path().absolute()}: this working directory cannot be written, and results go there. Nothing was "
            "changed. Let this user write there, or name another folder: snakemake -d <folder>."
        )
    if rules.name == "rules" and rules.is_dir() and rules.parents[1] != WORKFLOW:
        raise UserError(
            f"the Snakefile is that of {rules.parents[1]}, and this Snakemake ({sys.executable}) has the library of "
            f"{WORKFLOW}. Run the snakemake of the Snakefile's own environment, or name {WORKFLOW / 'Snakefile'}."
        )


_MODULES: list[str] = []  # this workflow, by its names as a module of the Snakefile that this process reads


class Suite(Rules):
    def __init__(
        self, plan: Plan, told: Mapping[str, Any], targets: Sequence[str] = (), site: Site | None = None
    ) -> None:
        super().__init__(plan, site)
        self._plan, self._told, self._targets = plan, told, targets
        self._settings: dict[str, Settings] | None = None
        self._texts: dict[str, str] = {}
        self.name = plan.config.name

    def pages(self) -> list[Path]:
        """What all side packages make for people to read."""
        return [page for package in self.packages.values() for page in package.pages()]

    def stage_command(self, module: str = "reprise.stages") -> str:
        """Return the beginning of every rule's command: this Python, and options that all jobs share.

        None of them shapes a result; as params they would rerun all jobs. Braces are doubled, because Snakemake fills
        in the command's placeholders.
        """
        main = self._plan.config.main
        words: list[object] = [sys.executable, "-m", module, "--config", canonical_json(self._told)]
        words += ["--store", main.store]
        words += ["--scratch", main.scratch] if main.scratch else []
        words += ["--attempts", self._plan.config.suite.answer_attempts]
        words += ["--budget", self._plan.budget.usd, self._plan.budget.tokens]
        return f"{shlex.join(map(str, words))} ".replace("{", "{{").replace("}", "}}")

    def wildcards(self) -> Mapping[str, str]:
        config = self._plan.config
        return {
            "benchmark": one_of(config.benchmarks),
            "protocol": one_of({name for spec in config.benchmarks.values() for name in spec.protocols}),
            "sampling": config.main.pattern,
            "model": one_of(config.models),
            "judge": one_of(self._plan.judges()),
            "environment": one_of(one.served_by.environment for one in config.models.values() if one.served_by),
            "shard": r"\d+",
            "piece": NAME.pattern,
            "table": r"table\d+",
            "figure": FIGURE.strip("^$"),
            "clip": r"[^/\s]+",
        }

    def settings(self, name: str) -> Callable[[Any], str]:
        """Return the param of a rule: the settings that shape its output, as one line of JSON."""

        def text(wildcards: Any) -> str:
            return self.settings_text(name.format_map(dict(wildcards.items())))

        return text

    def settings_text(self, name: str) -> str:
        if name not in self._texts:
            if self._settings is None:
                self._settings = all_settings(self._plan)
            self._texts[name] = settings_text(name, self._settings[name].model_dump(mode="json"))
        return self._texts[name]

    def say_failures(self) -> None:
        if failed := failed_answers(self._plan):
            log.warning(summary(failed))

    def say_outcome(self) -> None:
        self.say_failures()
        for line in outcome(self._plan, self._targets):
            log.info(line)
