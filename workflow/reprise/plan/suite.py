"""Connect the Snakemake rules to a suite: wildcards go in, paths and resources come out."""

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
"""Stages without own settings. Their version is a param next to the settings of runs or frames."""


class Rules:
    """Objects for the files of rules. Each has the settings of its stages and the input functions of its rules."""

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
        """Yield the settings of every job of the suite by name."""
        runs = RunKeys(plan)
        for stage in WITHOUT_SETTINGS:
            yield stage, runs.versioned(stage, Key())
        first_rules = (self.annotations, self.media, self.inference, self.scores)
        rule_settings = (
            rules.keys(runs) for rules in (*first_rules, self.tables, self.figures, self.time, self.report)
        )
        package_settings = (package.keys(runs) for package in self.packages.values())
        for name, settings in chain(*rule_settings, *package_settings):
            yield name, settings
            if isinstance(settings, RunKey):  # Later stages get only these settings of a run.
                yield settings_name("runs", name), RunKey.model_validate(settings.model_dump())


def all_settings(plan: Plan) -> dict[str, Settings]:
    """Return the settings of every job of a suite by name, such as `frames/velociti/fps1`."""
    return dict(Rules(plan).settings_by_name(plan))


def settings_of(config: Mapping[str, Any], name: str) -> Settings:
    """Return the settings of one job, which reads them from the configuration itself."""
    plan = Plan(load(Path(), dict(config)))
    return next(settings for job_name, settings in Rules(plan).settings_by_name(plan) if job_name == name)


def load_suite(
    overrides: dict[str, Any], arguments: Sequence[str] = (), *, within: str | None = None, rules_in: str = ""
) -> "Suite":
    """Read the configuration and report all problems before jobs are planned.

    Args:
        overrides: Main settings of the call or of the module.
        arguments: Command line of Snakemake.
        within: Name of the workflow as a module of another one, which may have its own targets.
        rules_in: Folder of the rules that call this function.

    Raises:
        UserError: The configuration, the targets or existing results have problems.
    """
    with faults_in_words():
        _check_places(Path(rules_in).resolve())
        source = "--config" if within is None else f"`config:` of module '{within}'"
        plan = Plan(load(Path(), overrides, source), is_read_only=True)
        if within is not None:
            names = [name for name in _MODULES if name != within]
            if names:
                raise UserError(
                    f"modules '{names[0]}' and '{within}' are both Reprise, and what people read in {RESULTS}/ belongs "
                    "to one suite. Keep one of them here; run the other from its own Snakefile in another working "
                    "directory (snakemake -d)."
                )
            _MODULES.append(within)
        if "--target-jobs" in arguments:  # Snakemake calls itself for a job of this workflow.
            return Suite(plan, overrides)
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
        return Suite(plan, overrides, targets, site)


def _check_places(rules: Path) -> None:
    """Raise a UserError if the rules belong to another clone than the library, or nothing can be written here."""
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


_MODULES: list[str] = []  # names of this workflow as a module of the current Snakefile


class Suite(Rules):
    """Suite with everything that the Snakemake rules call."""

    def __init__(
        self, plan: Plan, overrides: Mapping[str, Any], targets: Sequence[str] = (), site: Site | None = None
    ) -> None:
        super().__init__(plan, site)
        self._plan, self._overrides, self._targets = plan, overrides, targets
        self._settings: dict[str, Settings] | None = None
        self._texts: dict[str, str] = {}
        self.name = plan.config.name

    def pages(self) -> list[Path]:
        """Return the pages that all side packages produce for readers."""
        return [page for package in self.packages.values() for page in package.pages()]

    def stage_command(self, module: str = "reprise.stages") -> str:
        """Return the beginning of every rule's command: this Python and the options that all jobs share.

        No option affects a result; as params they would rerun all jobs. Braces are doubled because Snakemake fills in
        placeholders of the command.
        """
        main = self._plan.config.main
        words: list[object] = [sys.executable, "-m", module, "--config", canonical_json(self._overrides)]
        words += ["--store", main.store]
        words += ["--scratch", main.scratch] if main.scratch else []
        words += ["--attempts", self._plan.config.suite.answer_attempts]
        words += ["--budget", self._plan.budget.usd, self._plan.budget.tokens]
        return f"{shlex.join(map(str, words))} ".replace("{", "{{").replace("}", "}}")

    def wildcards(self) -> Mapping[str, str]:
        """Return the pattern of each wildcard."""
        config = self._plan.config
        return {
            "benchmark": one_of(config.benchmarks),
            "protocol": one_of({name for spec in config.benchmarks.values() for name in spec.protocols}),
            "sampling": config.main.pattern,
            "model": one_of(config.models),
            "judge": one_of(self._plan.judges()),
            "environment": one_of(model.served_by.environment for model in config.models.values() if model.served_by),
            "shard": r"\d+",
            "piece": NAME.pattern,
            "table": r"table\d+",
            "figure": FIGURE.strip("^$"),
            "clip": r"[^/\s]+",
        }

    def settings(self, name: str) -> Callable[[Any], str]:
        """Return the param of a rule: the settings that affect its output, as one line of JSON."""

        def text(wildcards: Any) -> str:
            return self.settings_text(name.format_map(dict(wildcards.items())))

        return text

    def settings_text(self, name: str) -> str:
        """Return the settings of a job as one line of JSON."""
        if name not in self._texts:
            if self._settings is None:
                self._settings = all_settings(self._plan)
            self._texts[name] = settings_text(name, self._settings[name].model_dump(mode="json"))
        return self._texts[name]

    def say_failures(self) -> None:
        """Log a warning about failed answers."""
        if failed := failed_answers(self._plan):
            log.warning(summary(failed))

    def say_outcome(self) -> None:
        """Log a summary of the finished workflow."""
        self.say_failures()
        for line in outcome(self._plan, self._targets):
            log.info(line)
